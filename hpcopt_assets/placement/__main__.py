"""`python -m hpcopt_assets.placement`: the published script's flags, without the rest of `hpcopt`.

In:  arguments.   Out: lines on standard output; exit code 2 where the input is at fault.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hpcopt_assets.contracts.errors import HpcoptError, InputError
from hpcopt_assets.placement.command import ROWS, Asked, predict_lines


def main(arguments: list[str]) -> int:
    """Exit code."""
    parser = argparse.ArgumentParser("python -m hpcopt_assets.placement", description=predict_lines.__doc__)
    parser.add_argument("command", nargs="?", choices=["predict"], help="may be left out")
    for name in ("onnx", "bundle", "parquet"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--n", type=int, default=ROWS, help="rows to load; 0 for all")
    parser.add_argument("--label_col", help="column of labels; adds a line of metrics")
    parser.add_argument("--threshold", type=float, help="failed from this chance on; the bundle's if absent")
    parser.add_argument("--explain", action="store_true", help="likely cause, and what moved the score most")
    given = vars(parser.parse_args(arguments))
    given.pop("command")
    try:
        for line in predict_lines(Asked(**given)):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough; what is still held back goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (HpcoptError, OSError) as error:
        said = InputError.of_system(error) if isinstance(error, OSError) else error
        sys.stderr.write(f"hpcopt: {said}\n")
        return said.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
