from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter

import pytest
from sqlalchemy import event as engine_event

import jamrank as jr
from jamrank.collect import Annotator, Item, Limit, open_ledger
from jamrank.errors import JudgeError, LedgerError
from jamrank.jury import Contents, Judge, JudgeFailure, RandomPlan, Reply, ask_all, ask_judges, estimate
from jamrank.jury.recorder import Pace
from jamrank.jury.simulated import Faults, SimulatedJudge, SimulatedServer
from tests.jury.conftest import make_contents

SIMULATED = [
    SimulatedJudge("a", scale=4.0),
    SimulatedJudge("b", 1.0, left_bias=0.5, refusals=0.1, unparsable=0.1, ties=0.2, price_in=10.0),
]


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch):
    monkeypatch.setattr("jamrank.jury.asking._FIRST_WAIT", 0.001)


@pytest.fixture
def ledger(ledger_url):
    with open_ledger(ledger_url) as ledger:
        yield ledger


def plan_of(contents, judges, **settings):
    return RandomPlan(contents, [judge.name for judge in judges], "7", **settings)


def votes_of(ledger):
    return set(ledger.votes().select("annotator", "left", "right", "question", "winner").rows())


def test_every_comparison_is_asked_once_and_recorded(ledger, contents):
    with SimulatedServer(SIMULATED) as server:
        judges = server.judge_list()
        outcome = ask_all(ledger, judges, contents, plan_of(contents, judges))
    assert outcome.state == "all asked"
    assert outcome.progress.asked == server.requests == 2 * contents.n_comparisons
    kinds = Counter(event.kind for event in ledger.events())
    assert kinds["asked"] == 60
    assert kinds["answered"] + kinds["refused"] + kinds["unparsable"] == 60
    assert kinds["refused"] > 0 and kinds["unparsable"] > 0
    assert set(server.replies.values()) == {1}
    assert ledger.leases() == []
    raw = [event.raw for event in ledger.events() if event.kind == "unparsable"]
    assert all("merits" in text for text in raw)
    # The ledger has the verdicts of the judges.
    known = {judge.name: judge for judge in SIMULATED}
    for who, left, right, question, winner in votes_of(ledger):
        a, b = contents.by_place[left, question].text, contents.by_place[right, question].text
        assert f'"{winner}"' in known[who].say(contents.texts[question], a, b)


def test_what_is_stored_is_not_asked_again(ledger, contents):
    with SimulatedServer(SIMULATED) as server:
        judges = server.judge_list()
        ask_all(ledger, judges, contents, plan_of(contents, judges), limit=Limit(calls=20))
        first = votes_of(ledger)
        outcome = ask_all(ledger, server.judge_list(), contents, plan_of(contents, judges))
        assert set(server.replies.values()) == {1}
        assert server.requests == 60
        assert outcome.progress.asked == 40
        assert first < votes_of(ledger)
        # Neither what was refused or unparsable: these are replies.
        assert ask_all(ledger, server.judge_list(), contents, plan_of(contents, judges)).progress.asked == 0


def test_another_text_or_model_is_another_question(ledger):
    said = []
    judge = Judge("a", lambda prompt: said.append(prompt.left.text) or "left")
    items = [Item("x", text="one"), Item("y", text="two")]
    for changed in (items, items, [items[0], Item("y", text="three")]):
        ask_all(ledger, [judge], Contents(changed, {}), RandomPlan(Contents(changed, {}), ["a"], "1"))
    assert len(said) == 2
    renamed = Judge("a", judge.ask, model="newer")
    ask_all(ledger, [renamed], Contents(items, {}), RandomPlan(Contents(items, {}), ["a"], "1"))
    assert len(said) == 3


def test_faults_are_retried_until_there_is_a_reply(ledger, contents):
    faults = Faults(busy=0.1, error=0.1, cut=0.1, garbage=0.1, retry_after=0.01)
    with SimulatedServer(SIMULATED, faults=faults) as server:
        judges = server.judge_list()
        ask_all(ledger, judges, contents, plan_of(contents, judges))
        assert set(server.replies.values()) == {1}
        assert server.requests > 60
    kinds = Counter(event.kind for event in ledger.events())
    assert kinds["asked"] == server.requests
    assert kinds["failed"] == server.requests - 60


