"""What is assumed before the first vote."""

from __future__ import annotations

from dataclasses import dataclass

from jamrank.errors import ParameterError

__all__ = ["Prior", "linear_variance", "resolve_prior"]

# Of the weights of the linear scorer, unless given.
_WEIGHT_VARIANCE = 6.25


@dataclass(frozen=True)
class Prior:
    """Weak assumptions that keep estimates finite and steady where votes are few.

    Parameters
    ----------
    flip_wrong, flip_right : float
        Imagined votes of each annotator, wrong and right: a Beta(1 + flip_wrong, 1 + flip_right) prior on the flip.
        More right than wrong, so that a single vote is taken for what it says.
    weight_variance : float, optional
        Variance of the normal prior on the weight of each standardised feature, or of what a kernel makes of them.
        Unless given, 6.25 for the linear scorer, and estimated from the votes for kernels and sums.
    score_variance : float, optional
        Variance of the normal prior on free item scores; estimated from the votes unless given.
    bias_variance : float
        Variance of the normal prior on each annotator's bias towards a side, in log-odds.
    discrimination_variance : float
        Variance of the normal prior, around 1, on each annotator's discrimination.
    tie_variance : float
        Variance of the normal prior, around the mean of all, on the logarithm of each annotator's threshold for ties.
    """

    flip_wrong: float = 1.0
    flip_right: float = 2.0
    weight_variance: float | None = None
    score_variance: float | None = None
    bias_variance: float = 1.0
    discrimination_variance: float = 1.0
    tie_variance: float = 1.0

    def __post_init__(self) -> None:
        for name in ("flip_wrong", "flip_right"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} is {getattr(self, name)!r}; expected a number of at least 0")
        for name in (name for name in vars(self) if name.endswith("_variance")):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ParameterError(f"{name} is {value!r}; expected a number above 0")


def linear_variance(prior: Prior | None) -> float | None:
    """Return the variance of the weights of the linear scorer; None for no prior."""
    return (prior.weight_variance or _WEIGHT_VARIANCE) if prior else None


def resolve_prior(prior: Prior | str | None) -> Prior | None:
    """Return the prior that a model's argument stands for."""
    if prior is None or isinstance(prior, Prior):
        return prior
    if prior == "auto":
        return Prior()
    raise ParameterError(f"prior is {prior!r}; expected 'auto', None or a jamrank.Prior")
