"""Small data that stand in for the paper's, so that its experiments run anywhere; and its own where they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from jamrank.paper.data import SOURCES, Data, Speakers

FOLDER = Path(os.environ.get("JAMRANK_DATA") or Path(__file__).parents[3] / "shared" / "data")


def lacks(name: str) -> bool:
    """Tell whether a file of the paper is not here."""
    return not (FOLDER / SOURCES[name].folder / name).exists()


class StandIn:
    """What the experiments ask of ``Data``, without files."""

    def require(self, names: Iterable[str], told: Callable[[str], None] = lambda name: None) -> None:
        assert set(names) <= set(SOURCES)

    def wine(self, colour: str) -> tuple[np.ndarray, np.ndarray]:
        """Return 300 wines of quality 3 to 8, half of which the features explain."""
        rng = np.random.default_rng(["red", "white"].index(colour))
        features = rng.standard_normal((300, 11)) * np.geomspace(0.01, 100, 11)
        explained = (features / features.std(axis=0)) @ rng.standard_normal(11)
        worth = explained / explained.std() + rng.standard_normal(300)
        return features, np.clip(np.round(5.6 + 0.7 * worth), 3, 8)

    def digits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return scikit-learn's small digits, without the pixels that are nearly always the same."""
        from sklearn.datasets import load_digits

        data = load_digits()
        return data.data[:, data.data.std(axis=0) > 2], data.target.astype(np.int64)

    def speakers(self) -> Speakers:
        """Return 40 voices, each heard by half of 24 listeners, to whom emotional is the opposite of artificial."""
        rng = np.random.default_rng(7)
        items = np.array([f"{'mw'[k // 20]}{k:03d}" for k in range(40)])
        female = np.arange(40) >= 20
        quality = rng.standard_normal(40) + 1.5 * female
        features = rng.standard_normal((40, 5))
        features[:, 0] += quality
        listener, voice = np.nonzero(rng.random((24, 40)) < 0.5)
        heard = np.clip(np.round(35 + 20 * (quality[voice] + rng.standard_normal(len(voice)))), 0, 100)
        return Speakers(
            items=items,
            features=features,
            feature_names=tuple("abcde"),
            female=female,
            rater=np.array([f"Rater{k:02d}" for k in listener]),
            item=items[voice],
            ratings={"emotional": heard, "aufgesetzt": 100 - heard},
        )


class RedWine(StandIn):
    """The real red wine, beside stand-ins for all else."""

    def wine(self, colour: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the paper's red wine, or the stand-in for the white one."""
        return Data(FOLDER).wine("red") if colour == "red" else super().wine(colour)


class PenDigits(StandIn):
    """The real pen-written digits, beside stand-ins for all else."""

    def digits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the paper's digits."""
        return Data(FOLDER).digits()
