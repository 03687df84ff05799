"""Independent formulas: scikit-learn, SciPy and plain NumPy, none of it ours. NaN stands for undefined."""

import numpy as np
from scipy.special import huber
from scipy.stats import entropy
from sklearn import metrics as sk


def _confusion(y, p, w, t=0.5):
    s = p >= t
    tp, fp = w[y & s].sum(), w[~y & s].sum()
    fn, tn = w[y & ~s].sum(), w[~y & ~s].sum()
    return tp, fp, fn, tn


def _div(a, b):
    return a / b if b != 0 else np.nan


def roc_auc(y, p, w):
    if y.all() or not y.any():
        return np.nan
    return sk.roc_auc_score(y, p, sample_weight=w)


def average_precision(y, p, w):
    return sk.average_precision_score(y, p, sample_weight=w) if y.any() else np.nan


def ks(y, p, w):
    if y.all() or not y.any():
        return np.nan
    grid = np.unique(p)
    f1 = np.array([w[y & (p <= g)].sum() for g in grid]) / w[y].sum()
    f0 = np.array([w[~y & (p <= g)].sum() for g in grid]) / w[~y].sum()
    return np.abs(f1 - f0).max()


def ece(y, p, w, bins=15, norm="l1"):
    edges = np.arange(1, bins + 1) / bins
    index = np.array([np.argmax(v <= edges) for v in p])
    gaps, masses = [], []
    for b in range(bins):
        m = index == b
        if m.any():
            gaps.append(abs(np.average(y[m], weights=w[m]) - np.average(p[m], weights=w[m])))
            masses.append(w[m].sum() / w.sum())
    gaps, masses = np.array(gaps), np.array(masses)
    return {"l1": (masses * gaps).sum(), "l2": np.sqrt((masses * gaps**2).sum()), "max": gaps.max()}[norm]


def weighted_shares(y, w):
    return np.array([w[~y].sum(), w[y].sum()]) / w.sum()


def brier_parts(y, p, w, bins=15):
    """Reliability, resolution and within-bin part, the last as variance less twice the covariance."""
    index = np.array([next(b for b in range(1, bins + 1) if v <= b / bins) for v in p])
    parts = np.zeros(3)
    for b in set(index):
        m = index == b
        mean, rate = np.average(p[m], weights=w[m]), np.average(y[m], weights=w[m])
        inside = np.average((p[m] - mean) ** 2 - 2 * (p[m] - mean) * (y[m] - rate), weights=w[m])
        spread = (rate - np.average(y, weights=w)) ** 2
        parts += w[m].sum() / w.sum() * np.array([(mean - rate) ** 2, spread, inside])
    return parts


def spherical(y, p, w):
    both = np.column_stack([1 - p, p])
    return np.average(both[np.arange(len(y)), y.astype(int)] / np.linalg.norm(both, axis=1), weights=w)


