"""``jamrank simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jamrank.cli.types import FINITE, SEED
from jamrank.errors import InputError

if TYPE_CHECKING:
    from jamrank.simulation import Simulation


@click.command(
    epilog="""\b
Examples:
  jamrank simulate
  jamrank simulate --items 200 --annotators 50 --votes 20000 --seed 1 --out study/votes.csv
  jamrank simulate --flips 0.05,0.1,0.3,0.8 --features 5

Exit code 0 if done, 2 if a file exists already or an option is invalid."""
)
@click.option("--items", default=50, show_default=True, help="Number of items.")
@click.option("--annotators", default=10, show_default=True, help="Number of annotators.")
@click.option("--votes", default=5000, show_default=True, help="Number of votes.")
@click.option("--flips", help="Flip of each annotator, comma-separated; sets the number of annotators.")
@click.option("--features", default=0, show_default=True, help="Number of features that explain the scores.")
@click.option(
    "--scorer",
    type=click.Choice(["objects", "linear", "linear+objects", "kernel", "kernel+objects"]),
    help="How scores are generated.  [default: linear+objects with features, objects without]",
)
@click.option("--ties", type=FINITE, default=0.0, show_default=True, help="Share of votes that are ties.")
@click.option(
    "--truth",
    type=click.Choice(["pair", "vote"]),
    default="pair",
    show_default=True,
    help="One latent truth for each pair (JAM) or for each vote (CrowdBT).",
)
@click.option(
    "--noise",
    type=click.Choice(["flip", "two-coin", "discrimination", "none"]),
    default="flip",
    show_default=True,
    help="Error model of the annotators.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="The same seed gives the same votes.")
@click.option(
    "--out", default="votes.csv", show_default=True, metavar="FILE", help="File of the votes: CSV or Parquet."
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def simulate(
    items: int,
    annotators: int,
    votes: int,
    flips: str | None,
    features: int,
    scorer: str | None,
    ties: float,
    truth: str,
    noise: str,
    seed: int,
    out: str,
    force: bool,
    quiet: bool,
) -> None:
    """Write simulated votes and their truth to files.

    Besides votes.csv, these are votes-items.csv (true scores), votes-annotators.csv (true flips and other parameters
    of the error model) and, with --features, votes-features.csv.
    """
    from pathlib import Path

    from rich.console import Console

    from jamrank import simulation
    from jamrank.cli.messages import say
    from jamrank.io import ensure_folder, write_together

    rates = None if flips is None else _parse_flips(flips)
    drawn = simulation.simulate(
        items,
        annotators if rates is None else len(rates),
        votes,
        flips=rates,
        n_features=features,
        scorer=scorer,
        tie_rate=ties,
        truth=truth,
        noise=noise,
        random_state=seed,
    )
    target = Path(out)
    files = _files(drawn, target)
    taken = [name for name in files if (target.parent / name).exists()]
    if taken and not force:
        raise InputError(
            "the file exists already", "choose another --out, or --force", source=str(target.parent / taken[0])
        )
    write_together(ensure_folder(target.parent), files)
    if not quiet:
        say(Console(), f"Wrote {drawn.votes!r} to {out}, and the truth to {', '.join(list(files)[1:])}.")


def _parse_flips(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--flips {text}", "expected comma-separated numbers, as in 0.1,0.2") from None


def _files(drawn: Simulation, target: object) -> dict[str, str | bytes]:
    import io
    from pathlib import Path

    import polars as pl

    path = Path(str(target))
    votes, items, names = drawn.frame, drawn.votes.items, drawn.votes.annotators
    if path.suffix == ".parquet":
        buffer = io.BytesIO()
        votes.write_parquet(buffer)
        content: str | bytes = buffer.getvalue()
    else:
        content = votes.write_csv()
    files: dict[str, str | bytes] = {path.name: content}
    truth = pl.DataFrame({"item": items.tolist(), "score": drawn.scores})
    files[f"{path.stem}-items.csv"] = truth.write_csv()
    own = {"flip": drawn.flips, "bias": drawn.bias, "discrimination": drawn.discrimination}
    parameters = {name: values for name, values in own.items() if values is not None}
    annotators = pl.DataFrame({"annotator": names.tolist(), **parameters})
    files[f"{path.stem}-annotators.csv"] = annotators.write_csv()
    if drawn.features is not None:
        columns = {f"x{f}": drawn.features[:, f] for f in range(drawn.features.shape[1])}
        files[f"{path.stem}-features.csv"] = pl.DataFrame({"item": items.tolist(), **columns}).write_csv()
    return files
