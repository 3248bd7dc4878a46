"""External files and markup, made safe to show: file types, Markdown, SVG."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from jamrank.errors import InputError

FILE_KINDS = ("image", "audio", "video")
_LARGEST_SVG = 2_000_000
_LARGEST_TEXT = 400_000

# By extension: the kind of item, and its media type.
_ENDINGS = {
    "png": ("image", "image/png"),
    "jpg": ("image", "image/jpeg"),
    "jpeg": ("image", "image/jpeg"),
    "gif": ("image", "image/gif"),
    "webp": ("image", "image/webp"),
    "avif": ("image", "image/avif"),
    "svg": ("image", "image/svg+xml"),
    "mp3": ("audio", "audio/mpeg"),
    "ogg": ("audio", "audio/ogg"),
    "oga": ("audio", "audio/ogg"),
    "opus": ("audio", "audio/ogg"),
    "wav": ("audio", "audio/wav"),
    "flac": ("audio", "audio/flac"),
    "m4a": ("audio", "audio/mp4"),
    "mp4": ("video", "video/mp4"),
    "m4v": ("video", "video/mp4"),
    "webm": ("video", "video/webm"),
    "ogv": ("video", "video/ogg"),
    "txt": ("text", "text/plain"),
    "md": ("markdown", "text/markdown"),
}
# First bytes of files, by type.
_BEGINNINGS: dict[str, tuple[re.Pattern[bytes], ...]] = {
    "image/png": (re.compile(rb"\x89PNG\r\n\x1a\n"),),
    "image/jpeg": (re.compile(rb"\xff\xd8\xff"),),
    "image/gif": (re.compile(rb"GIF8[79]a"),),
    "image/webp": (re.compile(rb"RIFF....WEBP", re.DOTALL),),
    "image/avif": (re.compile(rb"....ftyp(avif|avis|mif1)", re.DOTALL),),
    "audio/mpeg": (re.compile(rb"ID3"), re.compile(rb"\xff[\xe2-\xff]")),
    "audio/ogg": (re.compile(rb"OggS"),),
    "video/ogg": (re.compile(rb"OggS"),),
    "audio/wav": (re.compile(rb"RIFF....WAVE", re.DOTALL),),
    "audio/flac": (re.compile(rb"fLaC"), re.compile(rb"ID3")),
    "audio/mp4": (re.compile(rb"....ftyp", re.DOTALL),),
    "video/mp4": (re.compile(rb"....ftyp", re.DOTALL),),
    "video/webm": (re.compile(rb"\x1aE\xdf\xa3"),),
}


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


def kind_of_name(name: str) -> Any:
    """Return the kind of item by the extension of a file; None for others."""
    return _ENDINGS.get(_ending(name), (None, ""))[0]


def media_type(name: str) -> str:
    """Return the type that a file is served as."""
    return _ENDINGS[_ending(name)][1]


def resolve(root: Path, name: str) -> Path:
    """Return the path of a file below the media folder; raise for any path outside it."""
    if "\x00" in name:
        raise InputError("a file name has a zero byte", "rename the file")
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        raise InputError(f"{name!r} is outside the folder of the items", "put the file below that folder")
    return path


def check_file(root: Path, name: str, kind: str) -> None:
    """Raise for a file that is missing, outside the folder, or does not match its extension."""
    path = resolve(root, name)
    if not path.is_file():
        raise InputError(f"the file {name!r} is not there", f"expected it in {root}")
    if kind_of_name(name) != kind:
        raise InputError(f"{name!r} is not {kind}", f"its ending says {kind_of_name(name) or 'nothing known'}")
    with path.open("rb") as file:
        check_beginning(name, file.read(_LARGEST_SVG + 1 if _ending(name) == "svg" else 64))


def check_upload(name: str, content: bytes) -> str:
    """Raise for an upload that does not match its extension; return its kind."""
    kind = kind_of_name(name)
    if kind is None:
        raise InputError(
            f"{name[:80]!r} is of an unknown kind", "expected an image, audio, video, text or Markdown file"
        )
    if kind in ("text", "markdown"):
        _decoded(content, name)
    else:
        check_beginning(name, content)
    return str(kind)


def check_beginning(name: str, content: bytes) -> None:
    """Raise for a file whose first bytes do not match its type, or an SVG that cannot be made safe."""
    type_ = media_type(name)
    if type_ == "image/svg+xml":
        sanitised_svg(content)
    elif type_ in _BEGINNINGS and not any(pattern.match(content) for pattern in _BEGINNINGS[type_]):
        raise InputError(f"{name[:80]!r} does not have the content of {type_}", "rename it with the right ending")


def read_text_file(root: Path, name: str) -> str:
    """Read a text or Markdown file of the media folder."""
    with resolve(root, name).open("rb") as file:
        return _decoded(file.read(_LARGEST_TEXT + 1), name)


def _decoded(content: bytes, name: str) -> str:
    if len(content) > _LARGEST_TEXT:
        raise InputError(f"{name[:80]!r} has more than {_LARGEST_TEXT:,} bytes", "shorten the text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name[:80]!r} is not UTF-8", "save the text as UTF-8") from None


# -- Markdown ---------------------------------------------------------------------------------------------------

_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}


@lru_cache(maxsize=4096)
def render_markdown(text: str) -> str:
    """Turn Markdown into markup without scripts, styles, images, frames or forms; links leave no referrer."""
    import nh3
    from markdown_it import MarkdownIt

    written = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).render(text)
    return nh3.clean(
        written,
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


# -- SVG --------------------------------------------------------------------------------------------------------

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_SVG_TAGS = {
    *("svg", "g", "defs", "symbol", "use", "title", "desc", "path", "rect", "circle", "ellipse", "line", "polyline"),
    *("polygon", "text", "tspan", "textPath", "linearGradient", "radialGradient", "stop", "clipPath", "mask"),
    *("pattern", "marker", "image", "style", "filter", "feGaussianBlur", "feOffset", "feBlend", "feColorMatrix"),
    *("feMerge", "feMergeNode", "feFlood", "feComposite", "feDropShadow"),
}
_DATA_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*$")
_REACHES_OUT = re.compile(r"url\(\s*['\"]?(?!#)|@import|expression|javascript:|\\", re.IGNORECASE)


def sanitised_svg(content: bytes) -> bytes:
    """Return an SVG without scripts and external resources: only known elements and internal links.

    Raises InputError: If it is not an SVG, is too large, or has a document type (whose entities could expand without
        limit).
    """
    if len(content) > _LARGEST_SVG:
        raise InputError(f"an SVG of more than {_LARGEST_SVG:,} bytes", "simplify it, or save it as PNG")
    if re.search(rb"<!\s*(DOCTYPE|ENTITY)", content, re.IGNORECASE) or b"\x00" in content:
        content = re.sub(rb"<!DOCTYPE[^\[>]*>", b"", content, count=1)
        if re.search(rb"<!\s*(DOCTYPE|ENTITY)", content, re.IGNORECASE) or b"\x00" in content:
            raise InputError("an SVG with entities of its own, or in UTF-16", "save it as plain SVG in UTF-8")
    try:
        root = ET.fromstring(content)
    except (ET.ParseError, ValueError, LookupError):
        raise InputError("an SVG that is not XML", "save it again, or as PNG") from None
    if root.tag != f"{_SVG}svg":
        raise InputError("a file named .svg that is not an SVG", "rename it with the right ending")
    _clean(root)
    ET.register_namespace("", _SVG[1:-1])
    ET.register_namespace("xlink", _XLINK[1:-1])
    written: bytes = ET.tostring(root, encoding="utf-8")
    return written


def _clean(element: ET.Element) -> None:
    for child in list(element):
        name = str(child.tag).removeprefix(_SVG)
        unsafe_style = name == "style" and _REACHES_OUT.search("".join(child.itertext())) is not None
        if name not in _SVG_TAGS or unsafe_style:
            element.remove(child)
        else:
            _clean(child)
    for name in list(element.attrib):
        if not _is_safe(name, element.attrib[name]):
            del element.attrib[name]


def _is_safe(name: str, value: str) -> bool:
    if name in ("href", f"{_XLINK}href"):
        return value.strip().startswith("#") or _DATA_IMAGE.match(value.strip()) is not None
    if name.startswith("{") or name.lower().startswith("on"):
        return False
    return _REACHES_OUT.search(value) is None
