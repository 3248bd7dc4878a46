"""The picture of the report in the docs: runs the demo and takes a screenshot of the page that it writes.

``make report-figure`` runs it and writes docs/images/report.png. Needs playwright and a chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
SIZE = {"width": 1000, "height": 1500}


def main() -> None:
    chromium = os.environ.get("JAMRANK_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium found; name one in JAMRANK_CHROMIUM")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "jamrank", "demo", "--out", "jamrank-demo", "-q"], cwd=folder, check=True
        )
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.goto((Path(folder) / "jamrank-demo" / "report.html").as_uri())
            page.screenshot(path=PICTURE)
            browser.close()
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
