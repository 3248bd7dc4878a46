"""JAM whose scores are a smooth function of the features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from jamrank.fitting.spec import ModelSpec
from jamrank.models.jam import JAM


@dataclass(kw_only=True, repr=False, eq=False)
class KernelJAM(JAM):
    """JAM with scores that are any smooth function of the features, by a kernel.

    Parameters
    ----------
    scorer : {"kernel", "kernel+objects"}
        ``kernel``: scores from features only; ``kernel+objects``: with an effect of each item. The former is better
        if annotators share misjudgements of items, which the effects would learn.
    kernel : {"rbf", "linear"}
        ``rbf``: nearby items have similar scores, with a bandwidth chosen from the votes; ``linear`` is that of
        :class:`JAM`.
    n_landmarks : int
        Largest number of landmarks of the kernel.
    loss, noise, ties, prior, init, n_init, max_iter, tol, random_state, engine, n_jobs, verbose
        As in :class:`JAM`.

    Attributes
    ----------
    feature_scores_ : ndarray
        The part of the scores that the features explain; unseen items are scored by it.
    result_.scores.weight_variance : float
        Prior variance of such a score, estimated from the votes.
    """

    _spec: ClassVar[ModelSpec] = replace(
        JAM._spec, scorer="kernel", capabilities=replace(JAM._spec.capabilities, features="always")
    )

    scorer: str = "kernel"
    kernel: str = "rbf"
    n_landmarks: int = 200
    flips: str = field(default="auto", init=False)
