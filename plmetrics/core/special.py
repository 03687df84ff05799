"""Functions of scipy.special, imported with the first call: it takes longer than all of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plmetrics.core.segments import Operand

    Special = Callable[..., Operand]


def _special(name: str) -> Special:
    """Function of SciPy by its name, imported at its call."""

    def function(*arguments: Operand) -> Operand:
        import scipy.special

        compute: Special = getattr(scipy.special, name)
        return compute(*arguments)

    return function


betainc = _special("betainc")
"""The regularised incomplete beta function: `betainc(a, b, x)`."""

betaincinv = _special("betaincinv")
"""Where the regularised incomplete beta function is y: `betaincinv(a, b, y)`."""

betaln = _special("betaln")
"""Logarithm of the beta function: `betaln(a, b)`."""

chdtrc = _special("chdtrc")
"""Chance that a chi-squared variable is above x: `chdtrc(degrees, x)`."""

chdtri = _special("chdtri")
"""Above what a chi-squared variable is with some chance: `chdtri(degrees, chance)`."""

expit = _special("expit")
"""1 / (1 + exp(-x)): `expit(x)`."""

fdtrc = _special("fdtrc")
"""Chance that an F variable is above x: `fdtrc(numerator, denominator, x)`."""

gammaln = _special("gammaln")
"""Logarithm of the gamma function: `gammaln(x)`."""

logit = _special("logit")
"""ln(p / (1 - p)): `logit(p)`."""

nctdtr = _special("nctdtr")
"""Chance that a noncentral t variable is at most x: `nctdtr(degrees, centre, x)`."""

ndtr = _special("ndtr")
"""Chance that a normal variable is at most x: `ndtr(x)`."""

ndtri = _special("ndtri")
"""The quantile of a normal variable: `ndtri(p)`."""

smirnov = _special("smirnov")
"""Chance that the distribution of a sample exceeds its own by x somewhere: `smirnov(rows, x)`."""

stdtr = _special("stdtr")
"""Chance that a t variable is at most x: `stdtr(degrees, x)`."""

stdtrit = _special("stdtrit")
"""The quantile of a t variable: `stdtrit(degrees, p)`."""
