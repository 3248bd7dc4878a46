"""The worker: what it reads, what it shows, whom it gives which pairs."""

from __future__ import annotations

import json
import random
import time

import pytest
from sqlalchemy import select
from test_studio_ballots import Desk

from jamrank.collect.schema import leases
from jamrank.studio import people
from jamrank.studio.ballots import Answer, Next, TakeBack
from jamrank.studio.catalogue import retire_item, save_study
from jamrank.studio.choosing import PairSource
from jamrank.studio.snapshots import read_snapshot
from jamrank.studio.study import Criterion, KnownPair, Study
from jamrank.studio.tables import QUEUE
from jamrank.studio.worker import Worker


@pytest.fixture
def desk(tmp_path):
    desk = Desk(str(tmp_path / "study.sqlite"), Study(votes_per_judge=60, gold=(KnownPair("i9", "i0"),)), n_items=10)
    yield desk
    desk.database.close()


def vote_by_number(desk, judge, n, flip=0.0, seed=0):
    """Vote for the larger number, or for the other one with some probability."""
    draw = random.Random(seed)
    state = desk.take(judge, Next()).state
    for _ in range(n):
        pair = state["open"][0]
        left, right = (int(pair[side].rpartition("</div>")[0].rpartition(">")[2]) for side in ("left", "right"))
        said = "left" if (left > right) != (draw.random() < flip) else "right"
        state = desk.take(judge, Answer(pair["key"], said, seconds=1.0)).state


def live(desk):
    with desk.database.read() as connection:
        return json.loads(read_snapshot(connection, "live"))


def test_the_overview_of_a_study_without_votes(desk):
    Worker(desk.database.engine).step(now=True)
    body = live(desk)
    assert body["lights"][0]["heading"] == "Waiting for votes"
    assert dict(body["tiles"])["votes"] == "0"
    assert body["chart"] == "<p>No votes yet.</p>"


def test_the_overview_shows_what_the_votes_say(desk):
    judges = [desk.judge() for _ in range(3)]
    for place, judge in enumerate(judges):
        vote_by_number(desk, judge, 30, seed=place)
    desk.database.write(lambda c: people.invite_judge(c, "Late"))
    Worker(desk.database.engine).step(now=True)
    body = live(desk)
    assert dict(body["tiles"])["votes"] == "90"
    assert {row["name"] for row in body["judges"]} == set(judges)
    assert {row["verdict"] for row in body["judges"]} == {"reliable"}
    assert "style=" not in "".join(body["sections"])
    with desk.database.read() as connection:
        ranking = read_snapshot(connection, "ranking.csv").splitlines()
        report = read_snapshot(connection, "report.html")
    assert {line.split(",")[0] for line in ranking[1:5]} > {"i9", "i8", "i7"}
    assert report.startswith("<!DOCTYPE html>")


def test_a_vote_that_is_undone_is_gone(desk):
    judge = desk.judge()
    vote_by_number(desk, judge, 5)
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    assert len(worker.feed.votes) == 5
    desk.take(judge, TakeBack(desk.history(judge).last_answered.key))
    worker.step(now=True)
    assert len(worker.feed.votes) == 4
    assert dict(live(desk)["tiles"])["votes"] == "4"


def test_judges_at_work_have_pairs_waiting_that_they_have_not_had(desk):
    judge = desk.judge()
    vote_by_number(desk, judge, 10)
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    with desk.database.read() as connection:
        rows = connection.execute(select(QUEUE).where(QUEUE.c.judge == judge)).all()
        pool = connection.execute(select(QUEUE).where(QUEUE.c.judge == "")).all()
    assert rows
    given = {one.pair[:2] for one in desk.history(judge).asked}
    assert not {tuple(sorted((row.left, row.right))) for row in rows} & given
    assert len(pool) > 10
    n_rows = len(rows)
    worker.step()
    with desk.database.read() as connection:
        assert len(connection.execute(select(QUEUE).where(QUEUE.c.judge == judge)).all()) == n_rows


def test_a_judge_who_answers_at_random_gets_gold_and_easy_pairs(desk):
    for seed in range(4):
        vote_by_number(desk, desk.judge(), 40, seed=seed)
    careless = desk.judge()
    vote_by_number(desk, careless, 40, flip=0.5, seed=9)
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    worker.step(now=True)
    verdicts = {row["name"]: row["verdict"] for row in live(desk)["judges"]}
    assert verdicts[careless] == "random"
    with desk.database.read() as connection:
        rows = connection.execute(select(QUEUE).where(QUEUE.c.judge == careless)).all()
    assert rows
    worker._fit_took = 0.0
    source = worker._sources[""]
    checks = source.checks_for(careless, 3, worker.feed.given[careless])
    assert {pair.strategy for pair in checks} <= {"gold", "easy"}
    for pair in checks:
        low, high = sorted(int(item[1:]) for item in (pair.left, pair.right))
        assert low <= 3 or pair.purpose == "gold"
        assert high >= 6 or pair.purpose == "gold"


