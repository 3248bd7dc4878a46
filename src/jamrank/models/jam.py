"""Joint Annotator Modeling: the paper's JAM, and JAM whose scores are a smooth function of the features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from jamrank.fitting.prior import Prior
from jamrank.fitting.spec import Capabilities, ModelSpec
from jamrank.models.latent import LatentModel


@dataclass(kw_only=True, repr=False, eq=False)
class JAM(LatentModel):
    """Joint Annotator Modeling: one latent truth per pair, a flip probability for each annotator.

    With features, scores are linear in them, as in the paper; without, every item has a free score. ``scorer`` has
    other choices.

    Parameters
    ----------
    scorer : {"auto", "linear", "objects", "kernel", "linear+objects", "kernel+objects"}
        Where scores come from: features, linearly or through a kernel; a free score for each item; or a sum of both,
        fitted jointly. ``auto``: ``linear`` with features, ``objects`` without.
    loss : {"logistic", "hinge"}
        How the scores are fitted to the truths. ``logistic`` is exact EM; ``hinge`` is the paper's support vector
        ranker in Rennie's smooth form, an approximation whose log-likelihood may fall.
    noise : {"flip", "two-coin", "difficulty"}
        How annotators err: ``flip`` with the same probability on both sides; ``two-coin`` with a bias towards the
        item shown on the left or on the right; ``difficulty`` with a probability that is nearer to one half on pairs
        that are hard for everyone.
    ties : {"auto", "davidson", "half", "leave out"}
        What to do with tie votes. ``davidson``: a tie is an outcome that is likelier the closer two items are, with a
        threshold for each annotator. ``auto``: the same, with one threshold for all unless the annotators' shares of
        ties differ by more than chance. ``half``: a tie is half a vote for either side, as evalica and the arenas
        count it. ``leave out``: ties are not used, with a warning.
    flips : {"auto", "marginal", "joint"}
        How flips are fitted where every item has a free score and annotators have one flip each. ``marginal``: with
        the scores integrated out, approximately, so that scores do not explain errors away, and with a prior of the
        flips that is estimated. ``joint``: together with the scores, by the highest joint posterior density.
        ``auto``: marginal where an item has up to 100 votes, or up to 1,000 if there are at most 300,000 in all, or
        where there are many items for the votes of an annotator; with more votes both nearly agree and joint is
        faster. Otherwise always joint.
    prior : "auto", Prior or None
        Weak prior; None for plain maximum likelihood.
    init : {"share", "random"}
        Start from the shrunken vote share of each pair, or at random as in the paper.
    n_init : int
        Number of starts, all but the first random; the best fit is kept.
    max_iter : int
        Maximum number of EM iterations.
    tol : float
        Stop when every score and flip is estimated to be within ``tol`` of its limit.
    random_state : int, Generator or None
        For random starts.
    engine : {"auto", "memory", "gpu", "disk", "dask"}
        Where passes over the votes run; ``auto`` chooses by the number of votes and the hardware. ``dask`` uses the
        current client, ``DASK_SCHEDULER_ADDRESS`` or a local cluster; see :func:`jamrank.distribute_comparisons`.
    n_jobs : int, optional
        Number of threads; by default every core. Results do not depend on it.
    verbose : bool
        Show progress.

    Attributes
    ----------
    scores_ : ndarray
        Score of each item, from votes and features.
    feature_scores_ : ndarray or None
        The part that the features explain.
    coef_ : ndarray or None
        Weight of each feature, in the user's units; None for a kernel.
    flip_ : ndarray
        Flip probability of each annotator; with two coins, the mean of both sides, with ``difficulty`` that over all
        pairs.
    posterior_ : ndarray
        P(left is better) for each pair of ``pairs_``, on this pair and question.
    ranking_, annotators_, pairs_, correlated_, features_ : data frame
        Tables for reading.
    log_likelihoods_ : ndarray
        Log-likelihood plus log prior at each iteration; with scores integrated out, the approximate log marginal
        likelihood plus the log prior of the flips.
    log_likelihood_ : float
        The last log-likelihood, without prior; with scores integrated out, the last log marginal likelihood.
    n_iter_, converged_ : int, bool
        How the fit ended.
    result_ : RankingResult
        Everything else: ``result_.scores`` has ``scorer``, ``score_variance`` and ``weight_variance``;
        ``result_.extras["difficulty"]`` is the standard deviation of the logarithm of the ease of pairs;
        ``result_.annotators.traits`` has ``bias`` and ``side_flip`` (two coins) and ``tie`` (Davidson), with
        ``bias_interval`` and ``tie_interval`` beside them; ``result_.convergence`` has the engine that ran.

    Examples
    --------
    >>> import jamrank as jr
    >>> votes = jr.Comparisons.from_arrays(
    ...     ["a", "b", "a", "a"], ["b", "c", "c", "b"], ["ann", "ann", "bob", "bob"], [1, 1, 1, 1]
    ... )
    >>> jr.JAM().fit(votes).ranking_["item"].to_list()
    ['a', 'b', 'c']
    """

    _spec: ClassVar[ModelSpec] = ModelSpec(
        unit="pair",
        scorer="auto",
        noise="flip",
        capabilities=Capabilities(
            features="optional", gold=True, out_of_core=True, log_odds=True, annotators=True, likelihood=True
        ),
    )

    scorer: str = "auto"
    loss: str = "logistic"
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
