from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from jamrank.errors import InputError
from jamrank.studio.items import Part, media_origins, read_items
from jamrank.studio.media import render_markdown, resolve, sanitised_svg

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def test_a_folder_of_all_kinds(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.mp3").write_bytes(b"ID3\x03")
    (tmp_path / "c.webm").write_bytes(b"\x1aE\xdf\xa3")
    (tmp_path / "d.txt").write_text("some text", encoding="utf-8")
    (tmp_path / "e.md").write_text("# Title", encoding="utf-8")
    (tmp_path / ".hidden.png").write_bytes(PNG)
    (tmp_path / "notes.docx").write_bytes(b"PK")
    items, root = read_items(tmp_path)
    assert [(item.id, item.parts[0].kind) for item in items] == [
        *[("a", "image"), ("b", "audio"), ("c", "video"), ("d", "text"), ("e", "markdown")]
    ]
    assert items[3].parts[0].content == "some text"
    assert root == tmp_path.resolve()


def test_names_that_differ_in_their_ending_keep_it(tmp_path):
    for name in ("a.png", "a.gif"):
        (tmp_path / name).write_bytes(PNG if name.endswith("png") else b"GIF89a")
    assert [item.id for item in read_items(tmp_path)[0]] == ["a.gif", "a.png"]


def test_a_table_with_mixed_parts_and_urls(tmp_path):
    (tmp_path / "x.png").write_bytes(PNG)
    (tmp_path / "items.csv").write_text(
        "item,text,image,audio,file,alt\na,words,x.png,,,A square\nb,,https://cdn.example:8443/b.png,,,\n"
        "c,,,,x.png,\nx.png,,,,,\nplain words,,,,,\n",
        encoding="utf-8",
    )
    items, _ = read_items(tmp_path / "items.csv")
    assert [[part.kind for part in item.parts] for item in items] == [
        ["text", "image"],
        ["image"],
        ["image"],
        ["image"],
        ["text"],
    ]
    assert items[0].alt == "A square"
    assert items[4].parts == (Part("text", "plain words"),)
    assert media_origins(items) == ("https://cdn.example:8443",)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("a,image,../secret.png", "outside the folder"),
        ("a,image,/etc/passwd", "outside the folder"),
        ("a,image,missing.png", "is not there"),
        ("a,image,fake.png", "does not have the content of image/png"),
        ("a,audio,x.png", "is not audio"),
        ("a,image,https://user:pw@host/x.png", "not a plain URL"),
        ('a,image,"https://host/x.png; script-src *"', "not a plain URL"),
        ("b,image,x.png", "listed twice"),
        (",image,x.png", "characters"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_its_row(tmp_path, row, told):
    (tmp_path.parent / "secret.png").write_bytes(PNG)
    (tmp_path / "x.png").write_bytes(PNG)
    (tmp_path / "fake.png").write_bytes(b"<script>")
    id_, kind, content = row.split(",", 2)
    (tmp_path / "items.csv").write_text(f"item,{kind}\nb,{'x.png' if kind == 'image' else ''}\n{id_},{content}\n")
    with pytest.raises(InputError) as caught:
        read_items(tmp_path / "items.csv")
    assert told in str(caught.value)
    assert "row 2" in str(caught.value)


def test_links_out_of_the_folder_lead_nowhere(tmp_path):
    (tmp_path / "secret.png").write_bytes(PNG)
    folder = tmp_path / "items"
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(InputError, match="outside the folder"):
        read_items(folder)
    with pytest.raises(InputError):
        resolve(folder, "a\0b")


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_items_are_no_study(tmp_path, n):
    for place in range(n):
        (tmp_path / f"{place}.png").write_bytes(PNG)
    with pytest.raises(InputError, match="at least two"):
        read_items(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_items(tmp_path / "nowhere.csv")


HOSTILE_SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 onload="alert(1)">
<script>alert(1)</script><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>
<a xlink:href="javascript:alert(1)"><text>x</text></a><use href="https://evil.example/x.svg#a"/><use href="#ok"/>
<image href="https://evil.example/x.png"/><image href="data:image/png;base64,AAAA"/><image href="data:text/html,x"/>
<rect id="ok" width="5" height="5" fill="url(#g)" style="fill:url(https://evil.example/)" onclick="x"/>
<style>@import url(https://evil.example/x.css)</style><animate attributeName="href" to="javascript:alert(1)"/>
<set attributeName="onload" to="x"/></svg>"""


def test_an_svg_keeps_its_drawing_and_loses_what_runs_or_loads():
    written = sanitised_svg(HOSTILE_SVG)
    for word in (
        b"script",
        b"alert",
        b"evil",
        b"onload",
        b"onclick",
        b"foreignObject",
        b"import",
        b"animate",
        b"text/html",
    ):
        assert word not in written, word
    root = ET.fromstring(written)
    names = [element.tag.rpartition("}")[2] for element in root]
    assert names == ["use", "use", "image", "image", "image", "rect"]
    assert b'href="#ok"' in written
    assert b'fill="url(#g)"' in written
    assert b"base64,AAAA" in written
    assert sanitised_svg(written) == written


@pytest.mark.parametrize(
    "content",
    [
        b"no xml",
        b"<svg/>",
        b'<!DOCTYPE svg [<!ENTITY a "a">]><svg xmlns="http://www.w3.org/2000/svg"/>',
        '<svg xmlns="http://www.w3.org/2000/svg"/>'.encode("utf-16"),
        b'<svg xmlns="http://www.w3.org/2000/svg">' + b" " * 2_100_000 + b"</svg>",
    ],
)
def test_what_is_no_plain_svg_is_refused(content):
    with pytest.raises(InputError):
        sanitised_svg(content)


def test_the_document_type_of_drawing_programs_is_left_out():
    content = b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://x"><svg xmlns="http://www.w3.org/2000/svg"/>'
    assert b"DOCTYPE" not in sanitised_svg(content)


def test_markdown_is_formatted_and_harmless():
    written = render_markdown(
        "# Title\n\n*em* <script>alert(1)</script> [a](javascript:alert(1)) [b](https://x.example 'y') "
        "<iframe src=x></iframe> ![i](https://x.example/y.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert "<h1>Title</h1>" in written
    assert "<em>em</em>" in written
    assert "<td>2</td>" in written
    assert '<a href="https://x.example"' in written
    assert 'rel="noopener noreferrer nofollow"' in written
    for bad in ("<script", "<iframe", "<img", 'href="javascript'):
        assert bad not in written
