"""Writing files whole or not at all: beside the target, then renamed over it.

In:  a target path and its content.   Out: the file, or an untouched target.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A temporary path in the target's folder that replaces the target if the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_beside(target: Path, content: bytes) -> None:
    """Replace the target's content in one step."""
    with beside(target) as temporary:
        temporary.write_bytes(content)
