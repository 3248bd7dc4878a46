"""``jamrank demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.types import SEED
from jamrank.text import in_percent

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.data.comparisons import Comparisons
    from jamrank.models import RankingModel
    from jamrank.typing import IntArray

# Images of each digit, and the crowd: how often each person is wrong, and how many votes each casts.
_OF_EACH = 10
_CROWD = {
    "ann": (0.03, 120),
    "bob": (0.05, 120),
    "cleo": (0.05, 120),
    "dan": (0.07, 120),
    "eve": (0.08, 120),
    "fred": (0.10, 120),
    "gita": (0.10, 120),
    "hugo": (0.15, 120),
    "guesser 1": (0.50, 250),
    "guesser 2": (0.50, 250),
    "misread 1": (0.90, 150),
    "misread 2": (0.92, 150),
    "misread 3": (0.95, 150),
}


@click.command(
    epilog="""\b
Examples:
  jamrank demo
  jamrank demo --seed 3 --out somewhere"""
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed of the images and of the votes.")
@click.option("--out", default="jamrank-demo", show_default=True, metavar="DIR", help="Folder of the results.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def demo(seed: int, out: str, quiet: bool) -> None:
    """Rank 100 images of handwritten digits from the votes of a noisy crowd.

    Thirteen simulated people say which of two images shows the larger digit. Eight look, two guess, and three
    misread the question and name the smaller digit. jamrank sees only the votes; since the truth is known, its
    ranking can be compared with those by Bradley-Terry and by win rates.
    """
    from rich.console import Console

    from jamrank.cli.messages import say

    console = Console(quiet=quiet)
    try:
        import sklearn  # noqa: F401
    except ImportError:
        say(console, "scikit-learn is not installed (pip install 'jamrank[demo]'): the demo has no images.")
        digits, images = _without_images()
    else:
        digits, images = _with_images(seed)
    names = [f"image {place:02d}" for place in range(len(digits))]
    votes = _vote(digits, names, seed)
    say(
        console,
        f"{len(names)} images of handwritten digits. 13 people cast {votes.n_votes:,} votes on which of two shows "
        "the larger digit: 8 look, 2 guess, 3 misread the question and name the smaller one. jamrank does not "
        "know who is who.",
    )
    _compare(console, votes, dict(zip(names, digits.tolist(), strict=True)), images, out)


def _with_images(seed: int) -> tuple[IntArray, list[bytes]]:
    """Return some of scikit-learn's digits, the same number of each, and their images."""
    import numpy as np
    from sklearn.datasets import load_digits

    from jamrank.report.pictures import png_bytes

    known = load_digits()
    rng = np.random.default_rng(seed)
    chosen = np.concatenate(
        [rng.choice(np.flatnonzero(known.target == digit), _OF_EACH, replace=False) for digit in range(10)]
    )
    chosen = rng.permutation(chosen)  # names must not tell
    grey = 255 - np.clip(known.images[chosen] * 16, 0, 255).astype(np.uint8)
    return known.target[chosen].astype(np.int64), [png_bytes(image) for image in grey]


def _without_images() -> tuple[IntArray, list[bytes]]:
    import numpy as np

    return np.random.default_rng(0).permutation(np.repeat(np.arange(10), _OF_EACH)), []


def _vote(digits: IntArray, names: list[str], seed: int) -> Comparisons:
    """Let the crowd vote on random pairs of images of different digits."""
    import numpy as np

    from jamrank.data.comparisons import Comparisons

    rng = np.random.default_rng([seed, 1])
    who = np.repeat(list(_CROWD), [votes for _, votes in _CROWD.values()])
    wrong = np.repeat([flip for flip, _ in _CROWD.values()], [votes for _, votes in _CROWD.values()])
    left, right = rng.integers(len(digits), size=(2, len(who)))
    asked = digits[left] != digits[right]
    left, right, who, wrong = left[asked], right[asked], who[asked], wrong[asked]
    outcome = (digits[left] > digits[right]) ^ (rng.random(len(left)) < wrong)
    shown = np.array(names, dtype=object)
    return Comparisons.from_arrays(shown[left], shown[right], who.tolist(), outcome.astype(np.int64))


