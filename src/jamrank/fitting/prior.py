"""Prior distributions of scores, weights and noise parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from jamrank.errors import ParameterError

# Default variance of the weights of the linear scorer.
_WEIGHT_VARIANCE = 6.25
# The prior of the flips: default pseudo-votes of each annotator, wrong and right.
_WRONG, _RIGHT = 1.0, 2.0
# Variances of the biases and of the discriminations where they are not estimated.
_BIAS_VARIANCE, _DISCRIMINATION_VARIANCE = 1.0, 1.0


@dataclass(frozen=True)
class Prior:
    """Weak priors that keep estimates finite and stable where votes are few.

    Parameters
    ----------
    flip_wrong, flip_right : float, optional
        Pseudo-votes of each annotator, wrong and right: a Beta(1 + flip_wrong, 1 + flip_right) prior on the flip. By
        default 1 and 2: an annotator is more often right than wrong. With ``flips="marginal"``, and in JAM with a
        crowd (20 annotators or more with 200 votes each or fewer, free scores) unless ``flips="joint"``, the default
        is to estimate them: flips shrink towards a common value, the more so the less annotators differ.
    weight_variance : float, optional
        Variance of the normal prior on the weight of each standardised feature, or of its kernel map.
        Unless given, 6.25 for the linear scorer, and estimated from the votes for kernels and sums.
    score_variance : float, optional
        Variance of the normal prior on free item scores; estimated from the votes unless given.
    bias_variance : float, optional
        Variance of the normal prior on each annotator's bias towards a side, in log-odds. By default 1; estimated for
        a crowd, as the prior of the flips is.
    discrimination_variance : float, optional
        Variance of the normal prior, around 1, on each annotator's discrimination. By default 1; estimated for a
        crowd: the less annotators differ, the nearer AmElo is to BradleyTerry.
    tie_variance : float
        Variance of the normal prior, around the mean of all, on the logarithm of each annotator's threshold for ties.
    """

    flip_wrong: float | None = None
    flip_right: float | None = None
    weight_variance: float | None = None
    score_variance: float | None = None
    bias_variance: float | None = None
    discrimination_variance: float | None = None
    tie_variance: float = 1.0

    def __post_init__(self) -> None:
        for name in ("flip_wrong", "flip_right"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ParameterError(f"{name} is {getattr(self, name)!r}; expected a number of at least 0")
        for name in (name for name in vars(self) if name.endswith("_variance")):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ParameterError(f"{name} is {value!r}; expected a number above 0")

    @property
    def flip_votes(self) -> tuple[float, float]:
        """Pseudo-votes of each annotator, wrong and right."""
        return (
            _WRONG if self.flip_wrong is None else self.flip_wrong,
            _RIGHT if self.flip_right is None else self.flip_right,
        )

    @property
    def bias_spread(self) -> float:
        """Variance of the biases."""
        return self.bias_variance or _BIAS_VARIANCE

    @property
    def discrimination_spread(self) -> float:
        """Variance of the discriminations."""
        return self.discrimination_variance or _DISCRIMINATION_VARIANCE

    @property
    def pools_flips(self) -> bool:
        """Whether the prior of the flips may be estimated."""
        return self.flip_wrong is None and self.flip_right is None

    def with_estimates(self, estimates: Mapping[str, float]) -> Prior:
        """Return the prior with estimates where no value is given: both pseudo-votes of the flips, or none."""
        free = {"flip_wrong": self.pools_flips, "flip_right": self.pools_flips}
        for name in ("bias_variance", "discrimination_variance"):
            free[name] = getattr(self, name) is None
        return replace(self, **{name: value for name, value in estimates.items() if free[name]})


def linear_variance(prior: Prior | None) -> float | None:
    """Return the variance of the weights of the linear scorer; None for no prior."""
    return (prior.weight_variance or _WEIGHT_VARIANCE) if prior else None


def resolve_prior(prior: Prior | str | None) -> Prior | None:
    """Return the prior for a model's argument."""
    if prior is None or isinstance(prior, Prior):
        return prior
    if prior == "auto":
        return Prior()
    raise ParameterError(f"prior is {prior!r}; expected 'auto', None or a jamrank.Prior")
