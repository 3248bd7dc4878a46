"""The four methods that the paper compares, by the names that it gives them."""

from __future__ import annotations

from jamrank.models import IAM, JAM, VRJAM, MajorityVote, RankingModel

__all__ = ["METHODS"]

METHODS: dict[str, type[RankingModel]] = {"MV": MajorityVote, "IAM": IAM, "JAM": JAM, "VRJAM": VRJAM}
