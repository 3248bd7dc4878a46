"""What a run keeps, does again, leaves alone and refuses, with experiments made for it."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

from jamrank.errors import InputError, ParameterError
from jamrank.paper import runner
from jamrank.paper.data import Data
from jamrank.paper.experiments import EXPERIMENTS
from jamrank.paper.figures import canvas
from jamrank.paper.ratings import SimulatedTrial
from jamrank.paper.runner import Report, choose, reproduce
from jamrank.paper.tables import markdown
from jamrank.paper.trials import Measurement, Record


@dataclass
class Tracker:
    """Data that notes which trials ran, and stops one of them on demand."""

    ran: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    stop_at: str | None = None

    def require(self, names: Iterable[str], told: Callable[[str], None]) -> None:
        self.required = list(names)
        for name in self.required:
            told(name)


@dataclass(frozen=True)
class Small:
    name: str
    seed: int
    files: ClassVar[tuple[str, ...]] = ("small.csv",)

    @property
    def cost(self) -> float:
        return 1.5 + self.seed

    def run(self, data: Tracker) -> list[Measurement]:
        this = f"{self.name}{self.seed}"
        if data.stop_at == this:
            raise KeyboardInterrupt
        data.ran.append(this)
        return [Measurement("JAM", "accuracy", "", 90.1 + self.seed)]


@dataclass
class Made:
    """An experiment of the given trials."""

    name: str
    make: Callable[[int], list]
    figures: tuple[str, ...] = ()
    title: str = "Made for a test"

    def trials(self, seeds: int, quick: bool) -> list:
        return [trial for seed in range(seeds) for trial in self.make(seed)]

    def records(self, results) -> list[Record]:
        return [Record(self.name, "none", *m[:3], t.seed, m.value) for t, found in results.items() for m in found]

    def summary(self, records) -> list[tuple[str, str, str]]:
        return [(f"records of {self.name}", str(len(records)), "")]

    def table(self, records) -> str:
        return markdown(["seed", "value"], [[str(record.seed), f"{record.value}"] for record in records])

    def draw(self, records) -> dict:
        return {name: canvas()[0] for name in self.figures}


def own(name: str) -> Made:
    """Return an experiment that shares its trials with no other."""
    return Made(name, lambda seed: [Small(name, seed)])


@pytest.fixture
def offer(monkeypatch) -> Callable[..., None]:
    def replace(*experiments: Made) -> None:
        monkeypatch.setattr(runner, "EXPERIMENTS", {each.name: each for each in experiments})

    replace(own("a"), own("b"))
    return replace


def run(out: Path, *names: str, seeds: int = 1, **more) -> tuple[list[str], Report]:
    data = Tracker()
    report = reproduce(names, data=data, out=out, seeds=seeds, **more)
    return data.ran, report


def kept(out: Path) -> list[Path]:
    return sorted((out / ".trials").iterdir())


def rows(out: Path) -> list[dict]:
    return json.loads((out / "results.json").read_bytes())


# -- what is done, and what is not done again ---------------------------------------------------------------


def test_an_interrupted_run_goes_on_where_it_was(offer, tmp_path):
    data = Tracker(stop_at="a2")
    with pytest.raises(KeyboardInterrupt):
        reproduce(["a"], data=data, out=tmp_path, seeds=4)
    assert data.ran == ["a0", "a1"]
    assert not (tmp_path / "results.json").exists()
    ran, report = run(tmp_path, "a", seeds=4)
    assert ran == ["a2", "a3"]
    assert (report.n_run, report.n_kept) == (2, 2)
    assert report.records == run(tmp_path / "other", "a", seeds=4)[1].records


def test_nothing_is_run_twice(offer, tmp_path):
    assert run(tmp_path, seeds=2)[0] == ["a0", "a1", "b0", "b1"]
    ran, report = run(tmp_path, seeds=2)
    assert ran == []
    assert (report.n_run, report.n_kept) == (0, 4)


def test_more_seeds_run_only_what_is_new(offer, tmp_path):
    run(tmp_path, "a", seeds=2)
    ran, report = run(tmp_path, "a", seeds=3)
    assert ran == ["a2"]
    assert [record.seed for record in report.records] == [0, 1, 2]
    # Fewer again: what was run is still there, and not shown.
    ran, report = run(tmp_path, "a", seeds=1)
    assert ran == []
    assert [row["seed"] for row in rows(tmp_path)] == [0]


def test_equal_trials_of_two_experiments_are_run_once(offer, tmp_path):
    offer(
        Made("a", lambda seed: [Small("shared", seed), Small("a", seed)]), Made("b", lambda s: [Small("shared", s)])
    )
    ran, report = run(tmp_path)
    assert ran == ["shared0", "a0"]
    assert report.n_run == 2
    assert [(record.experiment, record.value) for record in report.records] == [("a", 90.1), ("a", 90.1), ("b", 90.1)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"found": [["JAM", "accuracy", "", 1.0]]}',
        b'{"found": [["JAM", "accuracy", 1.0]], "seconds": 1.0, "peak": 1.0}',
        b'{"found": [["JAM", "accuracy", "", "much"]], "seconds": 1.0, "peak": 1.0}',
        b"\xff\xfe\x00",
    ],
)
def test_damaged_results_are_run_again(offer, tmp_path, content):
    run(tmp_path, "a", seeds=2)
    before = rows(tmp_path)
    kept(tmp_path)[0].write_bytes(content)
    ran, report = run(tmp_path, "a", seeds=2)
    assert len(ran) == report.n_run == 1
    assert rows(tmp_path) == before
    assert run(tmp_path, "a", seeds=2)[0] == []


def test_results_kept_by_other_code_are_not_used(offer, tmp_path, monkeypatch):
    run(tmp_path, "a")
    mine = runner._stamp()
    monkeypatch.setattr(runner, "_stamp", lambda: "another")
    assert run(tmp_path, "a")[0] == ["a0"]
    # Back to the old code, the old results are still good.
    monkeypatch.setattr(runner, "_stamp", lambda: mine)
    assert run(tmp_path, "a")[0] == []


@pytest.mark.long
def test_two_processes_find_what_one_does(offer, tmp_path):
    offer(Made("a", lambda seed: [SimulatedTrial(seed, 0.8, n_simulations=1)]))
    one, two = (reproduce(data=Data(tmp_path), out=tmp_path / f"jobs{jobs}", seeds=3, jobs=jobs) for jobs in (1, 2))
    assert two.records == one.records
    assert {record.seed for record in two.records} == {0, 1, 2}
    assert rows(tmp_path / "jobs2") == rows(tmp_path / "jobs1")


# -- what counts as other code ------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package to change at will, in place of jamrank's own."""
    for name in ("models/jam.py", "kernels/passes.cpp", "paper/wine.py", "paper/tables.py", "paper/runner.py"):
        place = tmp_path / "package" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("old")
    monkeypatch.setattr(runner, "__file__", str(tmp_path / "package" / "paper" / "runner.py"))
    return tmp_path / "package"


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("models/jam.py", True),
        ("kernels/passes.cpp", True),
        ("paper/wine.py", True),
        ("models/new.py", True),
        ("paper/tables.py", False),
        ("paper/experiments/flips.py", False),
        ("cli/fit.py", False),
        ("report/page.py", False),
        ("models/__pycache__/jam.pyc", False),
    ],
)
def test_code_that_measures_makes_kept_results_stale(package, name, matters):
    before = runner._stamp()
    assert runner._stamp() == before
    (package / name).parent.mkdir(parents=True, exist_ok=True)
    (package / name).write_text("new")
    assert (runner._stamp() != before) == matters


