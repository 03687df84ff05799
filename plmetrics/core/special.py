"""Functions of scipy.special, which is imported when the first of them is called: it takes longer than all of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plmetrics.core.segments import Operand


def betainc(a: Operand, b: Operand, x: Operand) -> Operand:
    """The regularised incomplete beta function."""
    import scipy.special

    return scipy.special.betainc(a, b, x)


def betaincinv(a: Operand, b: Operand, y: Operand) -> Operand:
    """Where the regularised incomplete beta function is y."""
    import scipy.special

    return scipy.special.betaincinv(a, b, y)


def betaln(a: Operand, b: Operand) -> Operand:
    """Logarithm of the beta function."""
    import scipy.special

    return scipy.special.betaln(a, b)


def chdtrc(degrees: Operand, x: Operand) -> Operand:
    """Chance that a chi-squared variable is above x."""
    import scipy.special

    return scipy.special.chdtrc(degrees, x)


def chdtri(degrees: Operand, chance: Operand) -> Operand:
    """Above what a chi-squared variable is with some chance."""
    import scipy.special

    return scipy.special.chdtri(degrees, chance)


def expit(x: Operand) -> Operand:
    """1 / (1 + exp(-x))."""
    import scipy.special

    return scipy.special.expit(x)


def fdtrc(numerator: Operand, denominator: Operand, x: Operand) -> Operand:
    """Chance that an F variable is above x."""
    import scipy.special

    return scipy.special.fdtrc(numerator, denominator, x)


def gammaln(x: Operand) -> Operand:
    """Logarithm of the gamma function."""
    import scipy.special

    return scipy.special.gammaln(x)


def logit(p: Operand) -> Operand:
    """ln(p / (1 - p))."""
    import scipy.special

    return scipy.special.logit(p)


def nctdtr(degrees: Operand, centre: Operand, x: Operand) -> Operand:
    """Chance that a noncentral t variable is at most x."""
    import scipy.special

    return scipy.special.nctdtr(degrees, centre, x)


def ndtr(x: Operand) -> Operand:
    """Chance that a normal variable is at most x."""
    import scipy.special

    return scipy.special.ndtr(x)


def ndtri(p: Operand) -> Operand:
    """The quantile of a normal variable.

    >>> round(float(ndtri(0.975)), 6)
    1.959964
    """
    import scipy.special

    return scipy.special.ndtri(p)


def stdtr(degrees: Operand, x: Operand) -> Operand:
    """Chance that a t variable is at most x."""
    import scipy.special

    return scipy.special.stdtr(degrees, x)


def stdtrit(degrees: Operand, p: Operand) -> Operand:
    """The quantile of a t variable."""
    import scipy.special

    return scipy.special.stdtrit(degrees, p)
