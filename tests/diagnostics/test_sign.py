"""Votes on a single pair: fit, check and next say the same of the order of the two items."""

from __future__ import annotations

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import InputError
from jamrank.report import Analysis, findings


def votes_of(wins: int, losses: int, n_annotators: int) -> jr.Comparisons:
    """Return votes on one pair, those for either item dealt to the annotators in turn."""
    won = np.repeat([1.0, 0.0], [wins, losses])
    names = [f"a{k % n_annotators}" for k in range(len(won))]
    return jr.Comparisons.from_arrays(["x"] * len(won), ["y"] * len(won), names, won)


@pytest.mark.parametrize("n_annotators", [1, 2, 3, 10, 30])
def test_fit_check_and_next_agree_on_a_significant_order(n_annotators: int) -> None:
    votes = votes_of(154, 117, n_annotators)
    auto = jr.Auto().fit(votes)
    assert auto.chosen_ == "BradleyTerry"
    health, status = jr.check(votes), jr.Chooser(votes, repeats=True).status()
    told = findings(Analysis(auto.result_, votes))
    assert health.settled and not health.reasons
    assert "The order of the two items is certain (probability of at least 97.5 %)." in told
    assert status.state == "reached" and not status.sign_open
    assert abs(1 - health.measures["expected_accuracy"] - status.expected_error) < 0.02
    assert not [line for line in [*told, *health.sentences] if "from random" in line]


def test_an_open_order_is_no_reason_not_to_rank() -> None:
    votes = votes_of(105, 95, 20)
    (found,) = (one for one in jr.check(votes).findings if one.about == "sign")
    assert found.level == "note" and "cannot be distinguished from random ones" in found.sentence


def test_fit_compares_no_models_where_compare_refuses_to() -> None:
    votes = votes_of(154, 117, 10)
    assert jr.Auto().fit(votes).reason_.endswith("are on one pair; a comparison needs votes on several pairs.")
    with pytest.raises(InputError, match="all on one pair"):
        jr.selection.compare(votes)


def test_next_asks_about_two_items_for_their_own_order() -> None:
    chooser = jr.Chooser(votes_of(154, 117, 10), repeats=True, explore=0.0, target=0.001, random_state=0)
    assert not [one for one in chooser.batch(5) if "order of others" in one.why]
