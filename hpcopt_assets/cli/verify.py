"""Is a bundle what it says it is, and do its results come out again?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.cli.app import app, utf8
from hpcopt_assets.cli.asked import JsonOption
from hpcopt_assets.contracts.errors import ContractError, InputError
from hpcopt_assets.orchestration.terminal import complain, plural, say

if TYPE_CHECKING:
    from hpcopt_assets.bundle.comparing import Finding
    from hpcopt_assets.contracts.bundle import Manifest

REPLICAS = 5
WIDTH = 12


@app.command()
def verify(
    bundle: Annotated[Path, typer.Argument(callback=utf8, help="A folder that `hpcopt export` wrote.")],
    replicas: Annotated[
        int, typer.Option(min=1, help="How many shaken replicas to replay, spread over all.")
    ] = REPLICAS,
    full: Annotated[
        bool, typer.Option("--full", help="Replay every shaken replica, stress and sensitivity too.")
    ] = False,
    sha256: Annotated[
        str | None, typer.Option(help="What manifest.json must hash to, as the exporter told it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every byte of a bundle against its manifest, then compute its results again.

    Needs neither a store nor Dagster. Says of every table what agrees, what differs and what could not be
    checked; the exit code is 0 only if nothing differs.
    """
    from hpcopt_assets.bundle.integrity import check

    if not bundle.is_dir():
        raise InputError("no folder", "a folder that `hpcopt export` wrote", str(bundle), "Name another.")
    if sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise InputError(repr(sha256), "64 hexadecimal digits", "--sha256", "Copy it whole.")
    manifest, problems = check(bundle, sha256)
    for problem in problems:
        complain(f"{problem.file}: {problem.what}")
    if problems or manifest is None:
        if as_json:
            say(
                json.dumps(
                    {"problems": [problem._asdict() for problem in problems], "findings": []}, indent=2
                )
            )
        complain(
            f"{plural(len(problems), 'fault')} in the files of {bundle}: nothing was computed. "
            "Ask for them again."
        )
        raise typer.Exit(ContractError.exit_code)
    size = plural(len(manifest.files), "file")
    if not as_json:
        say(f"{size} and the manifest have their sizes and hashes, and nothing else is there.")
        say(f"Trace {manifest.trace_id}, names {'kept' if manifest.names == 'kept' else 'as pseudonyms'}.")
    _say_other_code(manifest)
    findings = list(_told(bundle, manifest, None if full else replicas, is_quiet=as_json))
    _conclude(manifest, findings, is_vouched=sha256 is not None, as_json=as_json)


def _told(bundle: Path, manifest: Manifest, replicas: int | None, *, is_quiet: bool) -> list[Finding]:
    from hpcopt_assets.cli.recompute import recompute

    found = []
    for finding in recompute(bundle, manifest, replicas):
        found.append(finding)
        if not is_quiet:
            say(f"{finding.state:<{WIDTH}} {finding.what}: {finding.note}")
    return found


def _say_other_code(manifest: Manifest) -> None:
    """On standard error: rooms of this program that are not those that made the bundle."""
    from hpcopt_assets.orchestration.versions import source_hash

    other = [room for room, made_by in manifest.source_hashes.items() if source_hash(room) != made_by]
    if other:
        complain(
            f"The source of {', '.join(other)} is not that which made the bundle (hpcopt-assets "
            f"{manifest.environment.get('hpcopt-assets', 'unknown')}): what differs may differ for that."
        )


def _conclude(manifest: Manifest, findings: list[Finding], *, is_vouched: bool, as_json: bool) -> None:
    from hpcopt_assets.bundle.comparing import State

    count = {state: sum(finding.state is state for finding in findings) for state in State}
    if as_json:
        told = [
            {"what": finding.what, "state": finding.state.value, "note": finding.note} for finding in findings
        ]
        say(json.dumps({"trace": manifest.trace_id, "problems": [], "findings": told}, indent=2))
    else:
        say()
        say(
            f"{count[State.AGREES]} agree, {count[State.DIFFERS]} differ, "
            f"{count[State.NOT_CHECKED]} could not be checked."
        )
        if not is_vouched:
            say(
                "Hashes show that the files belong together, not who made them: compare the SHA-256 of "
                "manifest.json with what the exporter told you, or give it with --sha256."
            )
    if count[State.DIFFERS]:
        raise typer.Exit(ContractError.exit_code)