def test_the_final_votes_do_not_depend_on_faults(tmp_path, contents):
    votes = []
    for k, faults in enumerate((Faults(), Faults(0.1, 0.1, 0.1, 0.1, 0.01))):
        with SimulatedServer(SIMULATED, faults=faults) as server, open_ledger(tmp_path / f"{k}.db") as ledger:
            judges = server.judge_list()
            ask_all(ledger, judges, contents, plan_of(contents, judges), salt=str(k))
            votes.append(votes_of(ledger))
    assert votes[0] == votes[1]


def test_a_budget_of_money_is_never_exceeded(ledger, contents):
    limit = Limit(money=0.02)
    with SimulatedServer(SIMULATED, latency=0.001) as server:
        judges = server.judge_list()
        worst = max(one.worst for one in estimate(contents, judges))
        outcome = ask_all(ledger, judges, contents, plan_of(contents, judges), limit=limit)
    assert outcome.state == "budget spent"
    assert 0.02 - 3 * worst < outcome.progress.spent <= 0.02
    assert _most_held(ledger) <= 0.02 * (1 + 1e-9)


def _most_held(ledger) -> float:
    """What was spent and reserved at the worst moment, from the events alone."""
    held, spent, most = {}, 0.0, 0.0
    for event in ledger.events():
        if event.kind == "asked":
            held[event.id] = event.details["reserved"]
        else:
            del held[event.refers]
            spent += event.cost
        most = max(most, spent + sum(held.values()))
    return most


def test_a_budget_of_calls_counts_retries(ledger, contents):
    with SimulatedServer(SIMULATED, faults=Faults(error=0.3)) as server:
        judges = server.judge_list()
        outcome = ask_all(ledger, judges, contents, plan_of(contents, judges), limit=Limit(calls=25))
        assert server.requests == 25
    assert (outcome.state, outcome.progress.asked) == ("budget spent", 25)
    assert ledger.spending()[0].asked + ledger.spending()[1].asked == 25


def test_what_was_in_flight_counts_as_paid_and_is_asked_once_more(ledger, contents):
    with SimulatedServer(SIMULATED) as server:
        judges = server.judge_list()
        task = plan_of(contents, judges).take({"a": 1})[0]
        ledger.lease(task.judge, task.left, task.right, task.question, reserve=0.5)
        ledger.lease("a person", "s0", "s1", "q0")  # people's leases are left alone
        outcome = ask_all(ledger, judges, contents, plan_of(contents, judges))
    assert outcome.lost == 1
    assert [event.cost for event in ledger.events() if event.kind == "expired"] == [0.5]
    assert outcome.progress.asked == 60
    assert [lease.annotator for lease in ledger.leases()] == ["a person"]


def test_a_server_that_always_fails_ends_in_one_clear_line(ledger, contents):
    with SimulatedServer(SIMULATED, faults=Faults(error=1)) as server:
        judges = server.judge_list()
        with pytest.raises(JudgeError, match=r"every judge failed: a: HTTP 500: something broke; b: HTTP 500"):
            ask_all(ledger, judges, contents, plan_of(contents, judges))
        assert server.requests < 200
    assert ledger.leases() == []
    assert ledger.votes().height == 0


def test_a_wrong_key_ends_at_once(ledger, contents):
    with SimulatedServer(SIMULATED, key="another") as server:
        judges = server.judge_list()
        with pytest.raises(JudgeError, match="HTTP 401"):
            ask_all(ledger, judges, contents, plan_of(contents, judges))
        assert server.requests <= 2 * 8


def test_one_judge_that_fails_does_not_stop_the_other(ledger, contents):
    def broken(prompt):
        raise RuntimeError("no\nluck")

    good = Judge("good", lambda prompt: "tie")
    outcome = ask_all(ledger, [good, Judge("bad", broken)], contents, plan_of(contents, [good, Judge("bad", broken)]))
    assert outcome.given_up == {"bad": "RuntimeError: no luck"}
    assert ledger.votes()["winner"].to_list() == ["tie"] * 30


