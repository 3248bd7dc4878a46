from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

import polars as pl
from sqlalchemy import Column, Integer, Table, insert, inspect, text
from sqlalchemy.exc import DBAPIError

import jamrank as jr
from jamrank.collect import Annotator, Ask, Close, Event, Item, Limit, Undo, open_ledger, schema
from jamrank.collect.database import writing
from jamrank.collect.source import votes_of, with_grades
from jamrank.errors import BudgetError, InputError, LedgerError


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(ledger_url, clock):
    with open_ledger(ledger_url, clock=clock) as ledger:
        yield ledger


def test_a_vote_keeps_its_order_its_time_and_how_its_pair_was_chosen(ledger, clock):
    lease = ledger.lease("ann", "x", "y", "q1", strategy="information", probability=0.25, seconds=60)
    clock.now += 5
    ledger.answer(lease.id, "left", strength=0.5, raw="I prefer x", seconds=4.5)
    (vote,) = ledger.votes().to_dicts()
    assert (vote["annotator"], vote["left"], vote["right"], vote["winner"]) == ("ann", "x", "y", "left")
    assert (vote["question"], vote["time"], vote["order"], vote["weight"]) == ("q1", 1005.0, 2, 1.0)
    assert (vote["chosen_by"], vote["chosen_probability"], vote["strength"]) == ("information", 0.25, 0.5)
    assert [event.raw for event in ledger.events()] == [None, "I prefer x"]


def test_a_write_repeated_with_its_key_is_one_write(ledger):
    first = ledger.lease("ann", "x", "y", key="show-1")
    again = ledger.lease("ann", "x", "y", key="show-1")
    assert first.id == again.id
    vote = ledger.answer(first.id, "left", key="click-1")
    assert ledger.answer(first.id, "left", key="click-1") == vote
    assert ledger.votes().height == 1


def test_a_lease_has_one_answer(ledger):
    lease = ledger.lease("ann", "x", "y")
    ledger.answer(lease.id, "left", key="one")
    with pytest.raises(LedgerError, match=f"lease {lease.id} is answered already"):
        ledger.answer(lease.id, "right", key="two")


def test_skipped_refused_unparsable_failed_and_tied_are_five_things(ledger):
    leases = [ledger.lease("m", "x", "y") for _ in range(5)]
    ledger.skip(leases[0].id)
    for lease, kind in zip(leases[1:4], ("refused", "unparsable", "failed"), strict=True):
        ledger.end(lease.id, kind)
    ledger.answer(leases[4].id, "tie")
    kinds = [event.kind for event in ledger.events() if event.refers]
    assert kinds == ["skipped", "refused", "unparsable", "failed", "answered"]
    assert ledger.votes()["winner"].to_list() == ["tie"]
    assert ledger.leases() == []


def test_an_undone_vote_stays_in_the_ledger_and_counts_no_more(ledger):
    events = [ledger.answer(ledger.lease("ann", "x", "y").id, outcome) for outcome in ("left", "right")]
    assert ledger.last_of("ann") == events[1]
    ledger.undo(events[1].id)
    assert ledger.votes()["winner"].to_list() == ["left"]
    assert ledger.last_of("ann") == events[0]
    assert ledger.undo(events[1].id).kind == "undone"  # a double click
    with pytest.raises(LedgerError, match="undone already"):
        ledger.undo(events[1].id, key="another")
    assert [event.kind for event in ledger.events()].count("answered") == 2
    assert ledger.spending()[0].answered == 1


def test_leases_expire_and_a_late_answer_still_counts(ledger, clock):
    lease = ledger.lease("ann", "x", "y", seconds=60)
    assert [one.id for one in ledger.leases("ann", expired=False)] == [lease.id]
    clock.now += 61
    assert ledger.leases(expired=False) == []
    assert [event.kind for event in ledger.expire()] == ["expired"]
    assert ledger.leases() == []
    ledger.answer(lease.id, "right")
    assert ledger.votes()["winner"].to_list() == ["right"]


def test_a_budget_of_calls_is_never_exceeded(ledger):
    limit = Limit(calls=2)
    results = ledger.record([Ask("m", "x", "y", f"k{i}") for i in range(3)], limit)
    assert [isinstance(result, Event) for result in results] == [True, True, False]
    assert isinstance(results[2], BudgetError)
    assert ledger.spending()[0].asked == 2