def test_other_versions_and_other_data_make_kept_results_stale(monkeypatch):
    before = runner._stamp()
    monkeypatch.setattr(runner, "_versions", lambda: {"numpy": "0"})
    other = runner._stamp()
    monkeypatch.setattr(runner, "SOURCES", {})
    assert len({before, other, runner._stamp()}) == 3


def test_all_that_trials_are_measured_with_is_in_the_stamp():
    measuring = {name.removeprefix("paper/").removesuffix(".py") for name in runner._MEASURING}
    trials = {type(trial) for each in EXPERIMENTS.values() for trial in each.trials(1, quick=False)}
    assert {trial.__module__.removeprefix("jamrank.paper.") for trial in trials} <= measuring
    folder = Path(runner.__file__).parent
    for name in measuring:
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        own = {module.removeprefix("jamrank.paper.") for module in imported if module.startswith("jamrank.paper.")}
        # The frame of a measurement is not what it is measured with.
        assert own <= measuring | {"trials"}, name


# -- what is written, and what is left alone ----------------------------------------------------------------


def test_a_run_writes_what_it_reports(offer, tmp_path):
    offer(Made("a", lambda seed: [Small("a", seed)], figures=("one", "two")))
    report = run(tmp_path, seeds=2)[1]
    assert {path.name for path in tmp_path.iterdir()} == {
        "results.json",
        "results.md",
        "runs.json",
        ".trials",
        *(f"{name}.{kind}" for name in ("one", "two") for kind in ("png", "svg")),
    }
    assert rows(tmp_path) == [record.as_dict() for record in report.records]
    assert report.summary == [("records of a", "2", "")]
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    for part in ("## a: Made for a test", "| records of a | 2 |", "| 0 | 90.1 |", "](one.png)", "](two.png)"):
        assert part in text
    assert "2 seeds (0 to 1)" in text
    about = json.loads((tmp_path / "runs.json").read_bytes())["a"]
    assert (about["seeds"], about["quick"], about["trials"]) == (2, False, 2)
    assert about["versions"]["jamrank"]


