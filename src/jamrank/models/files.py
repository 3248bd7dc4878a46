"""Fitted models as files: a zip of a JSON header and ``.npy`` members. Saving computes nothing."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jamrank.data.comparisons import Comparisons
from jamrank.data.gold import KnownTruths
from jamrank.data.storage import DenseVotes, VoteTable
from jamrank.engines import Choice
from jamrank.errors import FormatError, JamrankError
from jamrank.fitting.latent_fit import LatentFit
from jamrank.fitting.prior import Prior
from jamrank.fitting.settings import FitSettings
from jamrank.fitting.solution import EngineSource, NoiseState, ScorerState, Solution
from jamrank.fitting.tie_use import TieUse
from jamrank.inference.result import Convergence, RankingResult
from jamrank.inference.score_uncertainty import LatentUncertainty
from jamrank.inference.scores import Scores
from jamrank.inference.uncertainty import Uncertainty
from jamrank.inference.vote_summary import PairArrays, VoteSummary
from jamrank.io.archives import pack
from jamrank.io.model_files import read_body
from jamrank.io.model_schema import COMPUTED, VERSION, checked
from jamrank.models.base import RankingModel
from jamrank.models.latent import LatentModel
from jamrank.models.registry import MODELS
from jamrank.noise import NOISES
from jamrank.scorers import Features, KernelMap

# Up to this many votes are written with the model, so that it can compute further results; of a jury, whose matrix
# compresses well, up to the second number.
_MOST_VOTES, _MOST_JURY_VOTES = 2_000_000, 20_000_000
# Variances in the prior of a noise that may be estimated.
_VARIANCES = ("bias_variance", "discrimination_variance")


def model_bytes(model: RankingModel) -> bytes:
    """Return what :meth:`RankingModel.save` writes."""
    return pack("model", VERSION, model._to_body())


def load(path: str | Path) -> RankingModel:
    """Read a model that :meth:`RankingModel.save` wrote.

    Parameters
    ----------
    path : str or Path
        The file; JSON files of earlier versions are read too.

    Returns
    -------
    RankingModel
        A model of the class that was saved, with the same predictions bit for bit. Other results are computed on
        access from the votes in the file; if the file has none, a :class:`jamrank.errors.NotStoredError` is raised.
    """
    return restore(read_body(path), str(path))


def restore(body: dict[str, Any], source: str) -> RankingModel:
    """Return the model that plain data describe, or say in one line why there is none."""
    name = str(body.get("class"))
    if name not in MODELS:
        raise FormatError(f"{source}: a model of class {name[:60]!r}; this version knows {', '.join(MODELS)}")
    try:
        return MODELS[name]._from_body(body, source)
    except FormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, JamrankError) as error:
        reason = " ".join(str(error).split())[:120]
        raise FormatError(f"{source}: a {name} whose data are incomplete or damaged ({reason})") from None


# -- from a model to plain data ---------------------------------------------------------------------------------


def model_body(model: RankingModel) -> dict[str, Any]:
    """Return a fitted model as JSON values and arrays."""
    result = model.result_
    votes, scores = result.votes, result.scores
    features = scores.features
    return {
        "class": type(model).__name__,
        "params": {name: _plain_param(value) for name, value in model.get_params().items()},
        "ids": {name: _plain_ids(getattr(votes, name)) for name in ("items", "annotators", "questions")},
        "votes": _votes_body(votes),
        "scores": {
            **{
                each.name: getattr(scores, each.name)
                for each in fields(scores)
                if each.name not in ("items", "model", "features", "kernel")
            },
            "features": features and {"names": list(features.names), "mean": features.mean, "scale": features.scale},
            "kernel": None if scores.kernel is None else dict(vars(scores.kernel)),
        },
        "flip": result.annotators.flip,
        "traits": result.annotators.traits,
        "convergence": dict(vars(result.convergence)),
        "score_se": result.uncertainty._se,
        "fit": None if result.fit is None else _fit_body(result.fit),
        "extras": {name: value for name, value in result.extras.items() if value is not None},
        "computed": _computed(result),
    }


def _computed(result: RankingResult) -> dict[str, dict[str, Any]]:
    if result.votes.in_memory is not None:
        for name in result.predictor.saved_always:
            getattr(result.predictor, name)
    parts = {
        part: {name: vars(owner)[name] for name in COMPUTED[part] if name in vars(owner) and name in owner.saved}
        for part, owner in (("predictor", result.predictor), ("annotators", result.annotators))
    }
    unsure = vars(result.uncertainty)
    parts["uncertainty"] = {name: unsure[name] for name in ("exchangeable", "score_draws") if name in unsure}
    if "estimate" in unsure:
        parts["uncertainty"]["estimate"] = dict(vars(unsure["estimate"]))
    beside_votes = result.fit is not None and _has_room(result.votes)
    # Values by pair of votes in parts are not stored. Beside votes they take one pass to compute, and do not
    # compress; nor do draws from a normal distribution, which are quickly drawn again.
    if beside_votes or result.votes.in_memory is None:
        parts["predictor"].pop("posterior", None)
    uncertainty = result.uncertainty
    if beside_votes and isinstance(uncertainty, LatentUncertainty) and not uncertainty.inference.can_draw:
        parts["uncertainty"].pop("score_draws", None)
    return parts


def _has_room(votes: VoteSummary) -> bool:
    """Tell whether the votes are few enough to be written with the model."""
    known = votes.in_memory
    if known is None:
        return False
    jury = isinstance(known.storage, DenseVotes) and votes.gold is None
    return known.n_folded <= (_MOST_JURY_VOTES if jury else _MOST_VOTES)


def _votes_body(votes: VoteSummary) -> dict[str, Any]:
    known = votes.in_memory
    pairs = None if known is None and votes.stored_pairs is None else dict(vars(votes.pairs))
    gold, table, dense = votes.gold, None, None
    if known is not None and _has_room(votes):
        if isinstance(known.storage, DenseVotes) and gold is None:
            dense = {name: getattr(known.storage, name) for name in ("results", "swapped", "decided")}
        else:
            table = dict(vars(known.storage.table))
    return {
        "frames": votes.frames,
        "n_votes": votes.n_votes,
        "n_missing": 0 if known is None else known.n_missing,
        "n_ties": votes.n_ties,
        "annotator_votes": votes.annotator_votes,
        "decided_votes": votes.decided_votes,
        "pairs": pairs,
        "table": table,
        "dense": dense,
        "gold": None if table is None or gold is None else dict(vars(gold.with_truths.storage.table)),
        "n_gold": 0 if gold is None else gold.n_pairs,
        "copy_of": votes.copy_of if len(votes.copy_of) else None,
        "covariates": list(known.covariates) if known is not None and known.covariates else None,
    }


def _fit_body(fit: LatentFit) -> dict[str, Any]:
    source = fit.fitted.source
    return {
        "unit": fit.settings.unit,
        "noise": fit.settings.noise,
        "rows": source.rows,
        "ties": source.ties,
        "graded": source.graded,
        "loss": fit.fitted.loss,
        "fitted": _solution_body(fit.fitted),
        "refined": None if fit.refined is fit.fitted else _solution_body(fit.refined),
        "overall": None if fit.overall is None else _solution_body(fit.overall),
        "flip_information": fit.flip_information,
        "score_information": fit.score_information,
        **_estimates(fit),
    }


def _estimates(fit: LatentFit) -> dict[str, Any]:
    """Return the parameters of the prior of the noise that were estimated."""
    given, used = fit.settings.prior, fit.fitted.noise.prior
    if given is None or used is None:
        return {"flip_votes": None, **dict.fromkeys(_VARIANCES)}
    return {
        "flip_votes": np.array(used.flip_votes) if given.pools_flips and not used.pools_flips else None,
        **{name: getattr(used, name) if getattr(given, name) is None else None for name in _VARIANCES},
    }


def _solution_body(solution: Solution) -> dict[str, Any]:
    noise = {name: value for name, value in vars(solution.noise).items() if name not in ("prior", "ties")}
    noise |= {"ties": solution.noise.ties.mode, "tie_variance": solution.noise.ties.variance}
    return {
        "theta": solution.theta,
        "params": solution.params,
        "scorer": dict(vars(solution.scorer)),
        "noise": noise,
    }


def _plain_param(value: Any) -> Any:
    if isinstance(value, Prior):
        return {"prior": asdict(value)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return list(value)
    # A used generator cannot be stored; the fitted results do not need it.
    return value if value is None or isinstance(value, (bool, int, float, str)) else None


def _plain_ids(labels: NDArray[Any]) -> Any:
    if labels.dtype.kind in "iufb":
        return labels
    for label in labels.tolist():
        if not isinstance(label, (str, int, float)):
            raise FormatError(f"id {label!r} cannot be written to a file; use strings or numbers as ids")
    return labels.tolist()


# -- and back ---------------------------------------------------------------------------------------------------


def model_from_body(cls: type[RankingModel], body: dict[str, Any], source: str) -> RankingModel:
    """Return the model from plain data."""
    body = checked(body, source)
    model = cls(**{str(name): _param(value) for name, value in body["params"].items()})
    votes = _votes(body)
    scores, convergence = _scores(body, cls.__name__), Convergence(**body["convergence"])
    if issubclass(cls, LatentModel):
        fit = _fit(body, cls, model.get_params(), scores, convergence, votes)
        result = cls._assemble(fit, votes, convergence, model.get_params())
    else:
        result = cls._counted_result(
            votes,
            scores,
            body["flip"],
            convergence,
            model.get_params(),
            se=body["score_se"],
            extras=body["extras"],
            posterior=body["computed"].get("predictor", {}).get("posterior"),
        )
    _restore(result, body["computed"])
    if result.fit is not None and votes.in_memory is not None:
        # One pass: parameters that do not belong to these votes are refused here, not when something is asked for.
        _ = result.predictor.posterior
    model.result_ = result
    return model


def _param(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return Prior(**value["prior"]) if isinstance(value, dict) else value


def _votes(body: dict[str, Any]) -> VoteSummary:
    data = body["votes"]
    ids: dict[str, Any] = {name: _ids(body["ids"][name]) for name in ("items", "annotators", "questions")}
    pairs = None if data["pairs"] is None else _pair_arrays(data["pairs"])
    known = gold = None
    copy_of = np.empty(0, np.int64) if data.get("copy_of") is None else data["copy_of"].astype(np.int64)
    storage = _storage(data)
    if storage is not None and pairs is not None:
        codes: dict[str, Any] = {
            "pair_first": pairs.first,
            "pair_second": pairs.second,
            "pair_question": pairs.question,
        }
        rest: dict[str, Any] = {"n_votes": data["n_votes"], "n_missing": data["n_missing"], "frames": data["frames"]}
        rest |= {"copy_of": copy_of, "covariates": tuple(data.get("covariates") or ())}
        known = Comparisons(**ids, **codes, storage=storage, **rest)
        if data.get("gold") is not None:
            knowing = np.empty(len(ids["annotators"]) + 1, dtype=object)
            knowing[:-1], knowing[-1] = ids["annotators"], "gold"
            stated = Comparisons(**{**ids, "annotators": knowing}, **codes, storage=_table(data["gold"]), **rest)
            gold = KnownTruths(known, stated, data["n_gold"])
    return VoteSummary(
        ids["items"],
        ids["annotators"],
        ids["questions"],
        "pandas" if data["frames"] == "pandas" else "polars",
        data["n_votes"],
        float(data["n_ties"]),
        data["annotator_votes"],
        data["decided_votes"],
        known,
        gold,
        pairs,
        copy_of,
    )


def _pair_arrays(data: dict[str, Any]) -> PairArrays:
    first, second, question = (np.asarray(data[name], dtype=np.int32) for name in ("first", "second", "question"))
    return PairArrays(first, second, question, data["votes"])


def _storage(data: dict[str, Any]) -> VoteTable | DenseVotes | None:
    if data.get("dense") is not None:
        dense = data["dense"]
        return DenseVotes(dense["results"].astype(np.int8), dense["swapped"], dense["decided"])
    return None if data.get("table") is None else _table(data["table"])


def _table(data: dict[str, Any]) -> VoteTable:
    return VoteTable(
        data["start"].astype(np.int64),
        data["annotator"].astype(np.int32),
        data["result"].astype(np.int8),
        data["swapped"],
        data["weight"],
        np.asarray(data.get("grade", ()), dtype=np.int8),
        covariate=np.empty((0, 0)) if data.get("covariate") is None else data["covariate"],
    )


def _ids(value: Any) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return value
    labels = np.empty(len(value), dtype=object)
    labels[:] = value
    return labels


def _scores(body: dict[str, Any], model: str) -> Scores:
    data = dict(body["scores"])
    features, kernel = data.pop("features", None), data.pop("kernel", None)
    known = {each.name for each in fields(Scores)}
    return Scores(
        _ids(body["ids"]["items"]),
        model=model,
        features=features and Features(tuple(features["names"]), features["mean"], features["scale"]),
        kernel=kernel and KernelMap(**{each.name: kernel[each.name] for each in fields(KernelMap)}),
        **{name: value for name, value in data.items() if name in known},
    )


def _fit(
    body: dict[str, Any],
    cls: type[LatentModel],
    params: dict[str, Any],
    scores: Scores,
    convergence: Convergence,
    votes: VoteSummary,
) -> LatentFit:
    settings = FitSettings.of(cls.__name__, cls._spec, params)
    data = body["fit"]
    if data is None:  # first version: only computed results
        source = EngineSource(None, None, settings.rows, "none", Choice("memory", ""), settings.n_jobs)
        none = np.empty(0)
        fitted = refined = Solution(
            source,
            ScorerState(scores.scorer or "objects"),
            NoiseState(settings.noise, None),
            settings.loss,
            none,
            none,
        )
        overall = None
    else:
        gold = None if votes.gold is None else votes.gold.with_truths
        source = EngineSource(
            votes.source,
            gold,
            settings.rows,
            data["ties"],
            Choice("memory", "the model was loaded"),
            settings.n_jobs,
            graded=bool(data.get("graded")),
        )
        own = replace(settings, prior=_estimated(settings.prior, data))
        fitted = _solution(data["fitted"], source, own, body["extras"], votes)
        refined = fitted if data["refined"] is None else _solution(data["refined"], fitted.source, own, {}, votes)
        overall = None if data["overall"] is None else _solution(data["overall"], source, settings, {}, votes)
    return LatentFit(
        settings,
        scores.scorer or "objects",
        fitted,
        refined,
        scores.scores,
        body["flip"],
        body["traits"],
        convergence.log_likelihoods,
        convergence.log_likelihood or 0.0,
        convergence.n_iter,
        convergence.n_passes,
        convergence.converged,
        overall,
        scores.features,
        scores.coef,
        scores.feature_scores,
        scores.kernel,
        scores.kernel_weights,
        scores.score_variance,
        scores.weight_variance,
        body["extras"],
        None if data is None else data["flip_information"],
        None if data is None else data.get("score_information"),
    )


def _estimated(prior: Prior | None, data: dict[str, Any]) -> Prior | None:
    """Return the prior with its estimated values."""
    if prior is None:
        return None
    flips = data["flip_votes"]
    found = {} if flips is None else dict(zip(("flip_wrong", "flip_right"), flips.tolist(), strict=True))
    return prior.with_estimates(found | {name: data[name] for name in _VARIANCES if data.get(name) is not None})


def _solution(
    data: dict[str, Any], source: EngineSource, settings: FitSettings, extras: dict[str, Any], votes: VoteSummary
) -> Solution:
    n_items, n_annotators = len(votes.items), len(votes.annotators)
    own = dict(data["noise"])
    ties = TieUse(own.pop("ties"), own.pop("tie_variance"))
    noise = NoiseState(**{**own, "prior": settings.prior, "ties": ties, "strength": float(own["strength"])})
    if noise.overall is not None and source.cluster is None and "cluster" in extras:
        source = replace(source, cluster=extras["cluster"], n_clusters=len(extras["centroids"]))
    if (noise.scale is not None) != (noise.name == "discrimination"):
        raise FormatError(f"a scale of the noise {noise.name!r}")
    state = ScorerState(**data["scorer"])
    if len(data["theta"]) != state.build(n_items).n_params:
        raise FormatError(f"{len(data['theta'])} parameters of the scorer {state.name!r}")
    n_params = len(data["params"]) - (ties.mode == "shared") - NOISES[noise.name].n_shared
    if NOISES[noise.name].selectable and n_params > 1 and n_params % n_annotators:
        raise FormatError(f"{n_params} parameters of the noise {noise.name!r} for {n_annotators} annotators")
    return Solution(source, state, noise, settings.loss, data["theta"], data["params"])


def _restore(result: RankingResult, computed: dict[str, dict[str, Any]]) -> None:
    for part, owner in (("predictor", result.predictor), ("annotators", result.annotators)):
        vars(owner).update(computed.get(part, {}))
    for name, value in computed.get("uncertainty", {}).items():
        vars(result.uncertainty)[name] = Uncertainty(**value) if name == "estimate" else value
