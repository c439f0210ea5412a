"""Entry point, and how a command ends."""

from __future__ import annotations

import io
import sys

import typer
from typer.exceptions import TyperException

from hpcopt_assets.cli import (  # noqa: F401 -- they register
    differ,
    dossier,
    export,
    fidelity,
    files,
    forecast,
    graph,
    placement,
    results,
    verify,
    whatif,
)
from hpcopt_assets.cli.app import app
from hpcopt_assets.contracts.errors import HpcoptError, InputError
from hpcopt_assets.orchestration.terminal import complain, reader_has_gone


def main() -> None:
    """Entry point: each error is one sentence with its next step; tracebacks only with --debug."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    arguments = sys.argv[1:]
    try:
        sys.exit(_exit_code(arguments))
    except HpcoptError as error:
        if "--debug" in arguments:
            raise
        complain(str(error))
        sys.exit(error.exit_code)
    except Exception as error:
        if "--debug" in arguments:
            raise
        complain(
            f"{type(error).__name__}: {str(error).rstrip('.')}. This is a fault of ours: "
            "run `hpcopt --debug ...` and report what it prints."
        )
        sys.exit(1)


def _exit_code(arguments: list[str]) -> int:
    """Run a command; wrong usage is said here, and what the system refuses becomes an InputError."""
    try:
        code = app(arguments or ["--help"], prog_name="hpcopt", standalone_mode=False) or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return reader_has_gone()
    except TyperException as error:
        context: typer.Context | None = getattr(error, "ctx", None)
        command = context.command_path if context else "hpcopt"
        said = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
        complain(f"{said}. See `{command} --help`.")
        return error.exit_code
    except typer.Abort:
        return 1
    except (OSError, UnicodeEncodeError) as error:
        raise InputError.of_system(error) from error