def test_what_is_reserved_counts_until_the_cost_is_known(ledger):
    limit = Limit(money=1.0)
    first = ledger.lease("m", "x", "y", reserve=0.6, limit=limit)
    with pytest.raises(BudgetError, match=r"has 0\.4 left, and the next request may cost 0\.6"):
        ledger.lease("m", "y", "x", reserve=0.6, limit=limit)
    ledger.answer(first.id, "left", cost=0.1)
    second = ledger.lease("m", "y", "x", reserve=0.9, limit=limit)
    (spent,) = ledger.spending()
    assert (spent.spent, spent.reserved, spent.asked, spent.answered) == (0.1, 0.9, 2, 1)
    ledger.end(second.id, "failed")  # what it cost is not known: all of it
    assert ledger.spending()[0].spent == pytest.approx(1.0)
    with pytest.raises(BudgetError):
        ledger.lease("m", "x", "z", reserve=0.01, limit=limit)


def test_a_lease_given_up_counts_as_paid_and_a_late_answer_corrects_it(ledger):
    lease = ledger.lease("m", "x", "y", reserve=0.5)
    ledger.expire([lease])
    assert ledger.spending()[0].spent == 0.5
    ledger.answer(lease.id, "left", cost=0.2)
    assert ledger.spending()[0].spent == pytest.approx(0.2)


def test_an_operation_that_fails_leaves_the_others_of_its_batch(ledger):
    asked = ledger.lease("m", "x", "y")
    results = ledger.record(
        [
            Close(asked.id, "answered", "a", "left"),
            Close(asked.id, "answered", "b", "right"),
            Close(999, "answered", "c", "left"),
            Ask("m", "x", "x", "d"),
            Undo(asked.id, "e"),
        ]
    )
    assert [str(r) if isinstance(r, LedgerError) else r.kind for r in results] == [
        "answered",
        f"lease {asked.id} is answered already",
        "no lease 999 in this ledger",
        "'x' is compared with itself; left and right must be different items",
        f"event {asked.id} is not an answer that can be undone",
    ]


