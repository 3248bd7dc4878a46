"""The paper's data sets: from a local folder, from the cache, or from their official source."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jamrank.errors import InputError, ParameterError
from jamrank.io.documents import check_folder, ensure_folder, read_bytes, write_atomically
from jamrank.typing import BoolArray, FloatArray, IntArray

_TIMEOUT = 30
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_SPEAKERS = "https://raw.githubusercontent.com/laufergall/ML_Speaker_Characteristics"
_SLIDERS = ("emotional", "aufgesetzt")
_WOMEN, _MEN = "eGeMAPSv01a_88_femalespk.csv", "eGeMAPSv01a_88_malespk.csv"


@dataclass(frozen=True)
class Source:
    """The origin of a file, and its checksum.

    folder: The data set that it belongs to, and its folder in a local copy and in the cache.
    name: Of the file.
    url: Its official URL.
    sha256: Of its content, in lower-case hexadecimal.
    """

    folder: str
    name: str
    url: str
    sha256: str


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            "wine_quality",
            "winequality-red.csv",
            f"{_UCI}/wine-quality/winequality-red.csv",
            "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
        ),
        Source(
            "wine_quality",
            "winequality-white.csv",
            f"{_UCI}/wine-quality/winequality-white.csv",
            "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
        ),
        Source(
            "pendigits",
            "pendigits.tra",
            f"{_UCI}/pendigits/pendigits.tra",
            "e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3",
        ),
        Source(
            "speakers",
            "SC_ratings.csv",
            f"{_SPEAKERS}/58e32ad6710b4329abc499c16f179d9dc865c140/data/SC_ratings.csv",
            "e166e854e20d44b269fd0dfcf4a851292e73e693c2cfc5854de7d67ee11c6be4",
        ),
        Source(
            "speakers",
            _MEN,
            f"{_SPEAKERS}/1a0e39155de76137d7bd95d5c2257f9f7be4cf18/data/{_MEN}",
            "7a7915c967dcb904bbacdcd5d2682bec090f4298a3126b23285f998d30fd8189",
        ),
        Source(
            "speakers",
            _WOMEN,
            f"{_SPEAKERS}/8a1002c742f4503f5f648d94f0c6e6f21b9acabb/Regression/{_WOMEN}",
            "d8576b732c09e0dec7fa9d9be5f25be62c26f1768a3bdec1ae26d0d8e6b20ad3",
        ),
    )
}


@dataclass(frozen=True)
class Speakers:
    """Voices, their acoustic features and their ratings.

    items: One voice each, sorted; ``w296_avarua`` stands for the sample ``w296_avarua_stimulus.wav``.
    features, of shape (items, features): Acoustic features, in the order of ``items``.
    feature_names: Their names.
    female: Whether the speaker is a woman, for each of ``items``.
    rater, item: Who rated and which voice, for each rating.
    ratings: From 0 to 100 for each rating, by slider: ``emotional`` and ``aufgesetzt`` (artificial).
    """

    items: NDArray[np.str_]
    features: FloatArray
    feature_names: tuple[str, ...]
    female: BoolArray
    rater: NDArray[np.str_]
    item: NDArray[np.str_]
    ratings: dict[str, FloatArray]


class Data:
    """The data sets; files are read on first use.

    Parameters
    ----------
    folder : path-like, optional
        A local copy. By default the one that the environment variable ``JAMRANK_DATA`` names; without it, files are
        downloaded once and kept in ``JAMRANK_CACHE``, or else in the cache folder of the system.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        if folder is None:
            folder = os.environ.get("JAMRANK_DATA") or None
        self.folder = None if folder is None else Path(folder)

    def path(self, name: str) -> Path:
        """Return the path of a file, after verifying it.

        Parameters
        ----------
        name : str
            One of :data:`SOURCES`.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        InputError
            If the local copy lacks it or has another one, or if it is not in the cache and cannot be downloaded.
        """
        return self._path(name, lambda name: None)

    def require(self, names: Iterable[str], announce: Callable[[str], None] = lambda name: None) -> None:
        """Make sure that files are available before a long run.

        Parameters
        ----------
        names : iterable of str
            Some of :data:`SOURCES`.
        announce : callable
            Called with a file's name before it is downloaded.

        Raises
        ------
        InputError
            If one of them is not available.
        """
        for name in names:
            self._path(name, announce)

    def wine(self, colour: str) -> tuple[FloatArray, FloatArray]:
        """Return the 11 attributes and the quality of the wines of a colour.

        Parameters
        ----------
        colour : {'red', 'white'}

        Returns
        -------
        attributes : ndarray of shape (wines, 11)
        quality : ndarray
        """
        if colour not in ("red", "white"):
            raise ParameterError(f"colour must be 'red' or 'white', not {colour!r}")
        table = np.loadtxt(self.path(f"winequality-{colour}.csv"), delimiter=";", skiprows=1)
        return table[:, :-1], table[:, -1]

    def digits(self) -> tuple[FloatArray, IntArray]:
        """Return the 16 features of handwritten digits, and the digits drawn.

        Returns
        -------
        features : ndarray of shape (digits, 16)
        drawn : ndarray of int
        """
        table = np.loadtxt(self.path("pendigits.tra"), delimiter=",")
        return table[:, :-1], table[:, -1].astype(np.int64)

    def speakers(self) -> Speakers:
        """Return the voices and their ratings."""
        # One voice has different suffixes in ratings and measurements; the part before is unique.
        voice = pl.col("sample_heard").str.replace("_[^_]*$", "").alias("item")
        measured = pl.concat(
            pl.read_csv(self.path(name)).with_columns(voice, female=pl.lit(name == _WOMEN)) for name in (_MEN, _WOMEN)
        ).sort("item")
        features = measured.drop("sample_heard", "item", "female")
        rated = pl.read_csv(
            self.path("SC_ratings.csv"),
            columns=["listener_pseudonym", "sample_heard", *_SLIDERS],
            schema_overrides=dict.fromkeys(_SLIDERS, pl.Float64),
        ).with_columns(voice)
        return Speakers(
            items=_strings(measured["item"]),
            features=np.ascontiguousarray(features.to_numpy()),
            feature_names=tuple(features.columns),
            female=measured["female"].to_numpy(),
            rater=_strings(rated["listener_pseudonym"]),
            item=_strings(rated["item"]),
            ratings={slider: rated[slider].to_numpy() for slider in _SLIDERS},
        )

    def _path(self, name: str, announce: Callable[[str], None]) -> Path:
        if name not in SOURCES:
            raise ParameterError(f"{name!r} is not a file of the paper; use one of {', '.join(SOURCES)}")
        source = SOURCES[name]
        return _cached(source, announce) if self.folder is None else _local(source, self.folder)


