"""Is a bundle what it says it is, and do its results come out again?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.cli.app import app, utf8
from hpcopt_assets.cli.asked import JsonOption
from hpcopt_assets.contracts.bundle import MANIFEST
from hpcopt_assets.contracts.errors import ContractError, InputError
from hpcopt_assets.orchestration.terminal import complain, one_line, plural, say

if TYPE_CHECKING:
    from hpcopt_assets.bundle.comparing import Finding
    from hpcopt_assets.contracts.bundle import Manifest

REPLICAS = 5
WIDTH = 12


@app.command()
def verify(
    bundle: Annotated[Path, typer.Argument(callback=utf8, help="A folder that `hpcopt export` wrote.")],
    replicas: Annotated[
        int, typer.Option(min=1, help="How many shaken replicas to replay, drawn from all.")
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
    from hpcopt_assets.bundle.comparing import State
    from hpcopt_assets.bundle.integrity import check, sha256_of

    if not bundle.is_dir():
        raise InputError("no folder", "a folder that `hpcopt export` wrote", str(bundle), "Name another.")
    if sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise InputError(repr(sha256), "64 hexadecimal digits", "--sha256", "Copy it whole.")
    manifest, problems = check(bundle, sha256)
    for problem in problems:
        complain(f"{problem.file}: {problem.what}")
    if problems or manifest is None:
        if as_json:
            told = [problem._asdict() for problem in problems]
            say(json.dumps({"problems": told, "findings": []}, indent=2))
        complain(
            f"{plural(len(problems), 'fault')} in the files of {bundle}: nothing was computed. "
            "Ask for them again."
        )
        raise typer.Exit(ContractError.exit_code)
    found_sha256 = sha256_of(bundle / MANIFEST)
    if not as_json:
        size = plural(len(manifest.files), "file")
        say(f"{size} and the manifest have their sizes and hashes, and nothing else is there.")
        say(f"SHA-256 of {MANIFEST}: {found_sha256}")
        say(f"Trace {manifest.trace_id}, names {'kept' if manifest.names == 'kept' else 'as pseudonyms'}.")
    others = _made_otherwise(manifest)
    for other in others:
        complain(other)
    findings = list(_told(bundle, manifest, None if full else replicas, is_quiet=as_json))
    if as_json:
        about = {"trace": manifest.trace_id, "names": manifest.names, "manifest_sha256": found_sha256}
        _say_json(about | {"is_vouched": sha256 is not None, "made_otherwise": others}, findings)
    else:
        _conclude(findings, is_vouched=sha256 is not None)
    if any(finding.state is State.DIFFERS for finding in findings):
        raise typer.Exit(ContractError.exit_code)


def _told(bundle: Path, manifest: Manifest, replicas: int | None, *, is_quiet: bool) -> list[Finding]:
    import numpy as np

    from hpcopt_assets.cli.recompute import recompute

    found = []
    # Drawn anew at every call: whoever forges a bundle must not know which replicas nobody looks at.
    for finding in recompute(bundle, manifest, replicas, np.random.default_rng()):
        found.append(finding)
        if not is_quiet:
            say(one_line(f"{finding.state:<{WIDTH}} {finding.what}: {finding.note}"))
    return found


def _made_otherwise(manifest: Manifest) -> list[str]:
    """What of this program, and of what it stands on, is not that which made the bundle; a sentence each."""
    from hpcopt_assets.orchestration.versions import environment, source_hashes

    here, there = source_hashes(), manifest.source_hashes
    rooms = sorted(room for room in here.keys() | there.keys() if here.get(room) != there.get(room))
    said = []
    if rooms:
        made_by = manifest.environment.get("hpcopt-assets", "unknown")
        said.append(
            f"The source of {', '.join(rooms)} is not that which made the bundle (hpcopt-assets {made_by}): "
            "what differs may differ for that."
        )
    packages = [
        f"{name} {manifest.environment.get(name, 'unknown')} (here {version})"
        for name, version in environment().items()
        if manifest.environment.get(name) != version
    ]
    if packages:
        said.append(f"The bundle was made with {', '.join(packages)}: last digits may differ for that.")
    return said


def _say_json(about: dict[str, object], findings: list[Finding]) -> None:
    told = [{"what": each.what, "state": each.state.value, "note": each.note} for each in findings]
    say(json.dumps(about | {"problems": [], "findings": told}, indent=2))


def _conclude(findings: list[Finding], *, is_vouched: bool) -> None:
    from hpcopt_assets.bundle.comparing import State

    count = {state: sum(finding.state is state for finding in findings) for state in State}
    say()
    say(
        f"{count[State.AGREES]} agree, {count[State.DIFFERS]} differ, "
        f"{count[State.NOT_CHECKED]} could not be checked."
    )
    if not is_vouched:
        say(
            "Hashes show that the files belong together, not who made them: compare the SHA-256 of "
            f"{MANIFEST} with what the exporter told you, or give it with --sha256."
        )