def test_judges_are_functions_plain_or_async_or_with_a_price(ledger, contents):
    async def waits(prompt):
        await asyncio.sleep(0)
        return Reply('{"verdict": "right"}', cost=0.25)

    class Callable:
        def __call__(self, prompt):
            return "left"

    judges = [Judge("async", waits, 0.5), Judge("object", Callable()), Judge("wrong", lambda prompt: 7)]
    outcome = ask_all(ledger, judges, contents, plan_of(contents, judges))
    spent = {one.annotator: one.spent for one in ledger.spending()}
    assert spent["async"] == pytest.approx(30 * 0.25)
    assert set(ledger.votes().select("annotator", "winner").rows()) == {("async", "right"), ("object", "left")}
    assert "expected a text or a Reply" in outcome.given_up["wrong"]


def test_requests_at_once_stay_below_the_limit_of_each_judge(ledger, contents):
    now, most, lock = 0, 0, threading.Lock()

    async def counted(prompt):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        await asyncio.sleep(0.005)
        with lock:
            now -= 1
        return "left"

    judge = Judge("a", counted, concurrency=3)
    ask_all(ledger, [judge], contents, plan_of(contents, [judge]))
    assert most == 3


def test_a_rate_is_kept():
    async def turns() -> float:
        pace = Pace(60 / 0.02)
        begin = time.monotonic()
        await asyncio.gather(*(pace.turn() for _ in range(6)))
        return time.monotonic() - begin

    assert asyncio.run(turns()) >= 5 * 0.02 * 0.99


def test_retry_after_holds_up_every_request_to_that_judge(ledger):
    calls = []

    async def busy_once(prompt):
        calls.append(asyncio.get_running_loop().time())
        if len(calls) == 1:
            raise JudgeFailure("busy", retry=True, after=0.2, cost=0.0)
        return "left"

    judge = Judge("a", busy_once, concurrency=1)
    small = make_contents(3, 1)
    ask_all(ledger, [judge], small, plan_of(small, [judge]))
    assert len(calls) == 4
    assert calls[1] - calls[0] >= 0.19


def test_only_one_jury_at_a_time(ledger, contents):
    judge = Judge("a", lambda prompt: "left")
    with (
        open_ledger(ledger._engine.url.render_as_string(hide_password=False)) as other,
        other.exclusive("jury"),
        pytest.raises(LedgerError, match="another jury is using"),
    ):
        ask_all(ledger, [judge], contents, plan_of(contents, [judge]))


def test_judges_that_do_not_see_are_not_shown_images(tmp_path):
    items = [Item(name, path=f"{name}.png", media="image/png", details={"digest": name}) for name in "xy"]
    seen = []
    with open_ledger(tmp_path / "l.db") as ledger:
        with pytest.raises(JudgeError, match="judge a does not see images"):
            ask_all(ledger, [Judge("a", len)], Contents(items, {}), RandomPlan(Contents(items, {}), ["a"], "1"))
        judge = Judge("a", lambda prompt: seen.append(prompt.images) or "left", sees_images=True)
        ask_all(ledger, [judge], Contents(items, {}), RandomPlan(Contents(items, {}), ["a"], "1"))
        assert len(seen[0]) == 2
        sound = [Item(name, path=f"{name}.mp3", media="audio/mpeg") for name in "xy"]
        with pytest.raises(JudgeError, match="audio/mpeg is neither"):
            ask_all(ledger, [judge], Contents(sound, {}), RandomPlan(Contents(sound, {}), ["a"], "1"))


