"""``jamrank demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.types import SEED

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.data.comparisons import Comparisons
    from jamrank.models import RankingModel
    from jamrank.report import Analysis

__all__ = ["demo"]


@click.command(
    epilog="""\b
Examples:
  jamrank demo
  jamrank demo --seed 3 --out somewhere"""
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed of what each classifier sees.")
@click.option("--out", default="jamrank-demo", show_default=True, metavar="DIR", help="Folder of the results.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def demo(seed: int, out: str, quiet: bool) -> None:
    """Run a complete example on data that come with the package.

    Five weak classifiers, each of which sees three or four pixels of an image, vote on which of two handwritten
    digits is larger. jamrank ranks the images from these votes; the ranking is compared with the truth.
    """
    from rich.console import Console

    from jamrank.cli.messages import say

    console = Console(quiet=quiet)
    try:
        import sklearn  # noqa: F401
    except ImportError:
        say(console, "scikit-learn is not installed (pip install 'jamrank[demo]'); using simulated votes.")
        votes, features, truth = _simulated(seed)
        story = "Simulated votes on items of known score."
    else:
        votes, features, truth = _digits(seed, quiet)
        story = (
            "1,797 images of handwritten digits are ranked by the digit shown. Five classifiers, each trained on "
            "three or four pixels, voted on every pair of images of different digits: which digit is larger? A "
            "classifier that reads the same digit in both images casts a tie."
        )
    say(console, story)
    model, analysis = _compare(console, votes, features, truth)
    _write(console, model, analysis, out)


def _digits(seed: int, quiet: bool) -> tuple[Comparisons, Any, Any]:
    from rich.console import Console

    from jamrank.cli.display import stage
    from jamrank.paper import digit_votes

    with stage(Console(stderr=True), "training five weak classifiers by 10-fold cross-validation", quiet):
        data = digit_votes(seed)
    return data.votes, data.features, data.digits.astype(float)


def _simulated(seed: int) -> tuple[Comparisons, Any, Any]:
    from jamrank.simulation import simulate

    drawn = simulate(300, 8, 60_000, n_features=6, random_state=seed)
    return drawn.votes, drawn.features, drawn.scores


def _compare(console: Console, votes: Comparisons, features: Any, truth: Any) -> tuple[RankingModel, Analysis]:
    """Fit the four methods of the paper, print the accuracy of each, and return JAM."""
    import warnings
    from time import perf_counter

    from rich.console import Console

    from jamrank.cli.display import print_summary, print_table, stage
    from jamrank.cli.messages import say
    from jamrank.errors import TiesExcludedWarning
    from jamrank.models import IAM, JAM, VRJAM, MajorityVote
    from jamrank.report import Analysis

    rows, fitted = [], {}
    for model in (MajorityVote(), IAM(), JAM(), VRJAM()):
        name = type(model).__name__
        begin = perf_counter()
        with stage(Console(stderr=True), f"fitting {name}", console.quiet), warnings.catch_warnings():
            warnings.simplefilter("ignore", TiesExcludedWarning)  # the introduction mentions the ties
            model.fit(votes, features)
        seconds = perf_counter() - begin
        accuracy, order = model.score(truth), model.score(truth, by="scores")
        rows.append([name, f"{accuracy:.1%}", f"{order:.1%}", f"{seconds:.2f}"])
        fitted[name] = model, seconds
    jam, seconds = fitted["JAM"]
    analysis = Analysis(jam.result_, votes)
    print_summary(console, analysis, seconds)
    _print_ends(console, jam, truth)
    right = _annotator_accuracy(votes, truth)
    listed = [
        [str(name), f"{share:.1%}", f"{flip:.3f}", f"{1 - share:.3f}"]
        for name, share, flip in zip(votes.annotators.tolist(), right, jam.flip_.tolist(), strict=True)
    ]
    say(console, "Decided votes of each annotator that are right, and the flip estimated without the truth", "bold")
    print_table(
        console,
        "",
        ["annotator", "right", "estimated flip", "true flip"],
        listed,
    )
    say(
        console,
        "The intervals above assume independent errors. These annotators err on the same items, so that they confirm "
        "each other's errors, and most flips are estimated too low.",
    )
    print_table(
        console,
        "Accuracy of each method",
        ["model", "pairs right", "order right", "seconds"],
        rows,
    )
    say(
        console,
        "pairs right: voted pairs that the posterior of the method decides correctly (a tie counts half). order "
        "right: pairs of items in the right order in the ranking.",
    )
    return jam, analysis


def _print_ends(console: Console, model: RankingModel, truth: Any) -> None:
    """Print the true values of the first and the last items of the ranking."""
    from jamrank.cli.messages import say

    order = (-model.scores_).argsort(kind="stable")
    for what, items in (("highest", order[:15]), ("lowest", order[-15:])):
        values = "  ".join(f"{truth[item]:.3g}" for item in items)
        say(console, f"True values of the 15 items ranked {what}: {values}")


def _annotator_accuracy(votes: Comparisons, truth: Any) -> list[float]:
    import numpy as np

    from jamrank.fitting.disagreement import disagreement

    opinion = np.sign(truth[votes.pair_first] - truth[votes.pair_second])
    return list((1 - disagreement(votes, lambda votes: opinion)).tolist())


def _write(console: Console, model: RankingModel, analysis: Analysis, out: str) -> None:
    from pathlib import Path

    from jamrank.cli.messages import say
    from jamrank.cli.results import command_line, earlier_files, result_files
    from jamrank.io import publish_run
    from jamrank.report import describe, versions

    facts = {
        "Command": command_line(),
        "Model": repr(model),
        "Intervals": "95 %, assuming independent errors; these are correlated, and most flips are too low",
        "Versions": versions(),
    }
    report = describe(analysis, "Ranking from the demo", facts)
    publish_run(out, result_files(model, analysis, report), earlier_files())
    say(console, f"Wrote the ranking, annotators, pairs, model and report of JAM to {out}.")
    say(console, f"Open {Path(out) / 'report.html'} in a browser.")
