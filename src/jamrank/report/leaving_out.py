"""What leaving an annotator out changes, for those whose votes a verdict advises not to use."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import dataclass

import numpy as np
import polars as pl

from jamrank.data.comparisons import Comparisons
from jamrank.errors import InputError, JamrankWarning
from jamrank.inference.bootstrap import Refit
from jamrank.inference.ranks import ranks
from jamrank.report.analysis import Analysis
from jamrank.report.judges import ADVICE, kinds
from jamrank.text import many, safe_text

# Each takes a fit.
_MOST_JUDGES, _MOST_VOTES, _MOST_NAMED = 3, 200_000, 3
# A command with a shortened id would not find the annotator.
_LONGEST = 1000


@dataclass(frozen=True)
class LeftOut:
    """An annotator, and what the ranking would be without the votes of this one.

    moved: The items that would change rank, with their ranks now and then, the largest changes first.
    n_items: How many items would be left.
    opens: Whether the others balance each other, so that nothing tells which of them are right.
    """

    annotator: str
    moved: list[tuple[str, int, int]]
    n_items: int
    opens: bool = False

    @property
    def sentence(self) -> str:
        """What would change."""
        who = f"Without {safe_text(self.annotator)}"
        if self.opens:
            return f"{who}, the others balance each other, and the ranking may be upside down: add gold pairs first."
        if not self.moved:
            return f"{who}, no item changes its rank."
        named = ", ".join(f"{safe_text(item)} {now} → {then}" for item, now, then in self.moved[:_MOST_NAMED])
        more = ", …" if len(self.moved) > _MOST_NAMED else ""
        verb = "changes its rank" if len(self.moved) == 1 else "change their ranks"
        return f"{who}, {len(self.moved):,} of {many(self.n_items, 'item')} {verb} ({named}{more})."

    @property
    def command(self) -> str:
        """The command that leaves the annotator out."""
        return f"jamrank fit VOTES --without {shlex.quote(safe_text(self.annotator, _LONGEST))}"


def leave_out(analysis: Analysis) -> list[LeftOut]:
    """Refit without each of a few annotators, starting from the fit."""
    result, votes = analysis.result, analysis.votes
    if not isinstance(votes, Comparisons) or not isinstance(result.refit, Refit) or votes.n_folded > _MOST_VOTES:
        return []
    if result.scores.features is not None or result.votes.gold is not None or analysis.order.group is not None:
        return []
    # A model with flips reverses the votes of those who vote against the truth: they are worth keeping.
    against = () if analysis.models_annotators else ADVICE["Review, or invert the votes"]
    advised = pl.Series(kinds(analysis.annotators)).is_in([*ADVICE["Exclude"], *against])
    frame = analysis.annotators.filter(advised).sort("votes", descending=True)
    names = frame["annotator"].to_list()[:_MOST_JUDGES]
    code = {str(name): k for k, name in enumerate(votes.annotators.tolist())}
    found = (_without(analysis, votes, result.refit, str(name), code[str(name)]) for name in names)
    return [one for one in found if one is not None]


def _without(analysis: Analysis, votes: Comparisons, refit: Refit, name: str, code: int) -> LeftOut | None:
    kept = votes.only(votes.vote_annotator != code)
    voted = np.zeros(votes.n_items, dtype=bool)
    voted[kept.pair_first], voted[kept.pair_second] = True, True
    start = None
    if analysis.result.can.log_odds:  # others have no warm start
        start = refit.model(**refit.params)
        start.result_ = analysis.result
    quiet = {"verbose": False} if "verbose" in refit.params else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JamrankWarning)
        try:
            fitted = refit.model(**{**refit.params, **quiet}).fit(kept, start=start)
        except InputError:  # nobody else decided a vote
            return None
    items = np.flatnonzero(voted)
    now, then = (ranks(values[items], within=1e-9) for values in (analysis.scores, fitted.scores_))
    moved = np.flatnonzero(now != then)
    moved = moved[np.argsort(-np.abs(then[moved] - now[moved]), kind="stable")]
    changed = [(str(analysis.items[items[k]]), int(now[k]), int(then[k])) for k in moved]
    before = analysis.result.judging.annotators.orientation.open
    opens = analysis.models_annotators and not before and fitted.result_.annotators.orientation.open
    return LeftOut(name, changed, len(items), opens)
