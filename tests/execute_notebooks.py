"""Run notebooks in place under nbdev's rules on which cells run, and keep their outputs.

    python tests/execute_notebooks.py [--slow] [NOTEBOOK ...]

Without names every notebook runs. `#| slow` cells (the embedding model) run only with --slow; else their
saved outputs stay.
"""

import os
import sys
import time
from pathlib import Path

from execnb.nbio import read_nb, write_nb
from execnb.shell import CaptureShell
from fastcore.xtras import working_directory
from nbdev.config import get_config
from nbdev.doclinks import nbglob
from nbdev.process import NBProcessor


def skipped(path, flags):
    "The indexes of the code cells that nbdev would not run: flagged, `eval: false`, or the closing export."
    for cell in NBProcessor(path, process=False).nb.cells:
        directives = getattr(cell, "directives_", None) or {}
        if cell.cell_type == "code" and (
            flags & directives.keys()
            or directives.get("eval:", [""])[0].lower() == "false"
            or "nbdev_export(" in cell.source
        ):
            yield cell.idx_


def main(args):
    flags = set(get_config().tst_flags.split()) - ({"slow"} if "--slow" in args else set())
    names = [Path(a) for a in args if a != "--slow"] or nbglob(as_path=True)
    os.environ["IN_TEST"] = "1"
    for path in sorted(p.resolve() for p in names):
        start, nb, skip = time.time(), read_nb(path), set(skipped(path, flags))
        for cell in nb.cells:
            if cell.cell_type == "code" and cell.idx_ not in skip:
                cell.outputs = []  # a cell that prints nothing now must not keep what it printed once
        shell = CaptureShell(path)
        with working_directory(path.parent):
            shell.run_all(
                nb, exc_stop=True, preproc=lambda c, skip=skip: c.cell_type != "code" or c.idx_ in skip
            )
        write_nb(nb, path)
        print(f"{path.name}: {time.time() - start:.1f} s" + (f", {len(skip)} cells skipped" if skip else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
