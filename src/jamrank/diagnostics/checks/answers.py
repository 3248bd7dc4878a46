"""Pairs of one question that share an item, whose truths may depend on each other."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from jamrank.data.color_refinement import decided
from jamrank.data.comparisons import Comparisons
from jamrank.data.storage import FIRST
from jamrank.diagnostics.examination import Examination
from jamrank.diagnostics.findings import CheckResult, Finding
from jamrank.selection.agreeing import products_within
from jamrank.selection.joint_crowd import fit_crowd

ANSWERS_VARY = (
    "Within questions, pairs that share an item agree more than independent ones (p < 0.001), as where the quality "
    "of an item's answers varies from question to question: intervals and certain orders are surer than they should "
    "be. "
    'In Python, uncertainty("bootstrap", by="question") allows for it.'
)
# Standard errors: pairs that are independent seem to depend on each other in one set of a thousand.
_SIGNIFICANT = 3.29
# With fewer decided votes the test says nothing.
_FEWEST = 100


def answers(examination: Examination) -> CheckResult:
    """Warn where pairs of a question that share an item agree more than independent ones."""
    if not answers_vary(examination.votes):
        return CheckResult()
    return CheckResult([Finding("warning", ANSWERS_VARY, "answers")])


def answers_vary(votes: Comparisons) -> bool:
    """Tell whether what votes say of an item beyond its score agrees between the pairs of a question.

    What the votes on a pair say of its first item is the sum of their residuals under a CrowdBT. If pairs are
    independent, the products of two pairs of a question that share an item have mean 0.
    """
    if not votes.has_questions or float(votes.annotator_decided.sum()) < _FEWEST:
        return False
    fit, kept = fit_crowd(votes), decided(votes)
    pair, flip = votes.vote_pair[kept].astype(np.int64), fit.flip[votes.vote_annotator[kept]]
    margin = fit.scores[votes.pair_first] - fit.scores[votes.pair_second]
    proba = flip + (1 - 2 * flip) * expit(margin[pair])
    surplus = ((votes.vote_result[kept] == FIRST) - proba) * np.sign(1 - 2 * flip) * votes.vote_weight[kept]
    of_pair = np.bincount(pair, surplus, votes.n_pairs)
    question = votes.pair_question.astype(np.int64) * votes.n_items
    cell = np.concatenate([question + votes.pair_first, question + votes.pair_second])
    cell = np.unique(cell, return_inverse=True)[1]
    total = products_within(cell, np.concatenate([of_pair, -of_pair]))
    error = np.sqrt(2 * max(products_within(cell, np.concatenate([of_pair, of_pair]) ** 2), 0.0))
    return bool(total > _SIGNIFICANT * error > 0)