def test_a_quick_run_says_so(offer, tmp_path):
    run(tmp_path, "a", quick=True)
    assert "quick" in (tmp_path / "results.md").read_text(encoding="utf-8").split("## a")[1]


def test_results_of_other_experiments_survive(offer, tmp_path):
    run(tmp_path, "b", seeds=2)
    ran, report = run(tmp_path, "a")
    assert ran == ["a0"]
    assert {record.experiment for record in report.records} == {"a"}
    # In the order of the experiments, not of the runs.
    assert [(row["experiment"], row["seed"]) for row in rows(tmp_path)] == [("a", 0), ("b", 0), ("b", 1)]
    assert list(json.loads((tmp_path / "runs.json").read_bytes())) == ["a", "b"]
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert text.index("## a") < text.index("## b")
    assert "2 seeds (0 to 1)" in text.split("## b")[1]


@pytest.mark.parametrize(
    "content",
    [b"precious", b'{"mine": 1}', b'[{"mine": 1}]', b"[1, 2]", b"7", b"\xff"],
)
def test_a_file_that_is_not_ours_is_left_alone(offer, tmp_path, content):
    (tmp_path / "results.json").write_bytes(content)
    with pytest.raises(InputError, match="is not a list of this command's records") as caught:
        run(tmp_path, "a")
    assert str(tmp_path / "results.json") in str(caught.value)
    assert (tmp_path / "results.json").read_bytes() == content
    assert {path.name for path in tmp_path.iterdir()} <= {"results.json", ".trials"}


@pytest.mark.parametrize("content", [b"{}", b'""'])
def test_an_empty_file_that_is_not_ours_is_left_alone(offer, tmp_path, content):
    (tmp_path / "results.json").write_bytes(content)
    with pytest.raises(InputError, match="is not a list of this command's records"):
        run(tmp_path, "a")


def test_a_file_that_is_not_ours_is_told_before_the_work(offer, tmp_path):
    (tmp_path / "results.json").write_text("precious")
    data = Tracker()
    with pytest.raises(InputError):
        reproduce(["a"], data=data, out=tmp_path)
    assert data.ran == []


