"""Functions of scipy.special, which is imported when the first of them is called: it takes longer than all of ours."""

from __future__ import annotations

from typing import Any


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function."""
    import scipy.special

    return scipy.special.betainc(a, b, x)


def betaincinv(a: Any, b: Any, y: Any) -> Any:
    """Where the regularised incomplete beta function is y."""
    import scipy.special

    return scipy.special.betaincinv(a, b, y)


def betaln(a: Any, b: Any) -> Any:
    """Logarithm of the beta function."""
    import scipy.special

    return scipy.special.betaln(a, b)


def chdtrc(degrees: Any, x: Any) -> Any:
    """Chance that a chi-squared variable is above x."""
    import scipy.special

    return scipy.special.chdtrc(degrees, x)


def chdtri(degrees: Any, chance: Any) -> Any:
    """Above what a chi-squared variable is with some chance."""
    import scipy.special

    return scipy.special.chdtri(degrees, chance)


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    import scipy.special

    return scipy.special.expit(x)


def fdtrc(numerator: Any, denominator: Any, x: Any) -> Any:
    """Chance that an F variable is above x."""
    import scipy.special

    return scipy.special.fdtrc(numerator, denominator, x)


def gammaln(x: Any) -> Any:
    """Logarithm of the gamma function."""
    import scipy.special

    return scipy.special.gammaln(x)


def logit(p: Any) -> Any:
    """ln(p / (1 - p))."""
    import scipy.special

    return scipy.special.logit(p)


def nctdtr(degrees: Any, centre: Any, x: Any) -> Any:
    """Chance that a noncentral t variable is at most x."""
    import scipy.special

    return scipy.special.nctdtr(degrees, centre, x)


def ndtr(x: Any) -> Any:
    """Chance that a normal variable is at most x."""
    import scipy.special

    return scipy.special.ndtr(x)


def ndtri(p: Any) -> Any:
    """The quantile of a normal variable.

    >>> round(float(ndtri(0.975)), 6)
    1.959964
    """
    import scipy.special

    return scipy.special.ndtri(p)


def stdtr(degrees: Any, x: Any) -> Any:
    """Chance that a t variable is at most x."""
    import scipy.special

    return scipy.special.stdtr(degrees, x)


def stdtrit(degrees: Any, p: Any) -> Any:
    """The quantile of a t variable."""
    import scipy.special

    return scipy.special.stdtrit(degrees, p)
