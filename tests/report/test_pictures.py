from __future__ import annotations

import base64
import re
from io import BytesIO

import numpy as np
import pytest
from click.testing import CliRunner

from jamrank.cli import main
from jamrank.errors import InputError
from jamrank.report.pictures import LARGEST, ItemView, png_bytes, view_of


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    rows = ["x,y,left", "y,z,left", "x,z,left", "z,x,left", "y,x,right"]
    path.write_text("left,right,winner\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def fit(votes, show, out):
    return CliRunner().invoke(main, ["fit", str(votes), "--show", str(show), "--out", str(out)])


def test_a_png_has_the_pixels_that_were_written():
    image = pytest.importorskip("PIL.Image")
    grey = np.random.default_rng(0).integers(0, 256, size=(5, 7), dtype=np.uint8)
    np.testing.assert_array_equal(np.asarray(image.open(BytesIO(png_bytes(grey)))), grey)


def test_pictures_and_texts_of_a_folder(votes, tmp_path):
    folder = tmp_path / "items"
    folder.mkdir()
    picture = png_bytes(np.zeros((2, 2), dtype=np.uint8))
    (folder / "x.png").write_bytes(picture)
    (folder / "y.txt").write_text("<script>alert(1)</script> & more", encoding="utf-8")
    (folder / "other.txt").write_text("a stranger", encoding="utf-8")
    result = fit(votes, folder, tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "has nothing to show for 1 item" in result.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    section = re.search(r'<section id="pictures">.*?</section>', page, re.DOTALL).group()
    assert f"data:image/png;base64,{base64.b64encode(picture).decode()}" in section
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in section
    assert "<script>" not in section
    assert "a stranger" not in page
    assert "img-src data:;" in page
    assert re.findall(r'title="(.*?)"', section) == ["1. x", "2. y", "3. z"]


def test_texts_of_a_table(votes, tmp_path):
    table = tmp_path / "items.csv"
    table.write_text("item,text,title\nx,long x,short\ny,long y,tiny\nz,,\n", encoding="utf-8")
    assert fit(votes, table, tmp_path / "out").exit_code == 0
    assert "long x" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert fit(votes, f"{table}:title", tmp_path / "out").exit_code == 0
    assert "tiny" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    result = fit(votes, f"{table}:titel", tmp_path / "out")
    assert result.exit_code == 2
    assert "no column 'titel'" in result.stderr


def test_a_page_without_pictures_allows_none(votes, tmp_path):
    assert CliRunner().invoke(main, ["fit", str(votes), "--out", str(tmp_path / "out")]).exit_code == 0
    assert "img-src" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'<?xml version="1.0"?><svg onload="x()"/>', "an SVG, which can hold scripts"),
        (b"\xff\xd8\xff" + bytes(LARGEST), "a picture of 200,003 bytes"),
        (b"\x00\xff\xfe\xfd", "neither a picture nor text"),
    ],
)
def test_what_cannot_be_shown_is_refused(content, message):
    with pytest.raises(InputError, match=message):
        view_of(content, "x")


def test_names_cannot_leave_their_attribute():
    assert 'alt="&quot;&gt;&lt;b&gt;"' in ItemView(picture=png_bytes(np.zeros((1, 1), np.uint8))).markup('"><b>')


def test_show_needs_a_report_and_something_to_show(votes, tmp_path):
    result = CliRunner().invoke(main, ["fit", str(votes), "--show", str(tmp_path)])
    assert "--show needs --out DIR" in result.stderr
    (tmp_path / "empty").mkdir()
    assert "nothing to show for any item" in fit(votes, tmp_path / "empty", tmp_path / "out").stderr
