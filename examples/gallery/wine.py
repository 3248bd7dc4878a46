"""The paper's wine: six simulated annotators compare red wines whose true quality is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import jamrank as jr
from jamrank.paper.data import Data
from jamrank.paper.wine import different_pairs, noisy_votes, wine_flips


def main(data: Path, picture: Path) -> None:
    """Compare the paper's four methods on 20,000 pairs, and the flips that were found with the true ones."""
    features, quality = Data(data).wine("red")
    rng = np.random.default_rng(0)
    left, right = different_pairs(quality, 20_000, rng)
    flips = wine_flips(6)
    votes = noisy_votes(left, right, quality, flips, rng)
    truth = dict(enumerate(quality))

    print("share of voted pairs decided correctly, and of all pairs in the right order")
    for method in (jr.MajorityVote(), jr.IAM(), jr.JAM(), jr.VRJAM()):
        model = method.fit(votes, features[votes.items])
        print(f"{type(model).__name__:12} {model.score(truth):.2%}  {model.score(truth, by='scores'):.2%}")

    model = jr.JAM().fit(votes, features[votes.items])
    print("annotator    true    estimated")
    for k, (true, found) in enumerate(zip(flips, model.flip_, strict=True)):
        print(f"{k:9}  {true:6.3f}  {found:11.3f}")

    model.plot("annotators").figure.savefig(picture, dpi=110)
