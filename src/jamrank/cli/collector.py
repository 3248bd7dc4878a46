"""Python's search for unused objects, which finds none while modules are imported but slows this down."""

from __future__ import annotations

import gc
import sys


def pause_collector() -> None:
    """Stop searching until :func:`resume_collector`, if the libraries are still to be imported."""
    if "numpy" not in sys.modules:
        gc.disable()


def resume_collector() -> None:
    """Search again, but not among the objects that there are by now: modules stay."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
