from __future__ import annotations

import hashlib
import os
import pickle
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from jamrank.errors import InputError, ParameterError
from jamrank.paper import data
from jamrank.paper.data import SOURCES, Data, Source

GENUINE = Path(os.environ.get("JAMRANK_DATA") or Path(__file__).parents[3] / "shared" / "data")
ABSENT = [source.name for source in SOURCES.values() if not (GENUINE / source.folder / source.name).exists()]
needs_data = pytest.mark.skipif(
    bool(ABSENT), reason=f"needs {', '.join(ABSENT)}: set JAMRANK_DATA to the data folder"
)

CONTENT = {"a.csv": b"1;2\r\n", "b.csv": bytes(range(256))}


class Home:
    """A server of small files that counts what it is asked for."""

    def __init__(self, url: str) -> None:
        self.url, self.files, self.asked, self.agents = url, dict(CONTENT), [], set()
        self.withheld = 0


@pytest.fixture
def home() -> Iterator[Home]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            home.asked.append(name)
            home.agents.add(self.headers["User-Agent"])
            if name not in home.files:
                return self.send_error(404)
            self.send_response(200)
            self.send_header("Content-Length", str(len(home.files[name]) + home.withheld))
            self.end_headers()
            self.wfile.write(home.files[name])

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        home = Home(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield home
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(home, tmp_path, monkeypatch) -> Path:
    """Pin the small files at their server, and keep them in an empty cache."""
    monkeypatch.delenv("JAMRANK_DATA", raising=False)
    monkeypatch.setenv("JAMRANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    pin(monkeypatch, home.url)
    return tmp_path / "cache"


def pin(monkeypatch, url: str) -> None:
    sources = {
        name: Source("small", name, f"{url}/{name}", hashlib.sha256(content).hexdigest())
        for name, content in CONTENT.items()
    }
    monkeypatch.setattr(data, "SOURCES", sources)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def refusal(name: str, folder: Path | None = None) -> str:
    with pytest.raises(InputError) as caught:
        Data(folder).path(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_is_fetched_once(home, cache):
    path = Data().path("a.csv")
    assert path == cache / "small" / "a.csv"
    assert path.read_bytes() == CONTENT["a.csv"]
    assert Data().path("a.csv") == path
    assert home.asked == ["a.csv"]
    assert home.agents == {"jamrank"}
    assert files(cache) == [path]


def test_a_corrupted_cache_is_fetched_again(home, cache):
    path = Data().path("b.csv")
    path.write_bytes(CONTENT["b.csv"][:-1])
    assert Data().path("b.csv").read_bytes() == CONTENT["b.csv"]
    assert home.asked == ["b.csv", "b.csv"]


def test_a_download_that_is_another_file_is_refused_and_not_kept(home, cache):
    home.files["a.csv"] = b"<html>"
    found, pinned = hashlib.sha256(b"<html>").hexdigest()[:12], hashlib.sha256(CONTENT["a.csv"]).hexdigest()[:12]
    assert refusal("a.csv") == (
        f"{home.url}/a.csv: this is not the file that these experiments were pinned to "
        f"(SHA-256 {found}..., not {pinned}...); "
        "put a copy into DIR/small/ and give --data DIR or set JAMRANK_DATA"
    )
    assert not cache.exists()


def test_a_refused_download_leaves_the_old_file_alone(home, cache):
    path = Data().path("a.csv")
    path.write_bytes(b"old")
    home.files["a.csv"] = b"<html>"
    refusal("a.csv")
    assert path.read_bytes() == b"old"
    assert files(cache) == [path]


def test_a_download_that_breaks_off_is_refused(home, cache):
    home.withheld = 10
    assert "a.csv cannot be downloaded from" in refusal("a.csv")
    assert not cache.exists()


def test_a_file_that_is_gone_from_its_home(home, cache):
    del home.files["a.csv"]
    assert f"cannot be downloaded from {home.url}/a.csv (HTTP Error 404: Not Found); put" in refusal("a.csv")


def test_offline_names_the_file_its_home_the_reason_and_the_way_out(cache, monkeypatch):
    # Bound and not listening: nobody else can open the port meanwhile.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        pin(monkeypatch, url)
        message = refusal("a.csv")
    assert message.startswith(f"a.csv cannot be downloaded from {url}/a.csv (")
    assert message.endswith("); put a copy into DIR/small/ and give --data DIR or set JAMRANK_DATA")
    assert "refused" in message.lower()
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_found_before_the_download(home, cache):
    cache.write_text("in the way")
    assert refusal("a.csv") == (f"{cache}: is a file, not a folder; set JAMRANK_CACHE to a writable folder")
    assert home.asked == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has another default")
def test_the_cache_is_where_such_things_are_kept(tmp_path, monkeypatch, cache):
    monkeypatch.delenv("JAMRANK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert Data().path("a.csv") == tmp_path / "xdg" / "jamrank" / "small" / "a.csv"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Data().path("a.csv") == tmp_path / "me" / ".cache" / "jamrank" / "small" / "a.csv"


def test_require_tells_of_downloads_only(home, cache):
    Data().path("a.csv")
    told: list[str] = []
    Data().require(["a.csv", "b.csv"], lambda name: told.append(f"{name} after {len(home.asked)}"))
    assert told == ["b.csv after 1"]
    assert home.asked == ["a.csv", "b.csv"]
    Data().require(iter(CONTENT))
    assert len(home.asked) == 2


@pytest.mark.parametrize("nested", ["small", "."])
def test_a_local_copy_is_used_nested_or_flat(home, cache, tmp_path, nested):
    path = tmp_path / "copy" / nested / "a.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT["a.csv"])
    assert Data(tmp_path / "copy").path("a.csv") == path
    assert Data(str(tmp_path / "copy")).path("a.csv") == path
    assert home.asked == []
    assert not cache.exists()


def test_a_missing_local_copy_is_not_downloaded(home, cache, tmp_path):
    nested, flat = tmp_path / "small" / "a.csv", tmp_path / "a.csv"
    assert refusal("a.csv", tmp_path) == (
        f"a.csv is missing, looked for {nested} and {flat}; "
        "put it there, or leave out --data and unset JAMRANK_DATA to download it"
    )
    with pytest.raises(InputError, match=r"a\.csv is missing"):
        Data(tmp_path).require(["a.csv"])
    assert home.asked == []


def test_a_tampered_local_copy_is_refused(home, cache, tmp_path):
    (tmp_path / "a.csv").write_bytes(CONTENT["a.csv"].replace(b"\r", b""))
    found, pinned = (hashlib.sha256(text).hexdigest()[:12] for text in (b"1;2\n", CONTENT["a.csv"]))
    assert refusal("a.csv", tmp_path) == (
        f"{tmp_path / 'a.csv'}: this is not the file that these experiments were pinned to "
        f"(SHA-256 {found}..., not {pinned}...); "
        "put the original there, or leave out --data and unset JAMRANK_DATA to download it"
    )
    assert home.asked == []


def test_the_environment_names_the_local_copy_unless_told_otherwise(home, cache, tmp_path, monkeypatch):
    for folder in ("environment", "argument"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_bytes(CONTENT["a.csv"])
    monkeypatch.setenv("JAMRANK_DATA", str(tmp_path / "environment"))
    assert Data().path("a.csv") == tmp_path / "environment" / "a.csv"
    assert Data(tmp_path / "argument").path("a.csv") == tmp_path / "argument" / "a.csv"
    monkeypatch.setenv("JAMRANK_DATA", "")
    assert Data().path("a.csv") == cache / "small" / "a.csv"


def test_it_travels_to_another_process(tmp_path):
    assert pickle.loads(pickle.dumps(Data(tmp_path))).folder == tmp_path


def test_what_does_not_exist_is_refused(tmp_path):
    with pytest.raises(
        ParameterError, match=r"'c\.csv' is not a file of the paper; use one of winequality-red\.csv, "
    ):
        Data(tmp_path).path("c.csv")
    with pytest.raises(ParameterError, match="colour must be 'red' or 'white', not 'rosé'"):
        Data(tmp_path).wine("rosé")


@needs_data
@pytest.mark.parametrize(("colour", "wines"), [("red", 1599), ("white", 4898)])
def test_wine(colour, wines):
    attributes, quality = Data(GENUINE).wine(colour)
    assert attributes.shape == (wines, 11)
    assert quality.shape == (wines,)
    assert attributes.dtype == quality.dtype == np.float64
    assert np.isfinite(attributes).all()
    assert set(quality) <= set(range(11))


@needs_data
def test_digits():
    features, drawn = Data(GENUINE).digits()
    assert features.shape == (7494, 16)
    assert features.dtype == np.float64
    assert drawn.dtype == np.int64
    np.testing.assert_array_equal(np.unique(drawn), np.arange(10))


@needs_data
def test_speakers():
    speakers = Data(GENUINE).speakers()
    assert speakers.features.shape == (300, 88) == (len(speakers.items), len(speakers.feature_names))
    assert speakers.features.dtype == np.float64
    assert np.isfinite(speakers.features).all()
    assert speakers.items.tolist() == sorted(set(speakers.items.tolist()))
    assert speakers.female.sum() == 174
    assert speakers.female.tolist() == [name.startswith("w") for name in speakers.items]
    assert len(speakers.rater) == len(speakers.item) == 4519
    assert len(np.unique(speakers.rater)) == 114
    np.testing.assert_array_equal(np.unique(speakers.item), speakers.items)
    assert set(speakers.ratings) == {"emotional", "aufgesetzt"}
    for ratings in speakers.ratings.values():
        assert ratings.shape == (4519,)
        assert (ratings.min(), ratings.max()) == (0, 100)


@needs_data
def test_a_voice_keeps_its_own_features_and_ratings():
    speakers = Data(GENUINE).speakers()
    row = speakers.items.tolist().index("w001_lelydorp")
    assert speakers.features[row, :2].tolist() == [40.01441, 0.1316835]
    assert speakers.feature_names[0] == "F0semitoneFrom27.5Hz_sma3nz_amean"
    assert (speakers.rater[0], speakers.item[0]) == ("Rater001", "m016_beirut")
    assert {slider: ratings[0] for slider, ratings in speakers.ratings.items()} == {"emotional": 84, "aufgesetzt": 33}
