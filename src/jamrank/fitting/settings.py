"""The settings of one fit by the EM loop, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from jamrank.engines import Choice
from jamrank.errors import ParameterError
from jamrank.fitting.prior import Prior, resolve_prior
from jamrank.fitting.spec import ModelSpec
from jamrank.noise import NOISES
from jamrank.rows import ROWS_BY

_CHOICES = {
    "kernel": ("rbf", "linear"),
    "loss": ("logistic", "hinge"),
    "ties": ("auto", "davidson", "half", "leave out"),
    "init": ("share", "random"),
    "flips": ("auto", "marginal", "joint"),
}
_WHOLE = ("n_init", "max_iter", "n_landmarks", "n_jobs")


@dataclass(frozen=True)
class FitSettings:
    """Parameters of a model with a scorer and a noise; parameters that a model lacks keep their defaults.

    model: Name of the model, for messages.
    unit ({"pair", "vote"}): What shares one latent truth.
    others: As in :class:`jamrank.JAM` and :class:`jamrank.KernelJAM`.
    """

    model: str
    unit: str
    scorer: str = "auto"
    noise: str = "flip"
    ties: str = "leave out"
    kernel: str = "rbf"
    n_landmarks: int = 200
    loss: str = "logistic"
    flips: str = "joint"
    prior: Prior | None = None
    init: str = "share"
    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-5
    random_state: Any = None
    n_jobs: int | None = None
    verbose: bool = False
    models_ties: bool = False
    """Whether the model has the option ``ties``, for messages."""

    @classmethod
    def of(cls, model: str, spec: ModelSpec, params: Mapping[str, Any]) -> Self:
        """Return the settings for the parameters of a model, after checking them."""
        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in params.items() if name in known}
        settings = {"scorer": spec.scorer, "noise": spec.noise} | given | {"prior": resolve_prior(params["prior"])}
        found = cls(model, spec.unit, **settings, models_ties="ties" in params)
        found._check(noise_given="noise" in params)
        return found

    @property
    def rows(self) -> str:
        """The row layout that the noise needs."""
        return NOISES[self.noise].rows_of(self.unit)

    def engine_for(self, in_memory: bool, chosen: Choice) -> Choice:
        """Return the engine that was chosen, or the one that the noise needs.

        in_memory: Whether the votes are in memory.
        """
        alone = NOISES[self.noise].in_memory
        if not in_memory and (alone or self.loss == "hinge"):
            what, other = ("noise", "flip") if alone else ("loss", "logistic")
            value = getattr(self, what)
            raise ParameterError(f"{what} is {value!r}, which needs the votes in memory; use {what}={other!r}")
        return Choice("memory", f"the noise {self.noise!r} needs it") if alone else chosen

    def _check(self, noise_given: bool) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ParameterError(f"{name} is {getattr(self, name)!r}; expected {' or '.join(map(repr, choices))}")
        if self.noise not in NOISES or (noise_given and not NOISES[self.noise].selectable):
            selectable = [name for name, spec in NOISES.items() if spec.selectable or not noise_given]
            raise ParameterError(f"noise is {self.noise!r}; expected {' or '.join(map(repr, selectable))}")
        if self.rows not in ROWS_BY:
            raise ParameterError(f"noise is {self.noise!r}, which needs a truth per pair, as in JAM")
        if self.loss == "hinge" and NOISES[self.noise].in_memory:
            raise ParameterError(f"noise is {self.noise!r}, which needs the logistic loss; loss is 'hinge'")
        if self.ties == "davidson" and self.loss == "hinge":
            raise ParameterError("ties is 'davidson', which needs the logistic loss; loss is 'hinge'")
        for name in _WHOLE:
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value >= 1) and (name, value) != ("n_jobs", None):
                raise ParameterError(f"{name} is {value!r}; expected a whole number of at least 1")
        try:
            if self.random_state is not None:
                np.random.default_rng(self.random_state)
        except (TypeError, ValueError):
            raise ParameterError(
                f"random_state is {self.random_state!r}; expected None, a whole number or a Generator"
            ) from None
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol > 0):
            raise ParameterError(f"tol is {self.tol!r}; expected a number above 0")
