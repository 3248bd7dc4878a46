"""``jamrank demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from jamrank.data.comparisons import Comparisons
    from jamrank.models import RankingModel

__all__ = ["demo"]


@click.command(
    epilog="""\b
Examples:
  jamrank demo
  jamrank demo --seed 3 --out somewhere"""
)
@click.option("--seed", default=0, show_default=True, help="Of the features that each classifier sees.")
@click.option("--out", default="jamrank-demo", show_default=True, metavar="DIR", help="Where the results go.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def demo(seed: int, out: str, quiet: bool) -> None:
    """Do the whole job on data that comes with the install.

    Five weak classifiers, each of which sees three or four pixels of an image, say which of two handwritten digits
    is the larger. jamrank ranks the images from these votes and is compared with the truth.
    """
    from rich.console import Console

    console = Console(quiet=quiet)
    try:
        import sklearn  # noqa: F401
    except ImportError:
        console.print("scikit-learn is not installed (pip install 'jamrank[demo]'): simulated votes instead.")
        votes, features, truth = _simulated(seed)
        story = "Simulated votes on items of known score."
    else:
        votes, features, truth = _digits(seed, quiet)
        story = (
            "1,797 handwritten digits are ranked by the value drawn. Five classifiers, each trained on three or four "
            "pixels only, voted on every pair of images of different digits: which is the larger? A classifier that "
            "reads the same digit twice casts a tie."
        )
    console.print(story, highlight=False)
    model = _compare(console, votes, features, truth)
    _write(console, model, votes, out)


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


def _compare(console: Console, votes: Comparisons, features: Any, truth: Any) -> RankingModel:
    """Fit the paper's four methods, print how close each comes to the truth, and return JAM."""
    import warnings
    from time import perf_counter

    from rich.console import Console

    from jamrank.cli.display import print_summary, print_table, stage
    from jamrank.errors import TiesExcludedWarning
    from jamrank.models import IAM, JAM, VRJAM, MajorityVote

    rows, fitted = [], {}
    for model in (MajorityVote(), IAM(), JAM(), VRJAM()):
        name = type(model).__name__
        begin = perf_counter()
        with stage(Console(stderr=True), f"fitting {name}", console.quiet), warnings.catch_warnings():
            warnings.simplefilter("ignore", TiesExcludedWarning)  # the story tells of the ties
            model.fit(votes, features)
        seconds = perf_counter() - begin
        accuracy, order = model.score(truth), model.score(truth, by="scores")
        rows.append([name, f"{accuracy:.1%}", f"{order:.1%}", f"{seconds:.2f}"])
        fitted[name] = model, seconds
    jam, seconds = fitted["JAM"]
    print_summary(console, jam, votes, seconds)
    _print_ends(console, jam, truth)
    right = _annotator_accuracy(votes, truth)
    listed = [
        [str(name), f"{share:.1%}", f"{flip:.3f}", f"{1 - share:.3f}"]
        for name, share, flip in zip(votes.annotators.tolist(), right, jam.flip_.tolist(), strict=True)
    ]
    console.print(
        "Each annotator: decided votes that are right, and the flip that JAM found without the truth", style="bold"
    )
    print_table(
        console,
        "",
        ["annotator", "right", "flip found", "true flip"],
        listed,
    )
    console.print(
        "The intervals above hold for annotators who err independently. Where several err on the same items, as "
        "these do, they vouch for each other and most flips come out too low.",
        highlight=False,
    )
    print_table(
        console,
        "How close each method comes to the truth",
        ["method", "pairs right", "order right", "seconds"],
        rows,
    )
    console.print(
        "pairs right: pairs on whose true side the method's posterior is (a tie counts half). order right: pairs "
        "that the ranking of the single items puts in the right order.",
        highlight=False,
    )
    return jam


def _print_ends(console: Console, model: RankingModel, truth: Any) -> None:
    """Print the true values of the items at both ends of the ranking."""
    order = (-model.scores_).argsort(kind="stable")
    for what, items in (("highest", order[:15]), ("lowest", order[-15:])):
        values = "  ".join(f"{truth[item]:.3g}" for item in items)
        console.print(f"True values of the 15 items ranked {what}: {values}", highlight=False)


def _annotator_accuracy(votes: Comparisons, truth: Any) -> list[float]:
    import numpy as np

    from jamrank.fitting.disagreement import disagreement

    opinion = np.sign(truth[votes.pair_first] - truth[votes.pair_second])
    return list((1 - disagreement(votes, lambda votes: opinion)).tolist())


def _write(console: Console, model: RankingModel, votes: Comparisons, out: str) -> None:
    from pathlib import Path

    from jamrank.cli.results import command_line, fitted_files
    from jamrank.io import ensure_folder, write_together
    from jamrank.report import versions

    facts = {
        "Command": command_line(),
        "Model": repr(model),
        "Intervals": "95 %, for annotators who err independently; these do not, and most flips come out too low",
        "Versions": versions(),
    }
    write_together(ensure_folder(out), fitted_files(model, votes, "the demo", facts))
    console.print(f"Wrote the ranking, annotators, pairs, model and report of JAM to {out}.", highlight=False)
    console.print(f"Open {Path(out) / 'report.html'} in a browser.", highlight=False)
