"""Drawings as files, for the assets that draw.

In:  a folder, drawings.   Out: its SVG files.
"""

from collections.abc import Sequence
from pathlib import Path

from hpcopt_assets.orchestration.files import write_beside
from hpcopt_assets.plots.style import Drawing


def write_drawings(folder: Path, drawings: Sequence[Drawing]) -> Path:
    """The drawings as the folder's SVG files, each written whole; those of an earlier run go."""
    written = {drawing.file_name for drawing in drawings}
    for drawing in drawings:
        write_beside(folder / drawing.file_name, drawing.svg.encode())
    for path in folder.glob("*.svg"):
        if path.name not in written:
            path.unlink()
    return folder
