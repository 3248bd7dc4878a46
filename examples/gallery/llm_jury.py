"""An LLM jury: GPT-3, GPT-4 and 124 people judge the answers of 59 models (LLMFAO)."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from scipy.stats import kendalltau

import jamrank as jr


def read(folder: Path) -> pl.DataFrame:
    """Put the votes of the people and of the two judges into one table, each prompt a question of its own."""
    people = pl.read_csv(folder / "crowd-comparisons.csv").with_columns(
        annotator="person " + pl.col("worker").cast(str)
    )
    judges = [
        pl.read_csv(folder / f"gpt{version}-crowd-comparisons.csv").with_columns(annotator=pl.lit(f"GPT-{version}"))
        for version in (3, 4)
    ]
    columns = ["annotator", "left", "right", "winner", pl.col("prompt").alias("question")]
    return pl.concat([table.select(columns) for table in (people, *judges)])


def main(data: Path, picture: Path) -> None:
    """Rank the models, and see how far the judges can be trusted."""
    table = read(data / "llmfao")
    model = jr.JAM(noise="two-coin", ties="davidson").fit(jr.Comparisons.from_frame(table))
    print(model.ranking_.head(5))

    # The flip is the probability of a vote against the truth; a bias above 0 prefers the left.
    judges = model.annotators_.filter(pl.col("annotator").str.starts_with("GPT"))
    print(judges.select("annotator", "votes", "flip", "flip_low", "flip_high", "verdict"))
    print(judges.select("annotator", "bias", "bias_low", "bias_high", "tie"))
    print(model.annotators_["verdict"].value_counts().sort(["count", "verdict"], descending=[True, False]))

    is_judge = pl.col("annotator").str.starts_with("GPT")
    people = jr.JAM(ties="davidson").fit(jr.Comparisons.from_frame(table.filter(~is_judge)))
    score = dict(zip(people.items_, people.scores_, strict=True))
    for name in ("GPT-3", "GPT-4"):
        alone = jr.BradleyTerry(ties="davidson").fit(jr.Comparisons.from_frame(table.filter(annotator=name)))
        tau = kendalltau(alone.scores_, [score[item] for item in alone.items_]).statistic
        print(f"Kendall's tau between the rankings of {name} and of the people: {tau:.2f}")

    model.plot(most=20).figure.savefig(picture, dpi=110)