@pytest.mark.parametrize(
    ("close", "problem"),
    [
        (Close(1, "lost", "k"), "a lease cannot be 'lost'"),
        (Close(1, "answered", "k"), "outcome None with 'answered'"),
        (Close(1, "failed", "k", "left"), "outcome 'left' with 'failed'"),
        (Close(1, "answered", "k", "first"), "the outcome is 'first'"),
        (Close(1, "answered", "k", "left", strength=2.0), "the strength is 2"),
        (Close(1, "answered", "k", "left", cost=float("nan")), "the cost is nan"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, close, problem):
    with open_ledger(tmp_path / "l.db") as ledger:
        ledger.lease("m", "x", "y")
        (error,) = ledger.record([close])
        assert isinstance(error, LedgerError)
        assert problem in str(error)
        assert len(list(ledger.events())) == 1


def test_events_cannot_be_changed_or_deleted(ledger):
    ledger.answer(ledger.lease("ann", "x", "y").id, "left")
    for statement in ("UPDATE events SET outcome = 'right'", "DELETE FROM events"):
        with pytest.raises((LedgerError, DBAPIError), match="append-only"), writing(ledger._engine) as connection:
            connection.execute(text(statement))


def test_items_keep_their_order_and_can_be_replaced_and_retired(ledger):
    ledger.add_items([Item("b", "q", text="beta"), Item("a", "q", text="alpha", details={"length": 5})])
    ledger.add_items([Item("b", "q", text="Beta"), Item("c", path="c.png", media="image/png")])
    ledger.retire_item("a")
    assert [(item.id, item.text, item.retired) for item in ledger.items()] == [
        ("b", "Beta", False),
        ("a", "alpha", True),
        ("c", None, False),
    ]
    assert ledger.items()[1].details == {"length": 5}
    with pytest.raises(LedgerError, match="no item 'z'"):
        ledger.retire_item("z")


def test_people_can_be_forgotten_while_their_votes_stay(ledger):
    ledger.add_annotator(Annotator("p1", name="Ann Example"), token="secret-token")
    assert ledger.annotator_with("secret-token").name == "Ann Example"
    assert ledger.annotator_with("another") is None
    ledger.answer(ledger.lease("p1", "x", "y").id, "left")
    ledger.forget("p1")
    assert ledger.annotator_with("secret-token") is None
    assert [one.name for one in ledger.annotators()] == [None]
    assert ledger.votes()["annotator"].to_list() == ["p1"]


def test_a_revoked_token_is_not_accepted(ledger):
    ledger.add_annotator(Annotator("p1"), token="t1")
    ledger.add_annotator(Annotator("p1", name="Ann"))  # keeps the token
    assert ledger.annotator_with("t1").name == "Ann"
    ledger.revoke("p1")
    assert ledger.annotator_with("t1") is None
    with pytest.raises(LedgerError, match="no annotator 'p2'"):
        ledger.revoke("p2")


def test_settings_stay_with_the_ledger(ledger):
    assert ledger.setting("plan") is None
    ledger.set_setting("plan", {"seed": 1})
    ledger.set_setting("plan", {"seed": 2})
    assert ledger.setting("plan") == {"seed": 2}


def test_a_ledger_that_is_opened_again_has_everything(ledger_url):
    with open_ledger(ledger_url) as ledger:
        ledger.answer(ledger.lease("ann", "x", "y").id, "left")
    with open_ledger(ledger_url) as ledger:
        assert ledger.votes().height == 1
        assert ledger.lease("ann", "x", "y").id == 3


def test_many_writers_lose_nothing_and_a_reader_by_id_misses_nothing(ledger_url):
    with open_ledger(ledger_url) as ledger:
        seen: list[int] = []
        done = threading.Event()
        errors: list[Exception] = []

        def write(who: str) -> None:
            try:
                for _ in range(15):
                    ledger.answer(ledger.lease(who, "x", "y").id, "left")
            except Exception as error:
                errors.append(error)

        def read() -> None:
            while True:
                last = done.is_set()
                seen.extend(event.id for event in ledger.events(after=seen[-1] if seen else 0))
                if last:
                    return

        reader = threading.Thread(target=read)
        writers = [threading.Thread(target=write, args=(f"w{k}",)) for k in range(4)]
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        reader.join()
        assert errors == []
        assert seen == list(range(1, 4 * 15 * 2 + 1))
        assert ledger.votes().height == 60


def test_only_one_process_does_a_kind_of_work(ledger_url):
    script = (
        "import sys; from jamrank.collect import open_ledger\n"
        "with open_ledger(sys.argv[1]) as ledger, ledger.exclusive('jury'): print('in', flush=True); sys.stdin.read()"
    )
    with open_ledger(ledger_url) as ledger:
        process = subprocess.Popen(
            [sys.executable, "-c", script, ledger_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout.readline() == "in\n"
            with pytest.raises(LedgerError, match="another jury is using"), ledger.exclusive("jury"):
                pass
        finally:
            process.kill()
            process.communicate(timeout=60)
        with ledger.exclusive("jury"):
            pass


def test_a_backup_is_a_ledger_of_its_own(ledger, tmp_path):
    ledger.add_annotator(Annotator("p1"), token="t")
    ledger.set_setting("plan", 7)
    ledger.answer(ledger.lease("p1", "x", "y").id, "left")
    ledger.lease("p1", "x", "z", reserve=0.3)
    ledger.backup(tmp_path / "copy.db")
    with open_ledger(tmp_path / "copy.db", create=False) as copy:
        assert list(copy.events()) == list(ledger.events())
        assert copy.leases() == ledger.leases()
        assert copy.spending() == ledger.spending()
        assert (copy.setting("plan"), copy.annotator_with("t").id) == (7, "p1")
    with pytest.raises(LedgerError, match="the file exists"):
        ledger.backup(tmp_path / "copy.db")
    assert not list(tmp_path.glob(".jamrank*"))


def test_an_older_ledger_is_brought_up_to_date_and_a_newer_one_refused(ledger):
    rooms = Table("rooms", schema.MetaData(), Column("id", Integer, primary_key=True))

    def add_rooms(connection):
        rooms.create(connection)
        connection.execute(insert(rooms), {"id": 1})

    ledger.answer(ledger.lease("ann", "x", "y").id, "left")
    for _ in range(2):  # the second time there is nothing to do
        with writing(ledger._engine) as connection:
            schema.prepare(connection, [*schema.MIGRATIONS, add_rooms])
            assert "rooms" in inspect(connection).get_table_names()
    assert ledger.votes().height == 1
    with pytest.raises(LedgerError, match="written by a newer jamrank"), writing(ledger._engine) as connection:
        schema.prepare(connection)


def test_sqlite_files_are_private_and_durable(tmp_path):
    with open_ledger(tmp_path / "l.db") as ledger:
        ledger.lease("ann", "x", "y")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {0o600}
        with writing(ledger._engine) as connection:
            assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
            assert connection.scalar(text("PRAGMA synchronous")) == 2


def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(LedgerError, match=r"other\.db: this database is not a ledger of jamrank"):
        open_ledger(other)
    (tmp_path / "text.db").write_text("hello, this is not a database" * 100)
    with pytest.raises(LedgerError, match=r"text\.db: the database answers: file is not a database"):
        open_ledger(tmp_path / "text.db")
    with pytest.raises(LedgerError, match="does not exist"):
        open_ledger(tmp_path / "none.db", create=False)
    with pytest.raises(LedgerError, match="the folder does not exist"):
        open_ledger(tmp_path / "none" / "l.db")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".db") == ["other.db", "text.db"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cr%40t@127.0.0.1:1/nowhere",
        "postgresql://ann@127.0.0.1:1/nowhere?password=s3cr%40t",
        "postgresql://ann:s3cr@t@127.0.0.1:1/nowhere",
    ],
)
def test_passwords_are_never_shown(url):
    with pytest.raises(LedgerError) as caught:
        open_ledger(url)
    with pytest.raises((LedgerError, InputError)) as read:
        jr.read_comparisons(url)
    for error in (caught.value, read.value):
        assert "s3cr" not in str(error)
        assert "127.0.0.1" in str(error)
        assert error.__suppress_context__


def test_every_reader_of_votes_reads_a_ledger(ledger_url):
    with open_ledger(ledger_url) as ledger:
        for who, outcome in (("ann", "left"), ("bob", "right"), ("ann", "tie")):
            ledger.answer(ledger.lease(who, "x", "y", "q").id, outcome)
        practice = ledger.lease("ann", "x", "z", purpose="practice")
        ledger.answer(practice.id, "left")
    votes = jr.read_comparisons(ledger_url)
    assert (votes.n_votes, votes.n_ties, list(votes.items), list(votes.annotators)) == (
        3,
        1,
        ["x", "y"],
        ["ann", "bob"],
    )
    assert list(votes.questions) == ["q"]


def test_a_ledger_without_votes_says_so(tmp_path):
    open_ledger(tmp_path / "l.db").close()
    with pytest.raises(InputError, match=r"l\.db: the ledger has no votes yet"):
        jr.read_comparisons(tmp_path / "l.db")


def test_strengths_are_grades(tmp_path):
    with open_ledger(tmp_path / "l.db") as ledger:
        for number, (outcome, strength) in enumerate(
            [("left", 0.0), ("right", 1.0), ("left", 0.5), ("tie", 0.5), ("left", None)]
        ):
            ledger.answer(ledger.lease("ann", f"x{number}", "y").id, outcome, strength=strength)
    frame = votes_of(tmp_path / "l.db")
    assert frame["grade"].to_list() == [1, 3, 2, 0, 0]
    assert jr.read_comparisons(tmp_path / "l.db").n_grades == 3
    assert "grade" not in with_grades(frame.drop("grade").with_columns(strength=0.5)).columns
    many = pl.DataFrame({"winner": ["left"] * 300, "strength": [k / 300 for k in range(300)]})
    assert with_grades(many)["grade"].value_counts().sort("grade").rows() == [(1, 100), (2, 100), (3, 100)]


@pytest.mark.long
def test_the_command_line_fits_and_exports_a_ledger(tmp_path):
    path = Path(tmp_path / "l.db")
    with open_ledger(path) as ledger:
        for who in ("ann", "bob", "cy"):
            for left, right in (("x", "y"), ("y", "z"), ("x", "z")):
                ledger.answer(ledger.lease(who, left, right, strategy="random", probability=0.5).id, "left")
    run = [sys.executable, "-m", "jamrank"]
    fitted = subprocess.run(
        [*run, "fit", str(path), "--model", "bt", "--json"], capture_output=True, text=True, timeout=120
    )
    assert fitted.returncode == 0, fitted.stderr
    out = tmp_path / "out"
    written = subprocess.run(
        [*run, "export", str(path), "--to", "csv,parquet", "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert written.returncode == 0, written.stderr
    assert (out / "votes.csv").read_text().startswith("annotator,left,right,winner,weight,time,order,chosen_by,")
    assert jr.read_comparisons(out / "votes.csv").n_votes == 9
    assert jr.read_comparisons(out / "votes.parquet").n_votes == 9
