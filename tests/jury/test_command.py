"""``jamrank jury`` as a user starts it: runs, kills, budgets, messages."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from jamrank.cli import main
from jamrank.collect import open_ledger
from jamrank.jury.simulated import Faults, SimulatedJudge, SimulatedServer, marked

KEY = "sk-planted-4711-abcdef"
JUDGES = [SimulatedJudge("one", scale=3.0, seed=1), SimulatedJudge("two", scale=1.0, left_bias=0.5, seed=2)]


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments, folder, **environment) -> Done:
    """Run the command in this process."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(main, ["jury", *map(str, arguments)], env=environment)
    return Done(done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.jsonl"
    rows = [
        {"question": f"What is {q}?", "system": f"s{k}", "text": marked("word " * (3 + k + q), 0.8 * k)}
        for q in range(5)
        for k in range(4)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def write_judges(server, folder, key_env=None):
    text = server.toml()
    if key_env is not None:
        text = text.replace("max_tokens", f'key_env = "{key_env}"\nmax_tokens')
    (folder / "judges.toml").write_text(text)


def test_two_commands_from_a_file_to_a_leaderboard(tmp_path, answers):
    asked = command(
        "answers.jsonl", "--simulate", "--calls", "30", "--latency", "0", "--out", "results", folder=tmp_path
    )
    assert asked.returncode == 0, asked.stderr
    assert "30 requests" in asked.stderr
    assert "LLM judges" in (tmp_path / "results" / "report.html").read_text()
    assert (tmp_path / "results" / "jury.csv").read_text().startswith("judge,votes,ties,refused,")
    audited = command("--audit", "jury.db", folder=tmp_path)
    assert audited.returncode == 0, audited.stderr
    assert "careful" in audited.stdout and "bits per vote" in audited.stdout
    as_json = command("--audit", "jury.db", "--json", folder=tmp_path)
    assert {row["judge"] for row in json.loads(as_json.stdout)} <= {"careful", "hasty"}


def test_no_key_is_anywhere(tmp_path, answers):
    with SimulatedServer(JUDGES, key=KEY, faults=Faults(error=0.1)) as server:
        write_judges(server, tmp_path, "PLANTED_KEY")
        done = command("answers.jsonl", "--calls", "25", "--out", "results", folder=tmp_path, PLANTED_KEY=KEY)
        assert done.returncode == 0, done.stderr
        # A wrong key, which the service repeats in its answer.
        wrong = command("answers.jsonl", "--calls", "40", "--ledger", "b.db", folder=tmp_path, PLANTED_KEY=KEY + "x")
        assert wrong.returncode == 2
        assert "HTTP 401" in wrong.stderr
        logged = subprocess.run(
            [
                sys.executable,
                "-c",
                "import logging, sys; logging.basicConfig(level=logging.DEBUG)\n"
                "from jamrank.jury import ask_judges, read_judges\n"
                "ask_judges('answers.jsonl', read_judges('judges.toml'), 'c.db', calls=5)",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PLANTED_KEY": KEY},
        )
        assert logged.returncode == 0, logged.stderr
    said = "".join(run.stdout + run.stderr for run in (done, wrong, logged))
    assert KEY not in said
    assert "DEBUG" in logged.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "report.html" for path in files) and any(path.name == "c.db" for path in files)
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path


def test_an_estimate_and_a_prompt_send_nothing(tmp_path, answers):
    with SimulatedServer(JUDGES) as server:
        write_judges(server, tmp_path)
        estimated = command("answers.jsonl", "--dry-run", folder=tmp_path)
        shown = command("answers.jsonl", "--judge", "two", "--show-prompt", folder=tmp_path)
        assert server.requests == 0
    assert estimated.returncode == shown.returncode == 0
    assert "30 calls" in estimated.stdout and "60 calls" in estimated.stdout
    assert "BEGIN LEFT ANSWER" in shown.stdout
    assert not (tmp_path / "jury.db").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no ITEMS; give a file of answers"),
        (["answers.jsonl"], "judges.toml: the file does not exist"),
        (["none.jsonl", "--simulate"], "none.jsonl: the file does not exist"),
        (["answers.jsonl", "--simulate"], "give --budget or --calls"),
        (["--audit", "none.db"], "none.db: the file does not exist"),
        (["answers.jsonl", "--simulate", "--calls", "5", "--ledger", "answers.jsonl"], "file is not a database"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path, answers, arguments, said):
    done = command(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("jamrank: ") and said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_server_that_always_fails_leaves_nothing_half_written(tmp_path, answers):
    with SimulatedServer(JUDGES, faults=Faults(cut=1)) as server:
        write_judges(server, tmp_path)
        done = command("answers.jsonl", "--calls", "500", "--out", "results", folder=tmp_path)
    assert done.returncode == 2
    assert "every judge failed: one: the connection broke" in done.stderr
    assert not (tmp_path / "results").exists()
    with open_ledger(tmp_path / "jury.db", create=False) as ledger:
        assert ledger.leases() == []


def kill_at_random_moments(tmp_path, where: str, n_kills: int, calls_apart: int) -> None:
    """Kill a run again and again, and compare what remains with an undisturbed one."""
    quiet = ["--plan", "random", "--seed", "7", "--calls", "100000", "--quiet"]
    faults = Faults(0.0125, 0.0125, 0.0125, 0.0125, 0.01)
    with SimulatedServer(JUDGES, latency=0.02, faults=faults) as server:
        write_judges(server, tmp_path)
        assert command("answers.jsonl", *quiet, "--ledger", "calm.db", folder=tmp_path).returncode == 0
    with SimulatedServer(JUDGES, latency=0.02, faults=faults) as server:
        write_judges(server, tmp_path)
        run = [sys.executable, "-m", "jamrank", "jury", "answers.jsonl", *quiet, "--ledger", where]
        for _ in range(n_kills):
            running = subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            before, until = server.requests, time.monotonic() + 120
            while server.requests < before + calls_apart and running.poll() is None and time.monotonic() < until:
                time.sleep(0.002)
            running.send_signal(signal.SIGKILL)
            running.wait(timeout=60)
        assert command(*run[4:], folder=tmp_path).returncode == 0
    with open_ledger(tmp_path / "calm.db") as calm, open_ledger(where) as killed:
        columns = ["annotator", "left", "right", "question", "winner"]
        assert set(killed.votes().select(columns).rows()) == set(calm.votes().select(columns).rows())
        assert killed.votes().height == calm.votes().height
        events = list(killed.events())
        assert [event.id for event in events] == list(range(1, len(events) + 1))
        lost = [event for event in events if event.kind == "expired"]
        replies = [event for event in events if event.kind in ("answered", "refused", "unparsable")]
        asked = [event for event in events if event.kind == "asked"]
        failed = [event for event in events if event.kind == "failed"]
        # Every request has an end; those without a reply were in flight at a kill, and are counted at their worst.
        assert len(asked) == len(replies) + len(failed) + len(lost)
        assert {event.refers for event in (*replies, *failed, *lost)} == {event.id for event in asked}
        assert len({event.details["request"] for event in asked}) == len(replies)
        reserved = {event.id: event.details["reserved"] for event in asked}
        assert all(event.cost == reserved[event.refers] for event in lost)
        assert sum(one.spent for one in killed.spending()) == pytest.approx(
            sum(event.cost for event in (*replies, *failed, *lost))
        )
        # The server sent no reply again but for what was in flight at a kill.
        again = sum(count - 1 for count in server.replies.values())
        assert again <= len(lost) <= 2 * (8 + 2) * n_kills  # two judges, eight at once and two recorded ahead


@pytest.mark.long
def test_after_two_kills_nothing_is_lost_or_asked_again(tmp_path, answers):
    kill_at_random_moments(tmp_path, str(tmp_path / "killed.db"), 2, 9)


@pytest.mark.long
def test_after_twenty_kills_nothing_is_lost_or_asked_again(tmp_path, ledger_url):
    path = tmp_path / "answers.jsonl"
    rows = [
        {"question": f"What is {q}?", "system": f"s{k}", "text": marked("word " * (3 + k + q), 0.5 * k)}
        for q in range(20)
        for k in range(6)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    kill_at_random_moments(tmp_path, ledger_url, 20, 23)


def test_an_interrupted_run_goes_on(tmp_path, answers):
    with SimulatedServer(JUDGES, latency=0.05) as server:
        write_judges(server, tmp_path)
        run = [sys.executable, "-m", "jamrank", "jury", "answers.jsonl", "--plan", "random", "--calls", "1000", "-q"]
        process = subprocess.Popen(run, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        while server.requests < 20 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "every reply so far is in jury.db" in said
        assert "Traceback" not in said
        assert command(*run[4:], folder=tmp_path).returncode == 0
    with open_ledger(tmp_path / "jury.db") as ledger:
        assert ledger.votes().height == 60


def test_the_server_serves_until_interrupted(tmp_path, answers):
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "jamrank", "jury", "--simulate", "--latency", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        text = ""
        while "[judges.hasty]" not in text or "family" not in text:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        (tmp_path / "judges.toml").write_text(text)
        done = command("answers.jsonl", "--judge", "hasty", "--calls", "8", "--quiet", folder=tmp_path)
        assert done.returncode == 0, done.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


def test_the_example_is_what_its_script_writes(tmp_path, monkeypatch):
    examples = Path(__file__).parents[2] / "examples"
    if not examples.exists():
        pytest.skip("the examples are not beside the tests")
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("make_answers", examples / "make_answers.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "make_answers.py"))
    module.main()
    assert (tmp_path / "answers.jsonl").read_bytes() == (examples / "answers.jsonl").read_bytes()
