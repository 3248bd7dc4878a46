"""``jamrank simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jamrank.cli.types import FINITE, SEED
from jamrank.errors import InputError

if TYPE_CHECKING:
    from jamrank.simulation import Simulation, Tastes


@click.command(
    epilog="""\b
Examples:
  jamrank simulate
  jamrank simulate --items 200 --annotators 50 --votes 20000 --seed 1 --out study/votes.csv
  jamrank simulate --flips 0.05,0.1,0.3,0.8 --features 5
  jamrank simulate --annotators 8 --families 4,3 --covariates length=0.8

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
    help="One latent truth for each pair (JAM) or for each vote (CrowdBT).  [default: pair; with families, camps, "
    "copies or covariates, vote]",
)
@click.option(
    "--noise",
    type=click.Choice(["flip", "two-coin", "difficulty", "discrimination", "none"]),
    default="flip",
    show_default=True,
    help="Error model of the annotators.",
)
@click.option(
    "--families", metavar="SIZES", help="Sizes of families who share a taste, such as 4,3; the first annotators."
)
@click.option(
    "--camps", metavar="SIZES", help="Sizes of camps with unrelated tastes, such as 5,3; the first annotators."
)
@click.option(
    "--copies", default=0, show_default=True, help="Number of annotators, the last ones, with identical votes."
)
@click.option(
    "--covariates",
    metavar="NAME=EFFECT,…",
    help="Covariates of a vote, and the log-odds for the left item per unit of each; annotators vary by half of it.",
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
    truth: str | None,
    noise: str,
    families: str | None,
    camps: str | None,
    copies: int,
    covariates: str | None,
    seed: int,
    out: str,
    force: bool,
    quiet: bool,
) -> None:
    """Write simulated votes and their truth to files.

    Besides votes.csv, these are votes-items.csv (true scores), votes-annotators.csv (true flips and other parameters
    of the error model, families or camps, effects of covariates) and, with --features, votes-features.csv.
    """
    from pathlib import Path

    from rich.console import Console

    from jamrank import simulation
    from jamrank.cli.messages import say
    from jamrank.io import ensure_folder, write_together

    rates = None if flips is None else [number for _, number in _numbers("--flips", flips, "0.1,0.2")]
    tastes = _tastes(families, camps, copies, covariates)
    drawn = simulation.simulate(
        items,
        annotators if rates is None else len(rates),
        votes,
        flips=rates,
        n_features=features,
        scorer=scorer,
        tie_rate=ties,
        truth=truth or ("pair" if tastes is None else "vote"),
        noise=noise,
        tastes=tastes,
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


def _tastes(families: str | None, camps: str | None, copies: int, covariates: str | None) -> Tastes | None:
    from jamrank.simulation import Effect, Tastes

    if not (families or camps or copies or covariates):
        return None
    effects = _numbers("--covariates", covariates or "", "length=0.8", named=True)
    return Tastes(
        families=_sizes("--families", families),
        camps=_sizes("--camps", camps),
        copies=copies,
        effects={name: Effect(common=value, sd=abs(value) / 2) for name, value in effects},
    )


def _sizes(option: str, text: str | None) -> tuple[int, ...]:
    sizes = [size for _, size in _numbers(option, text or "", "4,3")]
    if not all(size.is_integer() for size in sizes):
        raise InputError(f"{option} {text}", "expected whole numbers, as in 4,3")
    return tuple(int(size) for size in sizes)


def _numbers(option: str, text: str, example: str, *, named: bool = False) -> list[tuple[str, float]]:
    """Return comma-separated numbers, each with its name where it has one."""
    found = []
    for part in filter(None, text.split(",")):
        name, equals, number = part.rpartition("=")
        try:
            found.append((name.strip(), float(number)))
        except ValueError:
            equals = "not a number"
        repeated = named and len(dict(found)) < len(found)
        if bool(name.strip()) is not named or equals != "=" * named or repeated:
            raise InputError(f"{option} {text}", f"expected comma-separated values, as in {example}")
    return found


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
    parameters: dict[str, Any] = {name: values for name, values in own.items() if values is not None}
    if drawn.tastes is not None:
        family = drawn.tastes.family
        parameters["family"] = pl.Series([None if g < 0 else g + 1 for g in family.tolist()], dtype=pl.Int64)
        effects = [name for name in votes.columns if name not in ("annotator", "left", "right", "winner")]
        parameters |= dict(zip(effects, drawn.tastes.effects.T, strict=True))
    annotators = pl.DataFrame({"annotator": names.tolist(), **parameters})
    files[f"{path.stem}-annotators.csv"] = annotators.write_csv()
    if drawn.features is not None:
        columns = {f"x{f}": drawn.features[:, f] for f in range(drawn.features.shape[1])}
        files[f"{path.stem}-features.csv"] = pl.DataFrame({"item": items.tolist(), **columns}).write_csv()
    return files
