"""A result as plain text."""

from __future__ import annotations

import numpy as np

from jamrank.inference.result import RankingResult
from jamrank.text import many


def as_text(result: RankingResult, most: int) -> str:
    """Return the head of the ranking: rank, score and item, with standard errors where they are known already."""
    votes, scores, rank = result.votes, result.scores.scores, result.uncertainty.rank
    order = sorted(range(len(rank)), key=lambda k: (rank[k], k))
    errors = result.uncertainty.estimate.score_se if "estimate" in vars(result.uncertainty) else None
    lines = [
        f"{many(len(votes.items), 'item')} ranked by {many(votes.n_votes, 'vote')} of "
        f"{many(len(votes.annotators), 'annotator')}"
    ]
    for k in order[:most]:
        error = "" if errors is None or np.isnan(errors[k]) else f" ± {errors[k]:.3f}"
        lines.append(f"{rank[k]:>6}  {scores[k]:>8.3f}{error}  {_shown(votes.items[k])}")
    if len(order) > most:
        lines.append(f"   … and {many(len(order) - most, 'more item')}")
    return "\n".join(lines)


def _shown(item: object) -> str:
    text = "".join(c if c.isprintable() else "�" for c in str(item))
    return text if len(text) <= 60 else f"{text[:57]}…"
