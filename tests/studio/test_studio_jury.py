"""People and LLM judges on one ledger."""

from __future__ import annotations

import pytest
from test_studio_ballots import Desk
from test_studio_worker import live, vote_by_number

pytest.importorskip("aiohttp")

from jamrank.collect import Item, open_ledger
from jamrank.errors import InputError
from jamrank.jury import Judge, ask_judges, audit_ledger, load_contents
from jamrank.studio.brief import read_brief
from jamrank.studio.catalogue import catalogue
from jamrank.studio.study import Criterion, Study
from jamrank.studio.tables import QUEUE
from jamrank.studio.worker import Worker


def larger(prompt):
    assert "Which is larger?" in prompt.text
    return "left" if int(prompt.left.text) > int(prompt.right.text) else "right"


def test_people_and_judges_share_a_study(ledger_url):
    desk = Desk(ledger_url, Study(question="Which is larger?", votes_per_judge=10))
    person = desk.judge()
    vote_by_number(desk, person, 6)
    brief = read_brief(ledger_url)
    assert (brief.question, brief.criterion, [item.id for item in brief.items]) == (
        "Which is larger?",
        "",
        [f"i{place}" for place in range(6)],
    )
    outcome = ask_judges(
        load_contents(brief.items),
        [Judge("model", larger)],
        ledger_url,
        plan="random",
        criterion=brief.question,
        recorded_as=brief.criterion,
    )
    assert outcome.progress.answered == 15
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    assert dict(live(desk)["tiles"])["votes"] == "21"
    with desk.database.read() as connection:
        queued = {row.judge for row in connection.execute(QUEUE.select())}
        assert "model" not in queued
        assert len(catalogue(connection)) == 6  # people still see the items
    vote_by_number(desk, person, 4)
    with open_ledger(ledger_url) as ledger:
        (row,) = audit_ledger(ledger).iter_rows(named=True)
        assert (row["judge"], row["agreement"]) == ("model", 1.0)
        assert ledger.votes()["annotator"].value_counts().sort("count").rows() == [(person, 10), ("model", 15)]
    desk.database.close()


def test_a_study_begins_with_the_votes_of_a_jury(tmp_path):
    where = str(tmp_path / "l.db")
    items = [Item(f"i{place}", text=str(place), details={"family": "x"}) for place in range(6)]
    ask_judges(items, [Judge("model", lambda prompt: "left")], where, plan="random")
    assert read_brief(where) is None
    desk = Desk(where, Study())
    with desk.database.read() as connection:
        assert [listed.id for listed in catalogue(connection)] == [f"i{place}" for place in range(6)]
    vote_by_number(desk, desk.judge(), 3)
    desk.database.close()
    with open_ledger(where) as ledger:
        assert ledger.votes().height == 18
        assert len(ledger.items()) == 6


def test_of_several_criteria_one_is_named(tmp_path):
    where = str(tmp_path / "l.db")
    Desk(where, Study(criteria=(Criterion("size", "Larger?"), Criterion("taste", "Better?")))).database.close()
    with pytest.raises(InputError, match="criteria size, taste"):
        read_brief(where)
    brief = read_brief(where, "taste")
    assert (brief.question, brief.criterion) == ("Better?", "taste")
