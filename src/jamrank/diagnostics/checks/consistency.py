"""Annotators who contradict themselves."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, ndtr

from jamrank.data.ids import names_annotators
from jamrank.diagnostics.checks.cycles import NEARLY_CHANCE
from jamrank.diagnostics.consistency import SelfConsistency
from jamrank.diagnostics.examination import Examination, json_ids, named
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.text import in_percent, many
from jamrank.typing import BoolArray, FloatArray, IntArray

# Two votes on a pair agree this often: consistent; hardly more often than at random; as a rule.
_CONSISTENT, _NEARLY_RANDOM, _USUAL = 0.9, 0.6, 0.7
# Nobody is named whose votes may agree this share as often beyond chance as those of others: errors are not random.
_HALF = 0.5
# The probability of naming anybody who should not be.
_FALSE_ALARM = 0.01
# Fewest repeated pairs for a finding on all annotators.
_FEWEST_REPEATS = 5
# Fewest repeated pairs, and fewest triads, for a finding on one annotator.
_ENOUGH_REPEATS, _ENOUGH_TRIADS = 20, 100
# Where the votes of others are circular more often than this, items are close rather than an annotator careless.
_RARELY_CIRCULAR = 0.1


def contradictions(examination: Examination) -> CheckResult:
    """Say how often repeated votes on a pair agree; warn of annotators whose own do hardly more than random ones.

    Repeated votes differ where items are close: only in comparison with others do they tell of an annotator.
    """
    if not examination.n_decided:
        return CheckResult()
    votes, found = examination.votes, examination.consistency
    names, repeated, both = votes.annotators, float(found.repeated.sum()), float(found.contradicted.sum())
    known = repeated - float(found.soft.sum())
    findings, twice = [], float(found.twice.sum())
    if twice and repeated >= _FEWEST_REPEATS:
        agree = float(found.agreeing.sum()) / twice
        who = "Votes of the same annotator on the same pair" if names_annotators(names) else "Votes on the same pair"
        where = f"{many(repeated, 'pair')} with repeated votes"
        sentence = f"{who} agree in {in_percent(agree)} of the cases ({where}); random votes would agree in 50 %."
        findings.append(Finding("good" if agree >= _CONSISTENT else "note", sentence, "contradictions"))
    rate = _share(found.agreeing, found.twice)
    others = _share_of_others(found.agreeing, found.twice)
    enough = (found.repeated >= _ENOUGH_REPEATS) & (found.twice < found.twice.sum())
    low = (rate < _NEARLY_RANDOM) & (others > _USUAL)
    worst = _ordered(rate, enough & low & (_chance_of_agreement(found) * enough.sum() < _FALSE_ALARM))
    if len(worst):
        rest = np.delete(np.arange(len(names)), worst)
        usual = float(found.agreeing[rest].sum() / max(found.twice[rest].sum(), 1e-300))
        sentence = (
            f"The repeated votes of {_lower(named(names[worst], 'annotator'))} agree nearly as rarely as random "
            f"votes; those of others agree in {in_percent(usual, 0)} of the cases."
        )
        findings.append(Finding("warning", sentence, "contradictions"))
    return CheckResult(
        findings,
        {"repeated_pairs": int(repeated), **({"contradicted_pairs": int(both)} if known == repeated else {})},
        {"contradicted_share": both / known if known >= _FEWEST_REPEATS else None},
        {"contradict_themselves": json_ids(names[worst])},
    )


def circular_annotators(examination: Examination) -> CheckResult:
    """Warn of those whose votes are circular nearly as often as random ones, where those of others are not."""
    if not examination.n_decided:
        return CheckResult()
    names, found = examination.votes.annotators, examination.consistency
    triads = found.circular + found.ordered
    share, others = _share(found.circular, triads), _share_of_others(found.circular, triads)
    enough = (triads >= _ENOUGH_TRIADS) & (triads < triads.sum())
    often = (share >= NEARLY_CHANCE) & (others <= _RARELY_CIRCULAR)
    worst = _ordered(-share, enough & often & (_chance_of_circles(found) * enough.sum() < _FALSE_ALARM))
    findings = []
    if len(worst):
        sentence = (
            f"The votes of {_lower(named(names[worst], 'annotator'))} are circular (a over b, b over c, c over a) "
            "nearly as often as random votes; those of others rarely are."
        )
        findings.append(Finding("warning", sentence, "circles"))
    total = float(triads.sum())
    return CheckResult(
        findings,
        measures={"own_circular_share": float(found.circular.sum()) / total if total else None},
        details={"vote_in_circles": json_ids(names[worst])},
    )


def _chance_of_agreement(found: SelfConsistency) -> FloatArray:
    """Return the probability of so rare agreement where that beyond chance is half that of others.

    Votes on different pairs are independent.
    """

    def rate(agreeing: FloatArray, twice: FloatArray, moments: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, (squares, products, of_all) = _share(agreeing, twice), moments
        return value, _share(squares - 2 * value * products + value**2 * of_all, twice**2)

    all_moments = found.moments.sum(axis=1, keepdims=True)
    own, variance = rate(found.agreeing, found.twice, found.moments)
    others, its = rate(
        found.agreeing.sum() - found.agreeing, found.twice.sum() - found.twice, all_moments - found.moments
    )
    gap, error = own - 0.5 - _HALF * (others - 0.5), np.sqrt(np.maximum(variance + _HALF**2 * its, 1e-300))
    return np.asarray(ndtr(gap / error))


def _chance_of_circles(found: SelfConsistency) -> FloatArray:
    """Return a bound of the probability of so many circles where triads are circular as often as those of others.

    Triads share votes: there are as many independent ones as have no vote in common (Hoeffding's bound).
    """
    triads = found.circular + found.ordered
    share, others = _share(found.circular, triads), _share_of_others(found.circular, triads)
    number, theirs = found.ordering / 3, (found.ordering.sum() - found.ordering) / 3
    others = np.minimum(others + np.sqrt(_share(others * (1 - others), theirs)), 1.0)
    return np.asarray(betainc(np.maximum(share * number, 1e-9), (1 - share) * number + 1, others))


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _share_of_others(part: FloatArray, whole: FloatArray) -> FloatArray:
    return _share(part.sum() - part, whole.sum() - whole)


def _ordered(value: FloatArray, which: BoolArray) -> IntArray:
    chosen = np.flatnonzero(which)
    return chosen[np.argsort(value[chosen], kind="stable")]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
