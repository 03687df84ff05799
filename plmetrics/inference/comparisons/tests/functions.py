"""The tests as functions of columns and counts: `plmetrics.tests`."""

from plmetrics.inference.comparisons.correction import adjusted
from plmetrics.inference.comparisons.posteriors import Posterior, bayesian_signed_rank, correlated_t
from plmetrics.inference.comparisons.shifts import hodges_lehmann
from plmetrics.inference.comparisons.tests.arms import (
    cohen_d,
    lift,
    mann_whitney,
    two_proportion_z,
    two_proportion_z_from_counts,
    welch_t,
    welch_t_from_moments,
)
from plmetrics.inference.comparisons.tests.delong import (
    AreaCovariance,
    delong,
    delong_covariance,
    delong_joint,
    delong_two_samples,
)
from plmetrics.inference.comparisons.tests.diebold_mariano import diebold_mariano
from plmetrics.inference.comparisons.tests.friedman import friedman, iman_davenport, mean_ranks, nemenyi
from plmetrics.inference.comparisons.tests.mcnemar import mcnemar, mcnemar_from_counts
from plmetrics.inference.comparisons.tests.outcome import TestResult
from plmetrics.inference.comparisons.tests.paired_permutation import paired_permutation
from plmetrics.inference.comparisons.tests.paired_t import corrected_resampled_t, five_by_two_cv_f, paired_t
from plmetrics.inference.comparisons.tests.permutation import qini_permutation
from plmetrics.inference.comparisons.tests.power import (
    power_means,
    power_proportions,
    required_n_means,
    required_n_proportions,
)
from plmetrics.inference.comparisons.tests.samples import (
    chi2_2samp,
    jensen_shannon,
    ks_2samp,
    psi,
    wasserstein,
)
from plmetrics.inference.comparisons.tests.sequential import GroupSequential, always_valid, group_sequential
from plmetrics.inference.comparisons.tests.wilcoxon import wilcoxon

__all__ = [
    "AreaCovariance",
    "GroupSequential",
    "Posterior",
    "TestResult",
    "adjusted",
    "always_valid",
    "bayesian_signed_rank",
    "chi2_2samp",
    "cohen_d",
    "corrected_resampled_t",
    "correlated_t",
    "delong",
    "delong_covariance",
    "delong_joint",
    "delong_two_samples",
    "diebold_mariano",
    "five_by_two_cv_f",
    "friedman",
    "group_sequential",
    "hodges_lehmann",
    "iman_davenport",
    "jensen_shannon",
    "ks_2samp",
    "lift",
    "mann_whitney",
    "mcnemar",
    "mcnemar_from_counts",
    "mean_ranks",
    "nemenyi",
    "paired_permutation",
    "paired_t",
    "power_means",
    "power_proportions",
    "psi",
    "qini_permutation",
    "required_n_means",
    "required_n_proportions",
    "two_proportion_z",
    "two_proportion_z_from_counts",
    "wasserstein",
    "welch_t",
    "welch_t_from_moments",
    "wilcoxon",
]
