"""Model files with changed bytes, members and values: the same model, or one line."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hostile.base import RIGHT, WRONG, Ending, attempt, hostile_text

__all__ = ["case"]

_NAMES = ["WinRate", "BradleyTerry", "CrowdBT", "JAM", "AmElo", "DawidSkene", "Auto", "HodgeRank"]
Tree = Any


@functools.cache
def _votes() -> Any:
    import jamrank as jr

    return jr.simulate(5, 3, 60, random_state=0).votes


@functools.cache
def _whole(name: str) -> tuple[Tree, bytes, dict[str, float]]:
    """Return a saved model as a tree, as a file, and what it says."""
    import jamrank as jr
    from jamrank.io.archives import pack

    def fit() -> Any:
        model = getattr(jr, name)().fit(_votes())
        _ = model.ranking_, model.annotators_
        return model

    model, ended = attempt(fit)
    assert ended is None, ended
    body = model._to_body()
    return body, pack("model", 2, body), _answers(model)


def _answers(model: Any) -> dict[str, float]:
    ranking = model.ranking_
    return dict(zip(map(str, ranking["item"]), map(float, ranking["score"]), strict=True))


def case(rng: random.Random, folder: Path) -> Ending:
    """Change a model file and ask it everything."""
    body, data, known = _whole(rng.choice(_NAMES))
    how = rng.random()
    path = folder / "model.jamrank"
    if how < 0.35:
        path.write_bytes(_bytes(data, rng))
    elif how < 0.45:
        path.write_bytes(_members(data, rng))
    else:
        from jamrank.io.archives import pack

        where = rng.choice(list(_places(body)))
        changed, ended = attempt(lambda: pack("model", 2, _changed(body, where, rng)))
        if ended is not None or changed is None:
            return RIGHT, "cannot be written"
        path.write_bytes(changed)
    found, ended = attempt(lambda: _ask(path, rng))
    if ended is not None:
        return ended
    if how < 0.35 and found != known:
        return WRONG, f"{found} and not {known}"
    if any(np.isnan(list(found.values()))):
        return WRONG, f"scores {found}"
    return RIGHT, ""


def _ask(path: Path, rng: random.Random) -> dict[str, float]:
    import jamrank as jr
    from jamrank.errors import JamrankError

    model = jr.load(path)
    asks = [
        lambda: model.annotators_,
        lambda: model.top(3),
        lambda: model.predict_proba("item0", "item1"),
        lambda: model.vote_proba(_votes()),
        lambda: repr(model),
        lambda: model.pairs_,
        lambda: model.scores_,
    ]
    for ask in rng.sample(asks, 3):
        with contextlib.suppress(JamrankError):  # what was not computed before
            ask()
    return _answers(model)


def _bytes(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice([1, 1, 3])):
        at, how = rng.randrange(max(len(data), 1)), rng.randrange(5)
        if how < 3:
            data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :] if data else data
        elif how == 3:
            data = data[:at] + data[at + rng.randrange(1, 30) :]
        else:
            data = data[:at] if rng.random() < 0.5 else data + rng.randbytes(20)
    return data


def _members(data: bytes, rng: random.Random) -> bytes:
    """Leave out, add, double or exchange members of the zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names, how = list(members), rng.randrange(5)
    if how == 0:
        members.pop(rng.choice(names))
    elif how == 1 and len(names) > 2:
        one, other = rng.sample(names[1:], 2)
        members[one], members[other] = members[other], members[one]
    elif how == 2:
        members[rng.choice(names)] = rng.choice(
            [b"", b"{}", b"[" * 100_000, b"\x93NUMPY", rng.randbytes(50), b"null"]
        )
    elif how == 3:
        members["../" + rng.choice(names)] = b"x"
    content = io.BytesIO()
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as archive:
        warnings.simplefilter("ignore")
        for name, inner in members.items():
            archive.writestr(name, inner)
        if how == 4:
            archive.writestr(rng.choice(names), b"{}")
    return content.getvalue()


def _places(tree: Tree, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _changed(tree: Tree, path: tuple[Any, ...], rng: random.Random) -> Tree:
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    if len(path) > 1:
        copy[path[0]] = _changed(tree[path[0]], path[1:], rng)
        return copy
    if rng.random() < 0.1 and isinstance(copy, dict):
        del copy[path[0]]
        return copy
    copy[path[0]] = _other(tree[path[0]], rng)
    return copy


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, np.ndarray) and rng.random() < 0.8:
        return rng.choice(_ARRAYS)(value)
    junk = [
        None,
        "x",
        "",
        7,
        -1,
        [1, 2],
        {"a": 1},
        1.5,
        float("nan"),
        float("inf"),
        10**30,
        True,
        [],
        {},
        -(2**63),
        1e300,
    ]
    return rng.choice([*junk, hostile_text(rng)])


_ARRAYS = [
    lambda value: np.concatenate([value, value]) if value.ndim else value,
    lambda value: value[:-1] if value.ndim else value,
    lambda value: value[:0] if value.ndim else value,
    lambda value: value.reshape(-1, 1) if value.ndim == 1 else value.ravel(),
    lambda value: value * np.nan if value.dtype.kind == "f" else value,
    lambda value: value * np.inf if value.dtype.kind == "f" else value,
    lambda value: value.astype(np.int64) + 10**6 if value.dtype.kind in "iu" else value,
    lambda value: -value.astype(np.int64) - 1 if value.dtype.kind in "iu" else value,
    lambda value: value.astype(np.int64) if value.dtype.kind == "f" and np.isfinite(value).all() else value,
    lambda value: value.astype(np.float32) if value.dtype.kind == "f" else value,
    lambda value: value[::-1] if value.ndim else value,
    lambda value: value.astype(bool) if value.dtype.kind in "iuf" else value,
    lambda value: value * 1e300 if value.dtype.kind == "f" else value,
]