def test_retired_items_leave_queue_and_choices(desk):
    judge = desk.judge()
    vote_by_number(desk, judge, 10)
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    desk.database.write(lambda c: retire_item(c, "i5"))
    for _ in range(3):
        worker.step(now=True)
        vote_by_number(desk, judge, 2)
    with desk.database.read() as connection:
        rows = connection.execute(select(QUEUE)).all()
    assert rows
    assert "i5" not in {item for row in rows for item in (row.left, row.right)}


def test_each_criterion_has_its_ranking(desk):
    study = Study(criteria=(Criterion("large", "Larger?"), Criterion("<b>small", "Smaller?")), votes_per_judge=60)
    desk.database.write(lambda c: save_study(c, study))
    judge = desk.judge()
    vote_by_number(desk, judge, 30)
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    body = live(desk)
    assert [light["criterion"] for light in body["lights"]] == ["large", "<b>small"]
    with desk.database.read() as connection:
        lines = read_snapshot(connection, "ranking.csv").splitlines()
        reports = [read_snapshot(connection, name) for name in ("report.html", "report-2.html")]
    assert lines[0].endswith(",criterion")
    assert {line.rpartition(",")[2] for line in lines[1:]} == {"large", "<b>small"}
    assert ["large" in reports[0], "&lt;b&gt;small" in reports[1]] == [True, True]
    text = "".join(body["sections"])
    assert "Criterion: &lt;b&gt;small" in text
    ids = [part.partition('"')[0] for part in text.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


def test_gold_and_repeats_of_a_judge_are_counted(tmp_path):
    gold = tuple(KnownPair(f"i{k + 5}", f"i{k}") for k in range(5))
    study = Study(votes_per_judge=40, gold=gold, gold_share=0.5, repeat_share=0.5)
    # Many items, so that gold pairs hardly ever come up as ordinary pairs first.
    desk = Desk(str(tmp_path / "s.sqlite"), study, n_items=60)
    judge = desk.judge()
    vote_by_number(desk, judge, 40)
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    facts = worker.feed.judges(study)[judge]
    assert facts.gold_asked >= 3
    assert facts.gold_right == facts.gold_asked
    assert facts.repeats_asked >= 3
    assert facts.repeats_alike == facts.repeats_asked
    assert facts.seconds == 1.0
    desk.database.close()


def test_sides_are_balanced():
    items = [f"i{k}" for k in range(8)]
    source = PairSource(Study(), "", items, [])
    lefts = dict.fromkeys(items, 0)
    for judge in range(10):
        for pair in source.pairs_for(f"j{judge}", 8, set()):
            lefts[pair.left] += 1
            lefts[pair.right] -= 1
    assert max(abs(lead) for lead in lefts.values()) <= 4


def test_what_nobody_answers_in_time_is_free_again_and_a_late_answer_counts(tmp_path):
    desk = Desk(str(tmp_path / "study.sqlite"), Study(lease_minutes=0.0005), n_items=4)
    judge = desk.judge()
    open_ = desk.take(judge, Next()).state["open"]
    worker = Worker(desk.database.engine)
    worker.step(now=True)
    seen = worker.feed.seen[judge]
    time.sleep(0.05)
    worker.step(now=True)
    worker.step(now=True)
    with desk.database.read() as connection:
        assert not connection.execute(select(leases)).all()
    assert worker.feed.seen[judge] == seen
    assert [pair["key"] for pair in desk.take(judge, Next()).state["open"]] == [pair["key"] for pair in open_]
    desk.take(judge, Answer(open_[0]["key"], "left"))
    worker.step(now=True)
    assert len(worker.feed.votes) == 1
    desk.database.close()


def test_the_chooser_may_ask_again_what_expired(desk):
    judge, worker = desk.judge(), Worker(desk.database.engine)
    vote_by_number(desk, judge, 3)
    worker.step(now=True)
    source = worker._sources[""]
    (pair,) = source.pairs_for(judge, 1, worker.feed.given[judge])
    held = (judge, *pair.unordered[:2])
    assert held in source._open
    source.drop(judge, [(pair.left, pair.right)])
    assert held not in source._open
