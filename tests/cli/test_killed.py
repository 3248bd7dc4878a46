"""Whatever kills a run while it writes: each file is the old one or the new one, and whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# A process that has fitted two models and writes their files in turn, killed again and again at a random moment.
KILLED = """
import os, random, signal, sys, time
from pathlib import Path

import jamrank as jr
from jamrank.cli.results import fitted_files
from jamrank.report.exports import EXPORTS, exported
from jamrank.io import publish_run as write_together

folder = Path(sys.argv[1])
versions = []
for seed in (1, 2):
    votes = jr.simulate(n_items=25, n_annotators=5, n_votes=1500, random_state=seed).votes
    model = jr.JAM(tol=1e-2).fit(votes)
    files = fitted_files(model, votes, "votes", {}) | exported(model, list(EXPORTS))
    versions.append({name: c.encode() if isinstance(c, str) else c for name, c in files.items()})
write_together(folder, versions[0])
rng, amid = random.Random(0), 0
for _ in range(25):
    child = os.fork()
    if not child:
        while True:
            for version in versions:
                write_together(folder, version)
    time.sleep(rng.uniform(0.005, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    left = {path.name for path in folder.iterdir()}
    unfinished = {name for name in left if name.endswith(".tmp")}
    amid += bool(unfinished)
    assert left - unfinished == set(versions[0]), left
    for name in versions[0]:
        assert (folder / name).read_bytes() in [version[name] for version in versions], name
    for name in unfinished:
        (folder / name).unlink()
print(amid)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_that_is_killed_while_it_writes_leaves_every_file_whole(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "JAMRANK_THREADS": "1", "POLARS_MAX_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    # Most of them were killed in the middle of it; otherwise this would show nothing.
    assert int(done.stdout) >= 5