def test_results_are_the_same_bytes_when_all_was_kept(offer, tmp_path, monkeypatch):
    monkeypatch.setattr(Small, "run", lambda self, data: [Measurement("data", "pairs", "", 20_000)])
    run(tmp_path, "a")
    before = (tmp_path / "results.json").read_bytes()
    run(tmp_path, "a")
    assert (tmp_path / "results.json").read_bytes() == before


def test_a_damaged_list_of_runs_is_written_anew(offer, tmp_path):
    run(tmp_path)
    (tmp_path / "runs.json").write_text("[")
    run(tmp_path, "a")
    assert list(json.loads((tmp_path / "runs.json").read_bytes())) == ["a"]
    assert [row["experiment"] for row in rows(tmp_path)] == ["a", "b"]


# -- what is refused ----------------------------------------------------------------------------------------


def test_unknown_experiments_are_refused_with_those_that_exist(tmp_path):
    with pytest.raises(ParameterError, match="no experiment 'flop'; known are " + ", ".join(EXPERIMENTS)):
        reproduce(["flips", "flop"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"seeds": -1}, {"jobs": 0}])
def test_numbers_below_one_are_refused(tmp_path, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ParameterError, match=f"{name}={value}.* at least 1"):
        reproduce(["loss"], out=tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_experiments_come_once_and_in_the_papers_order():
    assert [each.name for each in choose(["loss", "flips", "loss"])] == ["flips", "loss"]
    assert [each.name for each in choose([])] == list(EXPERIMENTS)


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        ({"matplotlib"}, "matplotlib not installed; run: pip install 'jamrank[paper]'"),
        ({"sklearn", "matplotlib"}, "scikit-learn and matplotlib not installed; run: pip install 'jamrank[paper]'"),
    ],
)
def test_missing_libraries_are_told_before_anything_is_done(offer, tmp_path, monkeypatch, lacking, told):
    monkeypatch.setattr(runner, "_lacks", lambda module: module in lacking)
    with pytest.raises(InputError) as caught:
        run(tmp_path / "out")
    assert str(caught.value) == told
    assert not (tmp_path / "out").exists()


def test_missing_data_stop_the_run_before_it_starts(offer, tmp_path):
    offer(own("a"))
    told: list[float] = []
    with pytest.raises(ParameterError, match=r"small\.csv"):
        reproduce(["a"], data=Data(tmp_path), out=tmp_path / "out", started=told.append)
    assert told == []


def test_missing_data_leave_no_folder_behind(tmp_path):
    with pytest.raises(InputError, match=r"winequality-red\.csv is missing"):
        reproduce(["loss"], data=Data(tmp_path), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- what is told on the way --------------------------------------------------------------------------------


def test_costs_add_up_to_what_was_announced(offer, tmp_path):
    run(tmp_path, "a", seeds=2)
    announced: list[float] = []
    advances: list[tuple[str, float]] = []
    fetched: list[str] = []
    run(
        tmp_path,
        seeds=3,
        started=announced.append,
        advanced=lambda done, cost: advances.append((done, cost)),
        fetching=fetched.append,
    )
    assert announced == [pytest.approx(sum(cost for _, cost in advances))]
    # Kept trials cost nothing: the third seed of a, and all of b.
    assert sum(cost for _, cost in advances) == pytest.approx(3.5 + 1.5 + 2.5 + 3.5)
    assert [done for done, _ in advances] == [f"{number} of 4 trials" for number in range(1, 5)]
    assert fetched == ["small.csv"]


def test_files_are_required_once_each_before_the_work(offer, tmp_path):
    data = Tracker(stop_at="a0")
    with pytest.raises(KeyboardInterrupt):
        reproduce(data=data, out=tmp_path, seeds=2)
    assert data.required == ["small.csv"]
    assert data.ran == []
