"""Write the golden file: ``python -m tests.golden.write``.

It was written at commit 13ef558, before the internals were redesigned. Whoever changes results on purpose names them,
here and in the CHANGELOG, and rewrites those alone::

    python -m tests.golden.write --only '*:AmElo*/score_se' --because 'errors of AmElo count the scale'

A pattern is one of ``data:Model(variant)/column``; it may be given several times. New cases match ``name/*``.
"""

from __future__ import annotations

import argparse
import gzip
import json
from fnmatch import fnmatchcase
from typing import Any

from tests.golden.cases import CASES, Case
from tests.golden.data import DATA
from tests.golden.record import FILE, fit, read, record


def main() -> None:
    """Write everything, or what the patterns name."""
    parser = argparse.ArgumentParser(description="Write the golden file.")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="rewrite only what matches")
    parser.add_argument("--because", help="why, with --only")
    asked = parser.parse_args()
    if bool(asked.only) != bool(asked.because):
        parser.error("--only and --because belong together")
    for case in CASES.values():
        require_every_parameter(case)
    held = rewritten(read(), asked.only, asked.because) if asked.only else whole()
    text = json.dumps(held, separators=(",", ":"), ensure_ascii=False)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{FILE.name}: {len(held['cases'])} fits, {FILE.stat().st_size:,} bytes")


def whole() -> dict[str, Any]:
    return {
        "rewritten": [],
        "data": {name: data.checksum for name, data in DATA.items()},
        "cases": {name: record(case) for name, case in CASES.items()},
    }


def rewritten(held: dict[str, Any], patterns: list[str], reason: str) -> dict[str, Any]:
    """Return what the file holds with what the patterns name anew; the rest to the bit as it was."""
    for name, case in CASES.items():
        if any(fnmatchcase(name, pattern.partition("/")[0]) for pattern in patterns):
            now, before = record(case), held["cases"].get(name, {})
            changed = {column for column in now | before if named_by(patterns, f"{name}/{column}")}
            kept = {column: value for column, value in before.items() if column not in changed}
            held["cases"][name] = kept | {column: now[column] for column in now if column in changed}
    for name, data in DATA.items():
        held["data"].setdefault(name, data.checksum)
    held["rewritten"].append({"only": patterns, "because": reason})
    return held


def named_by(patterns: list[str], path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def require_every_parameter(case: Case) -> None:
    left_out = set(fit(case).get_params()) - set(case.parameters)
    if left_out:
        raise SystemExit(f"{case.name} leaves {', '.join(sorted(left_out))} to their defaults; name them in cases.py")


if __name__ == "__main__":
    main()
