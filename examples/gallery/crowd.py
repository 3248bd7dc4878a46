"""A crowd: 3,815 workers say which of two arguments convinces them more (UKPConvArg)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import jamrank as jr


def read(folder: Path) -> jr.Comparisons:
    """Read the votes; arguments were only compared within their topic."""
    table = pl.read_csv(folder / "comparisons.csv")
    return jr.Comparisons.from_frame(
        table.select(
            annotator="worker",
            left="arg1",
            right="arg2",
            winner=pl.col("label").replace_strict({"a1": "left", "a2": "right", "equal": "tie"}),
            question="topic",
        )
    )


def main(data: Path, picture: Path) -> None:
    """Check the votes, rank the arguments, and assess the workers."""
    votes = read(data / "arguments")
    print(votes)
    for sentence in jr.check(votes).sentences:
        print("-", sentence)

    model = jr.CrowdBT(ties="davidson").fit(votes)
    print(model.annotators_["verdict"].value_counts().sort(["count", "verdict"], descending=[True, False]))
    print(
        model.annotators_.sort("flip_low", descending=True)
        .select("annotator", "votes", "flip", "flip_low", "action")
        .head(5)
    )

    # Scores of different topics cannot be compared: a ranking is read within one.
    topic = votes.questions[0]
    inside = {
        side
        for pair in model.pairs_.filter(question=topic).iter_rows(named=True)
        for side in (pair["left"], pair["right"])
    }
    print(topic)
    print(model.ranking_.filter(pl.col("item").is_in(list(inside))).select("item", "score", "score_se").head(5))

    model.plot("reliability").figure.savefig(picture, dpi=110)
