"""JAM whose scores are a smooth function of the features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from jamrank.fitting.prior import Prior
from jamrank.fitting.spec import ModelSpec
from jamrank.models.jam import JAM

__all__ = ["KernelJAM"]


class KernelJAM(JAM):
    """JAM with scores that are any smooth function of the features, by a kernel.

    Parameters
    ----------
    scorer : {"kernel", "kernel+objects"}
        Whether the features explain the truths alone, or together with an effect of each item. The former is better
        where annotators misread items: the effects would learn their mistakes.
    kernel : {"rbf", "linear"}
        ``rbf``: items are alike that are near each other, how near being chosen from the votes; ``linear`` is
        :class:`JAM`'s own.
    n_landmarks : int
        Largest number of items to which all others are compared.
    loss, noise, ties, prior, init, n_init, max_iter, tol, random_state, engine, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    feature_scores_ : ndarray
        What the features say, through the kernel; unseen items get the same from theirs.
    result_.scores.weight_variance : float
        Prior variance of such a score, estimated from the votes.
    """

    _spec: ClassVar[ModelSpec] = replace(
        JAM._spec, scorer="kernel", capabilities=replace(JAM._spec.capabilities, features="always")
    )

    def __init__(
        self,
        *,
        scorer: str = "kernel",
        kernel: str = "rbf",
        n_landmarks: int = 200,
        loss: str = "logistic",
        noise: str = "flip",
        ties: str = "auto",
        prior: Prior | str | None = "auto",
        init: str = "share",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            scorer=scorer,
            loss=loss,
            noise=noise,
            ties=ties,
            prior=prior,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            engine=engine,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.kernel = kernel
        self.n_landmarks = n_landmarks