def _compare(console: Console, votes: Comparisons, truth: dict[str, int], images: list[bytes], out: str) -> None:
    """Fit jamrank's choice and what others do, print them beside the truth, and write the report."""
    from time import process_time

    from rich.console import Console

    from jamrank.cli.display import print_summary, print_table, stage
    from jamrank.cli.messages import say
    from jamrank.models import BradleyTerry, WinRate
    from jamrank.report import Analysis
    from jamrank.selection import Auto

    begin = process_time()
    with stage(Console(stderr=True), "fitting", console.quiet):
        auto = Auto().fit(votes)
        rivals = {"Bradley–Terry": BradleyTerry().fit(votes), "win rate": WinRate().fit(votes)}
    analysis = Analysis(auto.result_, votes)
    print_summary(console, analysis, process_time() - begin)
    _print_annotators(console, auto, votes, truth)
    rows = [
        [name, in_percent(_share_right(model, truth), 0), _digits_in_order(model, truth)]
        for name, model in {"jamrank": auto, **rivals}.items()
    ]
    rows.append(["the truth", in_percent(1, 0), "".join(sorted(map(str, truth.values()), reverse=True))])
    say(console, "Pairs in the right order, and the digits in the images by rank (every second image)", "bold")
    heads = ["model", "right", "digits, from first to last"]
    print_table(console, "", heads, [[name, share, order[::2]] for name, share, order in rows])
    say(
        console,
        "Bradley–Terry and win rates, which evalica and most leaderboards compute, weight every vote equally. "
        "jamrank estimates who errs from the votes alone.",
    )
    orders = {
        f"{name} (weights every vote equally): {in_percent(_share_right(model, truth), 0)} of pairs in order": _order(
            model
        )
        for name, model in rivals.items()
    }
    _write(console, auto, analysis, dict(zip(truth, images, strict=bool(images))), orders, out)


def _order(model: RankingModel) -> list[str]:
    return [str(item) for item in model.items_[(-model.scores_).argsort(kind="stable")]]


def _digits_in_order(model: RankingModel, truth: dict[str, int]) -> str:
    return "".join(str(truth[item]) for item in _order(model))


def _share_right(model: RankingModel, truth: dict[str, int]) -> float:
    return model.score({item: float(digit) for item, digit in truth.items()}, by="scores")


def _print_annotators(console: Console, model: RankingModel, votes: Comparisons, truth: dict[str, int]) -> None:
    import numpy as np

    from jamrank.cli.display import print_table
    from jamrank.cli.messages import say
    from jamrank.fitting.disagreement import disagreement

    value = np.array([truth[item] for item in votes.items.tolist()])
    opinion = np.sign(value[votes.pair_first] - value[votes.pair_second]).astype(np.float64)
    wrong = disagreement(votes, lambda votes: opinion)
    rows = [
        [str(name), f"{flip:.2f}", f"{share:.2f}"]
        for name, flip, share in zip(votes.annotators.tolist(), model.flip_.tolist(), wrong.tolist(), strict=True)
    ]
    say(console, "Share of wrong votes: estimated by jamrank from the votes alone, and true", "bold")
    print_table(console, "", ["annotator", "estimated", "true"], rows)


def _write(
    console: Console, model: RankingModel, analysis: Any, images: dict[str, bytes], orders: dict[str, Any], out: str
) -> None:
    from pathlib import Path

    from jamrank.cli.messages import say
    from jamrank.cli.results import command_line, earlier_files, result_files
    from jamrank.io import publish_run
    from jamrank.report import describe, versions
    from jamrank.report.pictures import ItemView, ItemViews

    facts = {"Command": command_line(), "Model": repr(model), "Versions": versions()}
    views = ItemViews({name: ItemView(picture=image) for name, image in images.items()}, orders)
    report = describe(analysis, "Ranking from the demo", facts, views=views if images else None)
    publish_run(out, result_files(model, analysis, report), earlier_files())
    say(console, f"Wrote the ranking, annotators, pairs, model and report to {out}.")
    shown = ": it shows the images in the order of each ranking" if images else ""
    say(console, f"Open {Path(out) / 'report.html'} in a browser{shown}.")
