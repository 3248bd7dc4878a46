"""Warnings of a fit: votes that are left out, and loops that stopped early."""

from __future__ import annotations

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError, NotConvergedWarning, TiesExcludedWarning, warn
from jamrank.fitting.em import Fit
from jamrank.fitting.settings import FitSettings
from jamrank.fitting.tie_use import NO_TIES, TieUse
from jamrank.io.out_of_core.parted import Votes
from jamrank.text import many

UNDECIDED = "no decided vote", "a ranking needs votes that prefer one item to another"


def warn_unless(converged: bool, model: str, why: str) -> None:
    """Warn that a model stopped early, unless it converged."""
    if not converged:
        warn(f"{model} did not converge: {why}", NotConvergedWarning)


def has_grades(votes: Votes) -> bool:
    """Tell whether votes say by how much an item won."""
    return isinstance(votes, Comparisons) and votes.n_grades > 1


def warn_of_ties(votes: Votes, settings: FitSettings, use: TieUse = NO_TIES) -> None:
    """Warn how many ties are left out; raise if all votes are ties."""
    if votes.n_ties and not float(votes.annotator_weight.sum()) > votes.n_ties:
        raise InputError(*UNDECIDED)
    if votes.n_ties and use.mode == "none":
        counted = many(votes.n_ties, "tie vote")
        message = f"{counted} left out: {settings.model} does not model ties"
        if settings.ties == "auto":
            message = f"{counted} left out: loss='hinge' cannot model ties; ties='half' uses them"
        elif settings.models_ties:
            message = f"{counted} left out; {settings.model}(ties='auto') models ties"
        warn(message, TiesExcludedWarning)


def why_unconverged(fit: Fit, max_iter: int) -> str:
    """Return why a fit stopped early, and what helps."""
    if fit.n_iter >= max_iter:
        return f"it reached max_iter={max_iter} before tol; raise max_iter"
    return "the scores diverge, as happens if items only win or only lose; use a prior"
