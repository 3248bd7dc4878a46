"""Bradley–Terry with annotators who flip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from jamrank.fitting.prior import Prior
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.models.latent import LatentModel


@dataclass(kw_only=True, repr=False, eq=False)
class CrowdBT(LatentModel):
    """Free item scores, a latent truth of each vote, a flip probability for each annotator.

    Parameters
    ----------
    scorer : {"objects", "linear+objects", "kernel+objects", "linear", "kernel"}
        ``objects``: a free score for each item; the others use features, as in :class:`JAM`.
    noise, ties, flips, prior, init, n_init, max_iter, tol, random_state, engine, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    posterior_ : ndarray
        P(left beats right) for each pair, from the scores: no truth is shared by the votes on a pair.
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="vote",
        scorer="objects",
        noise="flip",
        capabilities=Capabilities(gold=True, out_of_core=True, log_odds=True, annotators=True, likelihood=True),
    )

    scorer: str = "objects"
    noise: str = "flip"
    ties: str = "auto"
    flips: str = "auto"
    prior: Prior | str | None = "auto"
    init: str = "share"
    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-5
    random_state: Any = None
    engine: str = "auto"
    n_jobs: int | None = None
    verbose: bool = False