def _strings(column: pl.Series) -> NDArray[np.str_]:
    return np.array(column.to_list(), dtype=np.str_)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _local(source: Source, folder: Path) -> Path:
    places = (folder / source.folder / source.name, folder / source.name)
    path = next((place for place in places if place.is_file()), None)
    elsewhere = "leave out --data and unset JAMRANK_DATA to download it"
    if path is None:
        looked = f"{source.name} is missing, looked for {places[0]} and {places[1]}"
        raise InputError(looked, f"put it there, or {elsewhere}")
    digest = _digest(read_bytes(path))
    if digest != source.sha256:
        raise InputError(_not_pinned(digest, source), f"put the original there, or {elsewhere}", source=str(path))
    return path


def _not_pinned(digest: str, source: Source) -> str:
    return (
        "this is not the file that these experiments were pinned to "
        f"(SHA-256 {digest[:12]}..., not {source.sha256[:12]}...)"
    )


def _cached(source: Source, announce: Callable[[str], None]) -> Path:
    path = _cache() / source.folder / source.name
    if path.is_file() and _digest(read_bytes(path)) == source.sha256:
        return path
    try:
        check_folder(path.parent)
    except InputError as error:
        remedy = "set JAMRANK_CACHE to a writable folder"
        raise InputError(error.problem, remedy, source=error.source) from None
    announce(source.name)
    content = _download(source)
    ensure_folder(path.parent)
    write_atomically(path, content)
    return path


def _cache() -> Path:
    own = os.environ.get("JAMRANK_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return (Path(shared) if shared else Path.home() / ".cache") / "jamrank"


def _download(source: Source) -> bytes:
    remedy = f"put a copy into DIR/{source.folder}/ and give --data DIR or set JAMRANK_DATA"
    request = urllib.request.Request(source.url, headers={"User-Agent": "jamrank"})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            content: bytes = response.read()
    except (OSError, http.client.HTTPException) as error:
        # An answer such as 404 is an error that keeps the connection open.
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        problem = f"{source.name} cannot be downloaded from {source.url} ({_reason(error)})"
        raise InputError(problem, remedy) from None
    digest = _digest(content)
    if digest != source.sha256:
        raise InputError(_not_pinned(digest, source), remedy, source=source.url)
    return content


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, OSError):
        error = error.reason
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())