def test_the_information_plan_stops_when_the_goal_is_reached(tmp_path):
    contents = make_contents(5, 40, spread=1.0)
    # Replies take their time, or all are asked before the first fit on a busy machine.
    judges = [SimulatedJudge("a", scale=4.0), SimulatedJudge("b", scale=4.0)]
    with SimulatedServer(judges, latency=0.05) as server:
        outcome = ask_judges(contents, server.judge_list(), tmp_path / "l.db", target=0.05, seed=3)
    assert outcome.state == "reached"
    # Half of what two judges would be asked in both orders; how many it is depends on when replies come.
    assert outcome.progress.asked < 2 * contents.n_comparisons
    votes = jr.read_comparisons(tmp_path / "l.db")
    assert jr.BradleyTerry().fit(votes).ranking_["item"].to_list() == ["s4", "s3", "s2", "s1", "s0"]
    with open_ledger(tmp_path / "l.db") as ledger:
        chosen = set(ledger.votes()["chosen_by"])
        assert {"information", "both orders"} <= chosen
        assert ledger.setting("jury_seed") == "3"
        assert {item.id for item in ledger.items()} == {"s0", "s1", "s2", "s3", "s4"}
        asked = Counter(ledger.votes().select("annotator", "left", "right", "question").rows())
        assert max(asked.values()) == 1


def test_the_information_plan_goes_on_from_the_votes_of_people_and_judges(tmp_path):
    contents = make_contents(4, 10, spread=1.0)
    with SimulatedServer([SimulatedJudge("a", scale=4.0)]) as server:
        with open_ledger(tmp_path / "l.db") as ledger:
            ledger.add_annotator(Annotator("person"))
            for question in contents.questions:
                lease = ledger.lease("person", "s0", "s3", question)
                ledger.answer(lease.id, "right")
        first = ask_judges(contents, server.judge_list(), tmp_path / "l.db", calls=30, target=0.05, seed=1)
        again = ask_judges(contents, server.judge_list(), tmp_path / "l.db", calls=50, target=0.05, seed=1)
    assert (first.progress.asked, again.progress.asked) == (30, 20)
    assert set(server.replies.values()) == {1}
    with open_ledger(tmp_path / "l.db") as ledger:
        assert set(ledger.votes()["annotator"]) == {"a", "person"}


def test_a_full_disk_ends_in_one_line_and_nothing_is_lost(tmp_path, contents, caplog):
    calls = []

    def answer(prompt):
        calls.append(prompt)
        return "left " * 2_000 if len(calls) > 4 else "left"

    with open_ledger(tmp_path / "l.db") as ledger:
        # SQLite's own limit stands for the disk; it is a setting of each connection.
        with ledger._engine.connect() as connection:
            limit = connection.exec_driver_sql("PRAGMA page_count").scalar_one() + 6

        def small(connection, record):
            connection.execute(f"PRAGMA max_page_count = {limit}")

        ledger._engine.dispose()
        engine_event.listen(ledger._engine, "connect", small)
        with pytest.raises(LedgerError, match="full"):
            ask_all(ledger, [Judge("a", answer)], contents, RandomPlan(contents, ["a"], "1"))
        gc.collect()
        assert "never retrieved" not in caplog.text
        engine_event.remove(ledger._engine, "connect", small)
        ledger._engine.dispose()
        outcome = ask_all(ledger, [Judge("a", lambda prompt: "left")], contents, RandomPlan(contents, ["a"], "1"))
        replies = [one for one in ledger.events() if one.kind in ("answered", "unparsable")]
        assert outcome.state == "all asked"
        assert len(replies) == contents.n_comparisons


def test_what_is_being_asked_is_not_asked_twice(ledger, contents):
    class Repeating(RandomPlan):
        def take(self, free):
            return [task for task in super().take(free) for _ in range(2)]

    outcome = ask_all(ledger, [Judge("a", lambda prompt: "left")], contents, Repeating(contents, ["a"], "1"))
    assert outcome.progress.asked == contents.n_comparisons == ledger.votes().height
    assert not ledger.leases()


def test_two_items_and_one_judge(tmp_path):
    items = [Item("x", text="one"), Item("y", text="two")]
    for plan in ("random", "information"):
        outcome = ask_judges(items, [Judge("a", lambda prompt: "left")], tmp_path / f"{plan}.db", plan=plan)
        assert outcome.state in ("all asked", "reached", "futile")
        assert outcome.progress.answered >= 1


def test_names_of_judges_differ(tmp_path, contents):
    judge = Judge("a", lambda prompt: "left")
    with pytest.raises(JudgeError, match="names that differ"):
        ask_judges(contents, [judge, judge], tmp_path / "l.db")
    with pytest.raises(JudgeError, match="no judges"):
        ask_judges(contents, [], tmp_path / "l.db")
