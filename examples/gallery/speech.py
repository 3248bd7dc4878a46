"""Ratings of speech: 114 listeners rate how emotional 300 speakers sound, on a slider."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import jamrank as jr
from jamrank.inference import group_share
from jamrank.paper.data import Data


def main(data: Path, picture: Path) -> None:
    """Turn ratings into votes, rank the voices, and ask whether women sound more emotional than men."""
    speakers = Data(data).speakers()
    rating = np.minimum(speakers.ratings["emotional"] // 20, 4)
    votes = jr.Comparisons.from_ratings(speakers.item, speakers.rater, rating)
    print(votes)

    features = pl.DataFrame(speakers.features, schema=list(speakers.feature_names)).insert_column(
        0, pl.Series("item", speakers.items)
    )
    model = jr.JAM().fit(votes, features)
    print(model.ranking_.head(5))
    print(model.features_.sort(pl.col("effect").abs(), descending=True).head(5))

    women = speakers.female[np.searchsorted(speakers.items, votes.items)]
    share = group_share(votes.pair_first, votes.pair_second, model.posterior_, women)
    print(f"women sound more emotional than men in {share.share:.1%} of pairs ({share.low:.1%} to {share.high:.1%})")

    model.plot(most=25).figure.savefig(picture, dpi=110)
