"""Writing files whole or not at all: beside the target, then renamed over it.

In:  a target path and its content.   Out: the file, or an untouched target.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcopt_assets.plots.style import Drawing


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A temporary path in the target's folder that replaces the target if the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{secrets.token_hex(8)}.tmp"
    temporary.touch(exist_ok=False)  # with the permissions that the user's umask gives new files
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_beside(target: Path, content: bytes) -> None:
    """Replace the target's content in one step."""
    with beside(target) as temporary:
        temporary.write_bytes(content)


def write_drawings(folder: Path, drawings: Sequence[Drawing]) -> Path:
    """The drawings as the folder's SVG files, each written whole; those of an earlier run go."""
    written = {drawing.file_name for drawing in drawings}
    for drawing in drawings:
        write_beside(folder / drawing.file_name, drawing.svg.encode())
    for path in folder.glob("*.svg"):
        if path.name not in written:
            path.unlink()
    return folder