def mcc(y, p, w):
    tp, fp, fn, tn = _confusion(y, p, w)
    return _div(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def kappa(y, p, w):
    tp, fp, fn, tn = _confusion(y, p, w)
    n = tp + fp + fn + tn
    agree = (tp + tn) / n
    chance = ((tp + fp) * (tp + fn) + (tn + fn) * (tn + fp)) / n**2
    return _div(agree - chance, 1 - chance)


def of_counts(formula, t=0.5):
    def reference(y, p, w):
        with np.errstate(divide="ignore", invalid="ignore"):
            value = formula(*(np.float64(c) for c in _confusion(y, p, w, t)))
        return value if np.isfinite(value) else np.nan

    return reference


BINARY = {
    "tp": lambda y, p, w: _confusion(y, p, w)[0],
    "fp": lambda y, p, w: _confusion(y, p, w)[1],
    "fn": lambda y, p, w: _confusion(y, p, w)[2],
    "tn": lambda y, p, w: _confusion(y, p, w)[3],
    "prevalence": lambda y, p, w: np.average(y, weights=w),
    "selection_rate": lambda y, p, w: np.average(p >= 0.5, weights=w),
    "accuracy": lambda y, p, w: sk.accuracy_score(y, p >= 0.5, sample_weight=w),
    "error_rate": lambda y, p, w: 1 - sk.accuracy_score(y, p >= 0.5, sample_weight=w),
    "precision": of_counts(lambda tp, fp, fn, tn: tp / (tp + fp)),
    "precision(threshold=0.3)": of_counts(lambda tp, fp, fn, tn: tp / (tp + fp), 0.3),
    "false_discovery_rate": of_counts(lambda tp, fp, fn, tn: fp / (tp + fp)),
    "recall": of_counts(lambda tp, fp, fn, tn: tp / (tp + fn)),
    "fnr": of_counts(lambda tp, fp, fn, tn: fn / (tp + fn)),
    "specificity": of_counts(lambda tp, fp, fn, tn: tn / (tn + fp)),
    "fpr": of_counts(lambda tp, fp, fn, tn: fp / (tn + fp)),
    "npv": of_counts(lambda tp, fp, fn, tn: tn / (tn + fn)),
    "false_omission_rate": of_counts(lambda tp, fp, fn, tn: fn / (tn + fn)),
    "f1": of_counts(lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)),
    "fbeta(beta=2)": of_counts(lambda tp, fp, fn, tn: 5 * tp / (5 * tp + 4 * fn + fp)),
    "mcc": mcc,
    "balanced_accuracy": of_counts(lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2),
    "balanced_error_rate": of_counts(lambda tp, fp, fn, tn: (fn / (tp + fn) + fp / (tn + fp)) / 2),
    "cohen_kappa": kappa,
    "youden_j": of_counts(lambda tp, fp, fn, tn: tp / (tp + fn) + tn / (tn + fp) - 1),
    "markedness": of_counts(lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn) - 1),
    "g_mean": of_counts(lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fn) * tn / (tn + fp))),
    "fowlkes_mallows": of_counts(lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fp) * tp / (tp + fn))),
    "jaccard": of_counts(lambda tp, fp, fn, tn: tp / (tp + fp + fn)),
    "positive_likelihood_ratio": of_counts(lambda tp, fp, fn, tn: (tp / (tp + fn)) / (fp / (fp + tn))),
    "negative_likelihood_ratio": of_counts(lambda tp, fp, fn, tn: (fn / (tp + fn)) / (tn / (fp + tn))),
    "diagnostic_odds_ratio": of_counts(lambda tp, fp, fn, tn: tp * tn / (fp * fn)),
    "expected_cost(cost_fp=1, cost_fn=5)": of_counts(
        lambda tp, fp, fn, tn: (fp + 5 * fn) / (tp + fp + fn + tn)
    ),
    "expected_cost(cost_fp=1, cost_fn=5, prevalence=0.1)": of_counts(
        lambda tp, fp, fn, tn: 0.9 * fp / (fp + tn) + 5 * 0.1 * fn / (tp + fn)
    ),
    "ppv_at_prevalence(prevalence=0.1)": of_counts(
        lambda tp, fp, fn, tn: 0.1 * tp / (tp + fn) / (0.1 * tp / (tp + fn) + 0.9 * fp / (fp + tn))
    ),
    "roc_auc": roc_auc,
    "gini": lambda y, p, w: 2 * roc_auc(y, p, w) - 1,
    "average_precision": average_precision,
    "ks": ks,
    "log_loss": lambda y, p, w: sk.log_loss(y, p, sample_weight=w, labels=[False, True]),
    "brier": lambda y, p, w: np.average((p - y) ** 2, weights=w),
    "default_log_loss": lambda y, p, w: entropy(weighted_shares(y, w)),
    "log_loss_skill": lambda y, p, w: (
        1 - _div(sk.log_loss(y, p, sample_weight=w, labels=[False, True]), entropy(weighted_shares(y, w)))
    ),
    "brier_skill": lambda y, p, w: (
        1 - _div(np.average((p - y) ** 2, weights=w), np.prod(weighted_shares(y, w)))
    ),
    "brier_reliability": lambda y, p, w: brier_parts(y, p, w)[0],
    "brier_reliability(bins=4)": lambda y, p, w: brier_parts(y, p, w, 4)[0],
    "brier_resolution": lambda y, p, w: brier_parts(y, p, w)[1],
    "brier_uncertainty": lambda y, p, w: np.prod(weighted_shares(y, w)),
    "brier_within_bin": lambda y, p, w: brier_parts(y, p, w)[2],
    "brier_within_bin(bins=4)": lambda y, p, w: brier_parts(y, p, w, 4)[2],
    "calibration_ratio": lambda y, p, w: _div(w @ p, w @ y),
    "spherical_score": spherical,
    "ece": ece,
    "ece(bins=10, norm=l2)": lambda y, p, w: ece(y, p, w, 10, "l2"),
    "ece(norm=max)": lambda y, p, w: ece(y, p, w, 15, "max"),
}


