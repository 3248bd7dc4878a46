"""Write examples/answers.jsonl: eight systems answer twenty-five questions, for judges that are simulated.

Simulated judges cannot read; they look at the mark in brackets at the end of each answer.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from jamrank.jury.simulated import marked

SYSTEMS = {
    "birch-large": (1.2, "birch"),
    "cedar-large": (1.0, "cedar"),
    "birch-medium": (0.6, "birch"),
    "maple": (0.4, "maple"),
    "cedar-small": (0.0, "cedar"),
    "birch-small": (-0.3, "birch"),
    "oak-base": (-0.8, "oak"),
    "willow-tiny": (-1.4, "willow"),
}
TOPICS = [
    "rainbows", "tides", "yeast", "compilers", "glaciers", "bridges", "vaccines", "inflation", "lightning", "maps",
    "steel", "sleep", "batteries", "earthquakes", "clocks", "soap", "search engines", "photosynthesis", "sails",
    "prime numbers", "bees", "lenses", "democracy", "fermentation", "tunnels",
]  # fmt: skip
SENTENCES = [
    "In short, several causes work together here.",
    "The main point is easy to state and takes some care to prove.",
    "A common mistake is to look at one part alone.",
    "An example makes this clearer than a definition.",
    "There are exceptions, but they follow the same rule.",
    "People noticed this long before they could explain it.",
]


def main() -> None:
    draw = random.Random(19)
    lines = []
    for topic in TOPICS:
        for system, (quality, family) in SYSTEMS.items():
            text = f"About {topic}. " + " ".join(draw.sample(SENTENCES, draw.randint(1, 5)))
            answer = marked(text, quality + draw.gauss(0, 0.3), family)
            row = {"question": f"How do {topic} work?", "system": system, "text": answer, "family": family}
            lines.append(json.dumps(row))
    Path(__file__).with_name("answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
