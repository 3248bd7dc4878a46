"""Install each wheel and sdist into an environment of its own, outside the checkout, and see that it works there.

Usage: ``python packaging/try_distributions.py dist/*``; ``make wheel`` does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
# Small ones that need nothing but jamrank, and look at every model and at the command line.
TESTS = ["tests/golden", "tests/noise"]
SMOKE = """
import jamrank, jamrank.kernels
assert jamrank.kernels.compiled, "the wheel has no compiled kernels"
assert "site-packages" in jamrank.__file__, jamrank.__file__
print("jamrank", jamrank.__version__, "from", jamrank.__file__)
"""
TIMEOUT = 900


def run(command: list[str], folder: Path) -> None:
    """Run a command outside the source tree, without its environment."""
    print("$", " ".join(command), flush=True)
    apart = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    subprocess.run(command, cwd=folder, env=apart, check=True, timeout=TIMEOUT)


def try_distribution(distribution: Path, folder: Path) -> None:
    """Install into a new environment; fit by command line and run some tests, with no source in reach."""
    run([sys.executable, "-m", "venv", "venv"], folder)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python, jamrank = str(programs / "python"), str(programs / "jamrank")
    install = ["-m", "pip", "install", "-q", "--disable-pip-version-check"]
    run([python, *install, str(distribution), "pytest", "pytest-timeout", "hypothesis"], folder)
    run([python, "-c", SMOKE], folder)
    run([jamrank, "simulate", "--items", "12", "--annotators", "5", "--votes", "600", "--quiet"], folder)
    run([jamrank, "fit", "votes.csv", "--model", "JAM", "--out", "results", "--quiet"], folder)
    if not (folder / "results" / "report.html").exists():
        raise SystemExit("the fit left no report")
    shutil.copytree(CHECKOUT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", folder)
    run([python, "-m", "pytest", *TESTS], folder)


def main() -> None:
    """Try every distribution that is named."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n== {name}", flush=True)
            try_distribution(Path(name).resolve(), Path(folder))
    print("\nAll of them work.")


if __name__ == "__main__":
    main()
