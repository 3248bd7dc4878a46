"""A fit in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jamrank.errors import ParameterError
from jamrank.io.given import VoteSource
from jamrank.io.reader import read_comparisons
from jamrank.models.base import RankingModel
from jamrank.models.registry import find_model
from jamrank.selection.judging import assessed


def fit(
    votes: VoteSource,
    model: str | RankingModel = "auto",
    features: Any = None,
    *,
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    winner_words: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
    only: Any = (),
    without: Any = (),
    once: bool = False,
    gold: Any = None,
    start: RankingModel | None = None,
    **parameters: Any,
) -> RankingModel:
    """Read votes, choose a model unless one is named, and fit it.

    Parameters
    ----------
    votes : Comparisons, path-like or list of them, data frame, mapping or list of votes
        As in :func:`jamrank.read_comparisons`; columns are recognised as on the command line.
    model : str or RankingModel
        The name of a model, or a model; ``"auto"`` chooses one by held-out votes.
    features, gold, start
        As in :meth:`RankingModel.fit`.
    mapping : dict, optional
        Which column is what, where it is not recognised: ``{"left": "a", "right": "b", "winner": "better"}``.
    format, winner_words, skip_bad_rows, only, without, once
        As in :func:`jamrank.read_comparisons`.
    **parameters
        Arguments of the model that is named.

    Returns
    -------
    RankingModel
        Fitted. Where the model does not estimate flips (BradleyTerry, AmElo), the flips and verdicts of
        ``annotators_`` come from a CrowdBT fitted to the same votes, as on the command line.

    Examples
    --------
    >>> import jamrank as jr
    >>> model = jr.fit([("a", "b"), ("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"), ("b", "c")])
    >>> model.ranking_["item"].to_list()
    ['a', 'b', 'c']
    """
    chosen = _model(model, parameters)
    reading = {
        "format": format,
        "mapping": mapping,
        "winner_words": winner_words,
        "skip_bad_rows": skip_bad_rows,
        "only": only,
        "without": without,
        "once": once,
    }
    if any(bool(value) for value in reading.values()):
        votes = read_comparisons(votes, **reading, covariates=chosen.get_params().get("covariates", ()))
    fitted = chosen.fit(votes, features, gold=gold, start=start)
    fitted.result_ = assessed(fitted)
    return fitted


def _model(model: str | RankingModel, parameters: Mapping[str, Any]) -> RankingModel:
    """Return the model to fit, with its parameters."""
    if isinstance(model, RankingModel):
        return type(model)(**{**model.get_params(), **parameters})
    if not isinstance(model, str):
        raise ParameterError(f"model is a {type(model).__name__}; expected the name of a model, or a model")
    kind = find_model(model)
    known = kind().get_params()
    for name in parameters:
        if name not in known:
            raise ParameterError(f"{kind.__name__} has no parameter {name!r}; it has {', '.join(known)}")
    return kind(**parameters)
