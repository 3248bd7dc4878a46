"""Model files of the first version, JSON with base64 arrays, in the layout of this version."""

from __future__ import annotations

from typing import Any

import numpy as np


def from_version_1(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a model file of version 1 in the layout of this version; it has no votes."""
    state, ids = body["state"], body["ids"]
    unsure = dict(body["uncertainty"])
    for name in ("score_low", "score_high"):
        if not len(unsure.get(name, ())):
            unsure[name] = np.full(len(state["scores_"]), np.nan)
    flip = state["flip_"]
    overall = flip if flip.ndim == 1 else None
    pairs = None
    if len(state["posterior_"]):
        pairs = {
            "first": state["_pair_first"],
            "second": state["_pair_second"],
            "question": state["_pair_question"],
            "votes": state["_pair_votes"],
        }
    traits = {
        name: state[f"{name}_"]
        for name in ("bias", "side_flip", "tie", "discrimination")
        if state.get(f"{name}_") is not None
    }
    kernel = state.get("_kernel")
    extras = {
        name: state[old]
        for name, old in {
            "annotator_scores": "annotator_scores_",
            "inconsistency": "inconsistency_",
            "centroids": "centroids_",
            "cluster": "cluster_",
            "strength": "strength_",
            "cluster_votes": "_cluster_votes",
            "item_pairs": "_item_pairs",
            "coef_interval": "coef_interval_",
        }.items()
        if state.get(old) is not None
    }
    computed = {
        "predictor": {
            "link": float(state["_link"]),
            "score_variances": state["_score_variances"],
            "vote_tables": state["_vote_tables"],
            **({} if pairs is None else {"posterior": state["posterior_"]}),
        },
        "annotators": {
            "flip_information": state["_flip_information"],
            "flip_range": state["_flip_range"],
            "response_sums": state["_habit_sums"],
            "link_rows": state["_link_rows"],
            "effective_judges": state["effective_judges_"],
            **{
                f"{name}_interval": state[f"{name}_interval_"]
                for name in ("bias", "tie", "discrimination")
                if state.get(f"{name}_interval_") is not None
            },
            **({} if state.get("flip_interval_") is None else {"cluster_interval": state["flip_interval_"]}),
        },
        "uncertainty": {"estimate": unsure},
    }
    return {
        "class": body["class"],
        "params": body["params"],
        "ids": {"items": ids["items_"], "annotators": ids["_annotators"], "questions": ids["_questions"]},
        "votes": {
            "frames": state["_frames"],
            "n_votes": int(state["_annotator_votes"].sum()),
            "n_missing": 0,
            "n_ties": float(state["n_ties_"]),
            "annotator_votes": state["_annotator_votes"],
            "decided_votes": state["_decided_votes"],
            "pairs": pairs,
            "n_gold": 0,
        },
        "scores": {
            "scores": state["scores_"],
            "slope": float(state.get("slope_") or 1.0),
            "feature_scores": state["feature_scores_"],
            "coef": state["coef_"],
            "score_variance": state["score_variance_"],
            "weight_variance": state.get("weight_variance_"),
            "scorer": state.get("scorer_"),
            "features": body["features"],
            "kernel": kernel,
            "kernel_weights": state.get("_kernel_weights"),
        },
        "flip": flip,
        "overall": overall,
        "traits": traits,
        "convergence": {
            "n_iter": state["n_iter_"],
            "n_passes": state["n_passes_"],
            "converged": bool(state["converged_"]),
            "log_likelihoods": state["log_likelihoods_"],
            "log_likelihood": state["log_likelihood_"],
            "engine": "memory",
            "engine_reason": "",
        },
        "score_se": unsure["score_se"] if np.isfinite(unsure["score_se"]).all() else None,
        "fit": None,
        "extras": extras,
        "computed": computed,
    }
