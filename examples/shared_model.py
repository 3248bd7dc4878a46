"""A model from outside the package: Bradley–Terry's scores, one flip for all annotators.

docs/add-a-model.md is built from this file, and the tests run it.
"""

from __future__ import annotations

from examples import shared_flip  # registers the noise  # noqa: F401

from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.models import MODELS
from jamrank.models.latent import LatentModel


class AnonymousBT(LatentModel):
    """Free item scores, a truth drawn anew for each vote, and one flip that all annotators share."""

    _spec = ModelSpec(
        unit="vote",
        scorer="objects",
        noise="shared flip",
        capabilities=Capabilities(out_of_core=True, log_odds=True, likelihood=True),
    )

    def __init__(self, *, prior="auto", max_iter=500, tol=1e-5, engine="auto", n_jobs=None, verbose=False):
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose


MODELS.register("AnonymousBT", AnonymousBT)
