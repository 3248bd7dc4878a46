"""A study to try: handwritten digits as small images."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from jamrank.studio.items import Item, Part
from jamrank.studio.setup import Material
from jamrank.studio.study import Study

_N_ITEMS = 40
_SCALE = 24


def demo_material(folder: Path) -> Material:
    """Write forty images of digits into a folder and return a study of them.

    scikit-learn brings the images; without it the digits are texts.
    """
    items = _digits(folder)
    study = Study(
        title="Demo: handwritten digits",
        question="Which digit is larger?",
        votes_per_judge=40,
        instructions="You see two handwritten digits. Choose the one with the **larger value**.",
        texts={"choose_a": "A is larger", "choose_b": "B is larger", "tie": "The same"},
    )
    return Material(study, "demo", tuple(items), folder.resolve(), "demo")


def _digits(folder: Path) -> list[Item]:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return [Item(f"digit-{n % 10}-{n // 10}", (Part("text", str(n % 10)),)) for n in range(_N_ITEMS)]
    images, digits = load_digits(return_X_y=True)
    folder.mkdir(parents=True, exist_ok=True)
    items = []
    for place in range(_N_ITEMS):
        name = f"digit-{digits[place]}-{place:02d}.png"
        with (folder / name).open("wb") as file:
            file.write(_png(images[place].reshape(8, 8)))
        items.append(Item(name.removesuffix(".png"), (Part("image", name),)))
    return items


def _png(image: object) -> bytes:
    """Write grey values from 0 to 16 as a PNG, each a square of some pixels, dark on white."""
    import numpy as np

    grey = np.kron(255 - np.asarray(image) * 15.9375, np.ones((_SCALE, _SCALE))).astype(np.uint8)
    height, width = grey.shape
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
