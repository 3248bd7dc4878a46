"""Model files that were changed or are bombs end in one typed line."""

from __future__ import annotations

import io
import random
import zipfile

import numpy as np
import pytest

import jamrank as jr
from jamrank.errors import FormatError, JamrankError
from jamrank.io.archives import pack, unpack

pytestmark = pytest.mark.filterwarnings("ignore")
VOTES = jr.simulate(6, 3, 80, random_state=0).votes


def full(model):
    """Return a model that has computed everything."""
    _ = model.ranking_, model.annotators_, model.pairs_, model.result_.groups(), model.vote_proba(VOTES)
    return model


def places(tree, path=()):
    """Yield the path of every value in a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(tree, path, change):
    """Return the tree with the value at a path replaced."""
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = change(tree[path[0]]) if len(path) == 1 else changed(tree[path[0]], path[1:], change)
    return copy


CHANGES = {
    "None": lambda value: None,
    "text": lambda value: "x",
    "number": lambda value: 7,
    "negative": lambda value: -1,
    "list": lambda value: [1, 2],
    "dict": lambda value: {"a": 1},
    "longer": lambda value: np.concatenate([value, value]) if isinstance(value, np.ndarray) and value.ndim else 1.5,
    "shorter": lambda value: value[:-1] if isinstance(value, np.ndarray) and value.ndim else True,
    "nan": lambda value: (
        value * np.nan if isinstance(value, np.ndarray) and value.dtype.kind == "f" else float("nan")
    ),
    "large": lambda value: (
        value.astype(np.int64) + 10**6 if isinstance(value, np.ndarray) and value.dtype.kind in "iu" else 10**30
    ),
    "whole": lambda value: (
        value.astype(np.int64) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else []
    ),
}


def use(path):
    """Load a model and ask for everything; only typed errors may come of it."""
    try:
        model = jr.load(path)
        for ask in (
            lambda: model.ranking_,
            lambda: model.annotators_,
            lambda: model.pairs_,
            lambda: model.top(2),
            lambda: model.vote_proba(VOTES),
            lambda: model.predict_proba("item0", "item1"),
            lambda: str(model),
        ):
            ask()
    except JamrankError:
        pass


@pytest.mark.parametrize("n_changes", [50, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["JAM", "AmElo", "WinRate"])
def test_a_changed_file_is_read_or_refused_in_one_line(name, n_changes, tmp_path):
    body = full(getattr(jr, name)().fit(VOTES))._to_body()
    rng = random.Random(0)
    cases = [(path, kind) for path in places(body) for kind in CHANGES]
    for path, kind in rng.sample(cases, min(n_changes, len(cases))):
        (tmp_path / "m.jamrank").write_bytes(pack("model", 2, changed(body, path, CHANGES[kind])))
        try:
            use(tmp_path / "m.jamrank")
        except Exception as error:  # which case it was
            raise AssertionError(f"{'.'.join(map(str, path))} {kind}: {error!r}") from error


def test_damaged_bytes_are_refused(tmp_path):
    whole = bytearray(pack("model", 2, jr.WinRate().fit(VOTES)._to_body()))
    rng = random.Random(1)
    for _ in range(200):
        content = bytearray(whole)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (tmp_path / "m.jamrank").write_bytes(content)
        use(tmp_path / "m.jamrank")


def test_bombs_are_refused_before_memory_is_taken():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * 300_000_000)
    assert len(content.getvalue()) < 400_000
    with pytest.raises(FormatError, match="bytes in"):
        unpack(content.getvalue(), "model", 2, "bomb")
    array = '{"npy": "a.npy", "dtype": "<f8", "shape": [1000000000]}'
    header = f'{{"format": "jamrank-model", "version": 2, "body": {{"a": {array}}}}}'
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("header.json", header)
        archive.writestr("a.npy", b"x")
    with pytest.raises(FormatError, match="bytes for an array"):
        unpack(content.getvalue(), "model", 2, "bomb")


def test_arrays_and_numbers_come_back_as_they_were():
    body = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": [None, True, "é", 1.5, float("nan")],
        "c": {"d": np.zeros(0, np.int8)},
    }
    again = unpack(pack("x", 1, body), "x", 1, "test")
    assert again["a"].tobytes() == body["a"].tobytes() and again["b"][:4] == body["b"][:4] and np.isnan(again["b"][4])
    constant = {"a": np.zeros(3_000_000)}
    assert not unpack(pack("x", 1, constant), "x", 1, "test")["a"].any()


@pytest.mark.long
def test_a_jury_of_many_is_a_small_file_and_loses_nothing(tmp_path):
    rng = np.random.default_rng(0)
    left, right = np.triu_indices(400, 1)
    better = rng.random(len(left)) < 1 / (1 + np.exp((left - right) / 100))
    outcomes = np.where(rng.random((len(left), 5)) < 0.2, ~better[:, None], better[:, None]).astype(float)
    outcomes[::7, 2] = 0.5
    model = jr.JAM(max_iter=5).fit(jr.Comparisons.from_matrix(left, right, outcomes))
    posterior, draws = model.posterior_.copy(), model.score_draws()
    model.save(tmp_path / "m.jamrank")
    # A quarter of what the posterior alone would take, which does not compress.
    assert (tmp_path / "m.jamrank").stat().st_size < posterior.nbytes / 4
    again = jr.load(tmp_path / "m.jamrank")
    assert again.posterior_.tobytes() == posterior.tobytes()
    assert type(again.result_.votes.in_memory.storage) is type(model.result_.votes.in_memory.storage)
    assert again.ranking_.equals(model.ranking_)
    np.testing.assert_array_equal(again.score_draws(), draws)


def test_a_matrix_of_votes_that_was_changed_is_refused(tmp_path):
    votes = jr.Comparisons.from_matrix(["a", "a", "b"], ["b", "c", "c"], [[1, 0], [1, 1], [0, 1]])
    body = jr.WinRate().fit(votes)._to_body()
    dense = body["votes"]["dense"]
    for name, value in (
        ("results", dense["results"] + np.int8(2)),
        ("results", dense["results"][:2]),
        ("results", dense["results"][:, :1]),
        ("swapped", np.ones(2, dtype=bool)),
        ("decided", "yes"),
    ):
        damaged = body | {"votes": body["votes"] | {"dense": dense | {name: value}}}
        (tmp_path / "m.jamrank").write_bytes(pack("model", 2, damaged))
        with pytest.raises(FormatError):
            jr.load(tmp_path / "m.jamrank")
    (tmp_path / "m.jamrank").write_bytes(pack("model", 2, body))
    assert jr.load(tmp_path / "m.jamrank").result_.votes.in_memory.n_votes == 6


def test_a_trait_that_is_missing_is_an_error_of_the_file(tmp_path):
    body = full(jr.AmElo().fit(VOTES))._to_body()
    (tmp_path / "m.jamrank").write_bytes(pack("model", 2, {**body, "traits": {}}))
    model = jr.load(tmp_path / "m.jamrank")
    with pytest.raises(FormatError, match="has no 'discrimination' of its annotators"):
        _ = model.result_.annotators.traits["discrimination"]


def test_flips_by_cluster_without_clusters_are_refused(tmp_path):
    body = jr.CrowdBT().fit(VOTES)._to_body()
    (tmp_path / "m.jamrank").write_bytes(pack("model", 2, {**body, "flip": body["flip"][:, None]}))
    with pytest.raises(FormatError, match="flip: an array of shape"):
        jr.load(tmp_path / "m.jamrank")
