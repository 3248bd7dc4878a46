from __future__ import annotations

import random

import pytest

pytest.importorskip("aiohttp")
pytest.importorskip("sqlalchemy")

from jamrank.collect import Item
from jamrank.jury import Contents
from jamrank.jury.simulated import marked


def make_contents(n_systems: int = 4, n_questions: int = 5, spread: float = 0.6, seed: int = 0) -> Contents:
    draw = random.Random(seed)
    items = [
        Item(
            f"s{k}",
            f"q{q}",
            marked("word " * draw.randint(5, 40), spread * k, "ours" if k % 2 else "theirs"),
            details={"family": "ours" if k % 2 else "theirs"},
        )
        for q in range(n_questions)
        for k in range(n_systems)
    ]
    return Contents(items, {f"q{q}": f"What is {q}?" for q in range(n_questions)})


@pytest.fixture
def contents():
    return make_contents()
