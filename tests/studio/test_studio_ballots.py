"""Which pairs judges get, and what becomes of their answers."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter

import pytest
from sqlalchemy import event, insert

from jamrank.collect import open_ledger
from jamrank.errors import LedgerError
from jamrank.studio import people
from jamrank.studio.access import digest
from jamrank.studio.ballots import Answer, Next, TakeBack, Turn
from jamrank.studio.catalogue import add_items, retire_item, save_study, set_state
from jamrank.studio.database import Database
from jamrank.studio.history import AHEAD, read_history
from jamrank.studio.items import Item, Part
from jamrank.studio.setup import open_study
from jamrank.studio.study import Criterion, KnownPair, Study
from jamrank.studio.tables import QUEUE
from jamrank.studio.view import read_view
from jamrank.studio.worker import Worker


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "study.sqlite")
    return request.getfixturevalue("postgresql")()


# Which pairs are asked does not depend on the database.
mostly_sqlite = pytest.mark.parametrize(
    "where", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)


class Desk:
    """A study without a server."""

    def __init__(self, where: str, study: Study, n_items: int = 6) -> None:
        self.where = where
        self.database = Database(open_study(where))
        items = [Item(f"i{place}", (Part("text", str(place)),)) for place in range(n_items)]

        def work(connection):
            save_study(connection, study)
            add_items(connection, items, "test", again=True)

        self.database.write(work)

    def judge(self) -> str:
        return self.database.write(people.invite_judge)[0]

    def take(self, judge, action):
        with self.database.read() as connection:
            view = read_view(connection)
        return self.database.submit(Turn(judge, action, view)).result(timeout=30)

    def all_votes(self, judge, said="left", most=1000):
        state = self.take(judge, Next()).state
        count = 0
        while state["open"] and count < most:
            state = self.take(judge, Answer(state["open"][0]["key"], said)).state
            count += 1
        return state

    def history(self, judge):
        with self.database.read() as connection:
            return read_history(connection, judge)


@pytest.fixture
def desk_of(where):
    desks = []

    def make(study, n_items=6):
        desks.append(Desk(where, study, n_items))
        return desks[-1]

    yield make
    for desk in desks:
        desk.database.close()


def test_no_pair_comes_twice_and_all_pairs_come(desk_of):
    desk = desk_of(Study(votes_per_judge=100), n_items=5)
    judge = desk.judge()
    state = desk.all_votes(judge)
    assert state["status"] == "done"
    pairs = [one.pair for one in desk.history(judge).asked]
    assert len(pairs) == len(set(pairs)) == 10


def test_a_judge_gets_as_many_votes_as_wanted_skips_among_them(desk_of):
    desk = desk_of(Study(votes_per_judge=4))
    judge = desk.judge()
    state = desk.take(judge, Next()).state
    assert len(state["open"]) == AHEAD
    for said in ("left", "skip", "tie", "right"):
        state = desk.take(judge, Answer(state["open"][0]["key"], said)).state
    assert (state["status"], state["done"], state["open"]) == ("done", 4, [])
    with open_ledger(desk.where, create=False) as ledger:
        assert ledger.votes()["winner"].to_list() == ["left", "tie", "right"]
    # An undo opens the last pair again, whatever it was.
    state = desk.take(judge, TakeBack(state["undo"])).state
    assert (state["status"], state["done"], len(state["open"])) == ("open", 3, 1)


def test_the_smallest_study_two_items_one_judge(desk_of):
    desk = desk_of(Study(), n_items=2)
    judge = desk.judge()
    state = desk.all_votes(judge)
    assert state["status"] == "done"
    assert state["done"] == state["total"] == 1
    worker = Worker(desk.database.engine)
    worker.step()
    assert [vote.winner for vote in worker.feed.votes.values()] == ["left"]


def test_practice_comes_first_and_is_no_vote(desk_of):
    study = Study(votes_per_judge=3, practice=(KnownPair("i0", "i1"), KnownPair("i2", "i3")))
    desk = desk_of(study)
    judge = desk.judge()
    state = desk.all_votes(judge)
    purposes = [one.purpose for one in desk.history(judge).asked]
    assert purposes == ["practice", "practice", "vote", "vote", "vote"]
    assert state["done"] == 3
    with open_ledger(desk.where, create=False) as ledger:
        assert ledger.votes().height == 3


@mostly_sqlite
def test_gold_and_repeats_come_in_their_shares_and_repeats_are_swapped(desk_of):
    gold = tuple(KnownPair(f"i{k}", f"i{k + 10}") for k in range(10))
    study = Study(votes_per_judge=60, gold=gold, gold_share=0.2, repeat_share=0.2)
    desk = desk_of(study, n_items=20)
    counts: Counter[str] = Counter()
    for _ in range(4):
        judge = desk.judge()
        desk.all_votes(judge)
        asked = desk.history(judge).asked
        counts.update(one.purpose for one in asked)
        for place, one in enumerate(asked):
            if one.purpose == "repeat":
                earlier = [other for other in asked[:place] if other.pair == one.pair]
                assert len(earlier) == 1
                assert (earlier[0].left, earlier[0].right) == (one.right, one.left)
        others = [one.pair for one in asked if one.purpose != "repeat"]
        assert len(others) == len(set(others))
    # Which pairs come depends on the random ids of the judges: expected are 35 and 41, with standard deviations of 2
    # and 6; there are 40 gold pairs.
    assert 20 <= counts["gold"] <= 40
    assert 12 <= counts["repeat"] <= 72


@mostly_sqlite
def test_criteria_are_asked_alike(desk_of):
    study = Study(criteria=(Criterion("a", "A?"), Criterion("b", "B?")), votes_per_judge=30)
    desk = desk_of(study)
    judge = desk.judge()
    worker = Worker(desk.database.engine)
    desk.all_votes(judge, most=3)
    for _ in range(9):
        worker.step()
        desk.all_votes(judge, most=3)
    counts = Counter(one.criterion for one in desk.history(judge).asked)
    assert len(counts) == 2
    assert min(counts.values()) >= 10


def test_retired_items_are_asked_no_more(desk_of):
    desk = desk_of(Study(votes_per_judge=100), n_items=4)
    desk.database.write(lambda c: retire_item(c, "i3"))
    judge = desk.judge()
    desk.all_votes(judge)
    assert {item for one in desk.history(judge).asked for item in (one.left, one.right)} == {"i0", "i1", "i2"}


def test_paused_and_closed(desk_of):
    desk = desk_of(Study())
    judge = desk.judge()
    state = desk.take(judge, Next()).state
    desk.database.write(lambda c: set_state(c, "paused"))
    outcome = desk.take(judge, Answer(state["open"][0]["key"], "left"))
    assert outcome.state["status"] == "paused"
    assert len(outcome.state["open"]) == AHEAD - 1
    desk.database.write(lambda c: set_state(c, "closed"))
    outcome = desk.take(judge, Answer(state["open"][1]["key"], "left"))
    assert (outcome.refused, outcome.status) == ("closed", 409)
    with open_ledger(desk.where, create=False) as ledger:
        assert ledger.votes().height == 1


def test_an_answer_after_its_lease_has_expired_counts_once(desk_of):
    desk = desk_of(Study(lease_minutes=1e-6))
    judge = desk.judge()
    state = desk.take(judge, Next()).state
    time.sleep(0.01)
    with open_ledger(desk.where, create=False) as ledger:
        assert len(ledger.expire()) == AHEAD
    again = desk.take(judge, Next()).state
    assert [pair["key"] for pair in again["open"]] == [pair["key"] for pair in state["open"]]
    for _ in range(2):
        desk.take(judge, Answer(state["open"][0]["key"], "right"))
    with open_ledger(desk.where, create=False) as ledger:
        assert ledger.votes()["winner"].to_list() == ["right"]


def test_turns_at_once_are_all_stored_and_double_ones_once(desk_of):
    desk = desk_of(Study(votes_per_judge=10), n_items=8)
    judges = [desk.judge() for _ in range(20)]
    with desk.database.read() as connection:
        view = read_view(connection)
    states = [future.result(30).state for future in [desk.database.submit(Turn(j, Next(), view)) for j in judges]]
    turns = [
        Turn(judge, Answer(state["open"][0]["key"], said), view)
        for judge, state in zip(judges, states, strict=True)
        for said in ("left", "right", "left")
    ]
    outcomes = [future.result(30) for future in [desk.database.submit(turn) for turn in turns]]
    assert {outcome.refused for outcome in outcomes} == {""}
    with open_ledger(desk.where, create=False) as ledger:
        votes = ledger.votes()
    assert votes.height == 20
    assert set(votes["winner"]) == {"left"}


def test_a_session_that_ended_elsewhere_stores_nothing_and_others_go_on(desk_of):
    desk = desk_of(Study(votes_per_judge=10), n_items=8)
    judges = [desk.judge() for _ in range(3)]
    with desk.database.read() as connection:
        view = read_view(connection)
    tokens = [desk.database.write(lambda c, j=j: people.open_session(c, "judge", j, None)) for j in judges]
    sessions = [digest(token) for token in tokens]
    states = [
        desk.database.submit(Turn(j, Next(), view, s)).result(30).state for j, s in zip(judges, sessions, strict=True)
    ]
    desk.database.write(lambda connection: people.revoke_judge(connection, judges[0]))
    # The first judge is revoked; the second tries the session of the third.
    used = [sessions[0], sessions[2], sessions[2]]
    turns = [
        Turn(judge, Answer(state["open"][0]["key"], "left"), view, session)
        for judge, state, session in zip(judges, states, used, strict=True)
    ]
    outcomes = [future.result(30) for future in [desk.database.submit(turn) for turn in turns]]
    assert [(one.refused, one.status, one.state is None) for one in outcomes] == [
        ("signed_out", 401, True),
        ("signed_out", 401, True),
        ("", 200, False),
    ]
    with open_ledger(desk.where, create=False) as ledger:
        assert ledger.votes()["annotator"].to_list() == [judges[2]]


def test_what_a_history_counts_is_what_its_list_says(desk_of):
    desk = desk_of(Study(votes_per_judge=6, practice=(KnownPair("i1", "i0"),), gold_share=0.0))
    judge = desk.judge()
    state = desk.take(judge, Next()).state
    for said in ("left", "skip", "right", "left"):
        state = desk.take(judge, Answer(state["open"][0]["key"], said)).state
    for _ in range(2):
        last = desk.history(judge).last_answered
        assert last.answer == max(one.answer for one in desk.history(judge).answered)
        state = desk.take(judge, TakeBack(last.key)).state
        found = desk.history(judge)
        assert found.done == state["done"] == sum(one.purpose != "practice" for one in found.answered)
        assert found.counted == sum(one.purpose != "practice" for one in found.asked)
        assert {one.id for one in found.open} == {one.id for one in found.asked if not one.ended}
        assert all(found.find(one.key) is one for one in found.asked)


def test_two_servers_on_one_ledger_agree(desk_of, where):
    desk = desk_of(Study(votes_per_judge=20))
    other = Database(open_study(where))
    judge = desk.judge()
    with desk.database.read() as connection:
        view = read_view(connection)
    state = desk.take(judge, Next()).state
    for place in range(8):
        database = (desk.database, other)[place % 2]
        turn = Turn(judge, Answer(state["open"][0]["key"], "left"), view)
        first, second = (
            database.submit(turn).result(30),
            (desk.database, other)[1 - place % 2].submit(turn).result(30),
        )
        assert first.state["done"] == second.state["done"] == place + 1
        state = second.state
    other.close()
    pairs = [one.pair for one in desk.history(judge).asked]
    assert len(pairs) == len(set(pairs))


def test_queued_pairs_come_in_their_order_and_are_used_up(desk_of):
    desk = desk_of(Study(gold_share=0.0))
    judge = desk.judge()
    wanted = [("i4", "i5"), ("i1", "i0")]
    rows = [
        {"judge": judge, "left": a, "right": b, "criterion": "", "purpose": "vote", "strategy": "x", "made": 0.0}
        for a, b in wanted
    ]
    desk.database.write(lambda c: c.execute(insert(QUEUE), rows) and None)
    desk.take(judge, Next())
    assert [(one.left, one.right) for one in desk.history(judge).asked] == wanted
    with desk.database.read() as connection:
        assert connection.execute(QUEUE.select()).all() == []


def test_work_that_fails_leaves_the_rest_of_its_batch(desk_of):
    desk = desk_of(Study())

    def fails(connection):
        people.invite_judge(connection, "half done")
        raise ValueError("no")

    futures = [desk.database.submit(work) for work in (people.invite_judge, fails, people.invite_judge)]
    assert futures[0].result(30)
    with pytest.raises(ValueError, match="no"):
        futures[1].result(30)
    assert futures[2].result(30)
    with desk.database.read() as connection:
        assert "half done" not in [judge.name for judge in people.judges(connection)]


def test_a_full_disk_acknowledges_nothing_and_the_study_goes_on(tmp_path):
    desk = Desk(str(tmp_path / "study.sqlite"), Study(votes_per_judge=50), n_items=12)
    judge = desk.judge()
    state = desk.take(judge, Next()).state

    # SQLite's own limit stands for the disk; it is a setting of each connection.
    def small(connection, record):
        count = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {count}")

    desk.database.engine.dispose()
    event.listen(desk.database.engine, "connect", small)
    acknowledged, refused = [], 0
    for _ in range(200):
        key = state["open"][0]["key"]
        try:
            state = desk.take(judge, Answer(key, "left")).state
            acknowledged.append(key)
        except LedgerError as error:
            assert "full" in str(error)
            refused += 1
            break
        if not state["open"]:
            break
    assert refused == 1
    event.remove(desk.database.engine, "connect", small)
    desk.database.engine.dispose()
    answered = {one.key for one in desk.history(judge).answered}
    assert answered == set(acknowledged)
    state = desk.take(judge, Answer(key, "left")).state
    assert key in {one.key for one in desk.history(judge).answered}
    desk.database.close()
    assert sqlite3.connect(tmp_path / "study.sqlite").execute("PRAGMA integrity_check").fetchone() == ("ok",)