def r2(y, p, w):
    spread = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    return 1 - np.average((y - p) ** 2, weights=w) / spread if np.ptp(y) > 0 else np.nan


def adjusted_r2(y, p, w, predictors=3):
    n = w.sum()
    return 1 - (1 - r2(y, p, w)) * (n - 1) / (n - predictors - 1) if n > predictors + 1 else np.nan


def smape(y, p, w):
    rows = [0.0 if a == b == 0 else abs(b - a) / ((abs(a) + abs(b)) / 2) for a, b in zip(y, p, strict=True)]
    return 100 * np.average(rows, weights=w)


def log_error(y, p, w):
    if min(y.min(), p.min()) <= -1:
        return np.nan
    return np.average((2 * np.arctanh((p - y) / (2 + p + y))) ** 2, weights=w)


REGRESSION = {
    "mae": lambda y, p, w: sk.mean_absolute_error(y, p, sample_weight=w),
    "mse": lambda y, p, w: sk.mean_squared_error(y, p, sample_weight=w),
    "rmse": lambda y, p, w: sk.root_mean_squared_error(y, p, sample_weight=w),
    "mean_error": lambda y, p, w: np.average(p - y, weights=w),
    "r2": r2,
    "mape": lambda y, p, w: (
        100 * np.average(np.abs(p - y) / np.abs(y), weights=w) if (y != 0).all() else np.nan
    ),
    "error_variance": lambda y, p, w: np.average((p - y - np.average(p - y, weights=w)) ** 2, weights=w),
    "bias_squared": lambda y, p, w: np.average(p - y, weights=w) ** 2,
    "adjusted_r2(predictors=3)": adjusted_r2,
    "explained_variance": lambda y, p, w: (
        sk.explained_variance_score(y, p, sample_weight=w) if np.ptp(y) > 0 else np.nan
    ),
    "default_rmse": lambda y, p, w: sk.root_mean_squared_error(
        y, np.full(len(y), np.average(y, weights=w)), sample_weight=w
    ),
    "rmse_skill": lambda y, p, w: 1 - np.sqrt(1 - r2(y, p, w)),
    "smape": smape,
    "wmape": lambda y, p, w: 100 * _div(w @ np.abs(p - y), w @ np.abs(y)),
    "msle": log_error,
    "rmsle": lambda y, p, w: np.sqrt(log_error(y, p, w)),
    "huber": lambda y, p, w: np.average(huber(1.0, p - y), weights=w),
    "huber(delta=0.25)": lambda y, p, w: np.average(huber(0.25, p - y), weights=w),
    "log_cosh": lambda y, p, w: np.average(np.logaddexp(p - y, y - p) - np.log(2), weights=w),
    "quantile_loss(tau=0.9)": lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.9),
}
