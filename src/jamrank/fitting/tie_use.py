"""What a fit does with ties: leaves them out, halves them, or models them with one threshold or one for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betaln, polygamma

from jamrank.data.comparisons import Comparisons
from jamrank.errors import ParameterError
from jamrank.fitting.settings import FitSettings
from jamrank.io.out_of_core.parted import Votes
from jamrank.typing import FloatArray

TieMode = Literal["none", "half", "each", "shared"]

# With fewer votes per annotator, individual thresholds would be determined mostly by the prior.
_VOTES_EACH = 10.0
# Twice the gain in log-likelihood by which annotators must differ: 5 %, one-sided, at the bound of no difference.
_DIFFER = 2.71
# Logarithms of the pseudo-votes of the Beta distribution of tie shares, from very different to equal shares.
_PSEUDO_VOTES = (-3.0, 12.0)


@dataclass(frozen=True)
class TieUse:
    """How ties enter a fit.

    mode ({"none", "half", "each", "shared"}): Not at all; as half a vote for either side; as an outcome with a
        threshold for each annotator, or one for all.
    variance: Prior variance of the logarithm of an annotator's threshold around the mean; None for no prior.
    """

    mode: TieMode = "none"
    variance: float | None = None


NO_TIES = TieUse()


def resolve_ties(settings: FitSettings, votes: Votes) -> TieUse:
    """Return how ties enter a fit with these settings; votes without ties are fitted as if ties were left out."""
    wanted, prior = settings.ties, settings.prior
    if not votes.n_ties or wanted == "leave out" or (wanted == "auto" and settings.loss == "hinge"):
        return NO_TIES
    if wanted == "half":
        if not isinstance(votes, Comparisons):
            raise ParameterError("ties is 'half', which needs the votes in memory; use ties='auto'")
        return TieUse("half")
    if wanted == "davidson":
        return TieUse("each", prior.tie_variance if prior else None)
    decided = votes.annotator_decided
    spread = tie_spread(votes.annotator_weight - decided, decided)
    return TieUse("shared") if spread is None else TieUse("each", spread if prior else None)


def tie_spread(tied: FloatArray, decided: FloatArray) -> float | None:
    """Return the variance of the log-odds of a tie between annotators; None where they may all be alike.

    Shares of ties are modelled by a Beta distribution, fitted by maximum likelihood to the counts. The result is None
    if that is hardly better than one share for all, or if annotators have too few votes.
    """
    votes = tied + decided
    there = votes > 0
    tied, decided, votes = tied[there], decided[there], votes[there]
    share = float(tied.sum() / votes.sum())
    if len(votes) < 2 or votes.mean() < _VOTES_EACH or not 0 < share < 1:
        return None

    def loss(log_size: float) -> float:
        a, b = share * np.exp(log_size), (1 - share) * np.exp(log_size)
        return float(-(betaln(a + tied, b + decided) - betaln(a, b)).sum())

    from scipy.optimize import minimize_scalar

    best = minimize_scalar(loss, bounds=_PSEUDO_VOTES, method="bounded")
    alike = float(tied.sum() * np.log(share) + decided.sum() * np.log1p(-share))
    if 2 * (-best.fun - alike) < _DIFFER:
        return None
    size = float(np.exp(best.x))
    # To three digits: rounding errors depend on the order of the annotators, and chains would amplify them.
    return float(f"{polygamma(1, share * size) + polygamma(1, (1 - share) * size):.2e}")
