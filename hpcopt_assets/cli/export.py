"""A trace's results as a folder that can be checked elsewhere."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hpcopt_assets.cli.app import app, project_and_configs, utf8
from hpcopt_assets.contracts.errors import EvidenceError, InputError
from hpcopt_assets.orchestration.terminal import plural, say

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.bundle.hiding import Hider
    from hpcopt_assets.bundle.key import Pseudonyms
    from hpcopt_assets.contracts.bundle import Manifest
    from hpcopt_assets.contracts.lineage import Materialization
    from hpcopt_assets.orchestration.configs import Configs
    from hpcopt_assets.orchestration.evidence import Stored, TraceRecords

MEGABYTE = 1_000_000


@app.command()
def export(
    trace: Annotated[str, typer.Argument(help="A trace that was run.")],
    out: Annotated[Path, typer.Option(callback=utf8, help="Folder to write; an earlier bundle is replaced.")],
    names: Annotated[
        bool, typer.Option("--names", help="Keep names of users, groups, accounts, jobs and files.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(callback=utf8, help="File of the key of pseudonyms; data/.export_key if absent."),
    ] = None,
) -> None:
    """Write what is needed to check a trace's results elsewhere: tables, configs, dossier, lineage, hashes.

    Names are replaced by keyed pseudonyms, and text that may hold names is left out. `hpcopt verify` checks
    the folder and computes its results again.
    """
    from hpcopt_assets.bundle.folder import refuse_foreign, seal, staged
    from hpcopt_assets.bundle.key import pseudonyms
    from hpcopt_assets.contracts.bundle import CONFIGS_OF_A_TRACE, seeds_of
    from hpcopt_assets.definitions import build_definitions
    from hpcopt_assets.orchestration.evidence import trace_records
    from hpcopt_assets.orchestration.instance import open_instance
    from hpcopt_assets.orchestration.versions import source_hashes

    project, configs = project_and_configs()
    refuse_foreign(out)
    key_path = key or project.export_key
    if out.resolve() in (key_path.resolve(), *key_path.resolve().parents):
        raise InputError(
            f"a key within {out}", "a key that stays at home", "--key", "Name a file outside of the bundle."
        )
    say("Reading the event log ...")
    with open_instance(project) as instance:
        known = trace_records(build_definitions(), instance, project.store, trace)
    hide = None if names else pseudonyms(key_path)
    with staged(out) as folder:
        say(f"Writing {plural(len(known.tables), 'table')} ...")
        tables, hider, about = _write_tables(folder, known, configs, hide)
        known = replace(known, lineage=_lineage(known, about["tables"], hider))
        _write_configs(folder, trace, configs, hider)
        say("Rendering the dossier ...")
        environment = _write_dossier(folder, known, configs, tables, is_as_made=hider is not None)
        _write_text(folder, known, has_names=names)
        manifest, sha256 = seal(
            folder,
            about
            | {
                "trace_id": trace,
                "names": "kept" if names else "pseudonyms",
                "key_id": None if hider is None else hider.pseudonyms.key_id,
                "left_out": [] if hider is None else sorted(hider.left_out),
                "policies": list(configs.policies.ids),
                "seeds": seeds_of({name: getattr(configs, name) for name in CONFIGS_OF_A_TRACE}),
                "environment": environment,
                "source_hashes": source_hashes(),
            },
        )
    _tell(out, manifest, sha256, None if names else key_path)


def _write_tables(
    folder: Path, known: TraceRecords, configs: Configs, hide: Pseudonyms | None
) -> tuple[dict[str, pl.DataFrame], Hider | None, dict[str, Any]]:
    """Every table, as stored where it names nobody; frames by asset, who hid them, what the manifest says."""
    import polars as pl

    from hpcopt_assets.bundle.hiding import Hider
    from hpcopt_assets.contracts.bundle import TABLES as FOLDER
    from hpcopt_assets.contracts.tables import TABLES

    contents = {stored.asset: _content(known.trace_id, stored) for stored in known.tables}
    frames = {
        asset: pl.read_parquet(io.BytesIO(content), hive_partitioning=False)
        for asset, content in contents.items()
    }
    _check_entry(known.trace_id, frames["raw_trace"], configs)
    hider = None if hide is None else Hider.of_trace(hide, frames)
    stated: list[dict[str, Any]] = []
    sources = frames["raw_trace"].select("sha256", "size_bytes").to_dicts()
    source_sha256 = frames["ingest_report"]["sha256"].item()
    for stored in known.tables:
        frame = frames[stored.asset]
        shown = frame if hider is None else hider.table(TABLES[stored.table], frame)
        is_as_stored = shown.equals(frame)
        version = stored.record.data_version
        if hider is not None and not is_as_stored:
            version = hider.version(version)
        path = f"{FOLDER}/{stored.asset}.parquet"
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_as_stored:
            target.write_bytes(contents.pop(stored.asset))
        else:
            shown.write_parquet(target, compression="zstd", statistics=True)
            frames[stored.asset] = shown
        stated.append(
            {
                "asset": stored.asset,
                "table": stored.table,
                "path": path,
                "rows_count": frame.height,
                "data_version": version,
                "is_as_stored": is_as_stored,
            }
        )
    return frames, hider, {"tables": stated, "source_files": sources, "source_sha256": source_sha256}


def _lineage(
    known: TraceRecords, tables: list[dict[str, Any]], hider: Hider | None
) -> tuple[Materialization, ...]:
    """The records as they leave: with pseudonyms, all hashes but those of files in the bundle are keyed."""
    from hpcopt_assets.bundle.hiding import keyed

    if hider is None:
        return known.lineage
    as_stored = {table["data_version"] for table in tables if table["is_as_stored"]}
    return keyed(known.lineage, as_stored, hider.pseudonyms.version)


def _content(trace_id: str, stored: Stored) -> bytes:
    """A table's bytes, once they are those that the event log recorded."""
    import hashlib

    content = stored.path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != stored.record.data_version:
        raise EvidenceError(
            found=f"SHA-256 {found[:12]}",
            needed=f"{(stored.record.data_version or 'one')[:12]}, which Dagster recorded for {stored.asset}",
            where=str(stored.path),
            next_step=f"The file was changed or is damaged: run `hpcopt run {trace_id}`.",
        )
    return content


def _check_entry(trace_id: str, raw_trace: pl.DataFrame, configs: Configs) -> None:
    """EvidenceError where the registry's entry of the trace is not the one that the trace was read by."""
    entry: dict[str, Any] = json.loads(configs.traces.entry(trace_id).model_dump_json(exclude_defaults=True))
    if json.loads(raw_trace["entry"][0]) != entry:
        raise EvidenceError(
            found="another entry than the one that it was read by",
            needed="the same",
            where=f"configs/traces.yaml, {trace_id}",
            next_step=f"Run `hpcopt run {trace_id}`, or restore the entry.",
        )


def _write_configs(folder: Path, trace_id: str, configs: Configs, hider: Hider | None) -> None:
    """The decisions in force, without comments; of the registry, the trace's entry with what it inherits."""
    import yaml

    from hpcopt_assets.contracts.bundle import CONFIGS, CONFIGS_OF_A_TRACE

    (folder / CONFIGS).mkdir()
    for name in CONFIGS_OF_A_TRACE:
        content = getattr(configs, name).model_dump(mode="json")
        if name == "traces":
            entry = configs.traces.entry(trace_id).model_dump(mode="json", exclude_defaults=True)
            entry.pop("part_of", None)  # what a part inherits stands in its entry
            shown = entry if hider is None else hider.entry(entry, "configs/traces.yaml")
            content = {"traces": {trace_id: shown}}
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
        (folder / CONFIGS / f"{name}.yaml").write_text(text, encoding="utf-8")


def _write_dossier(
    folder: Path,
    known: TraceRecords,
    configs: Configs,
    tables: Mapping[str, pl.DataFrame],
    *,
    is_as_made: bool,
) -> dict[str, str]:
    """The dossier, rendered from the bundle's own tables; the versions that it shows.

    With pseudonyms, whatever their key, it must be the one that the graph made.
    """
    from hpcopt_assets.cli.rendering import ASSET, render
    from hpcopt_assets.contracts.bundle import DOSSIER
    from hpcopt_assets.dossier.evidence import DECISIONS
    from hpcopt_assets.dossier.files import write_dossier
    from hpcopt_assets.orchestration.versions import environment

    versions = environment()
    decisions = {name: getattr(configs, name) for name in DECISIONS}
    dossier = render(known.trace_id, tables, decisions, known.lineage, versions)
    made = known.records[ASSET].data_version
    if is_as_made and dossier.substance_sha256 != made:
        raise EvidenceError(
            found=f"a dossier with hash {dossier.substance_sha256[:12]}",
            needed=f"{(made or 'one')[:12]}, which Dagster recorded",
            where=f"{ASSET} of {known.trace_id}",
            next_step=f"Run `hpcopt run {known.trace_id}`.",
        )
    write_dossier(folder / DOSSIER, dossier)
    return versions


def _write_text(folder: Path, known: TraceRecords, *, has_names: bool) -> None:
    """lineage.json, and what to do with the folder."""
    from hpcopt_assets.bundle.folder import readme
    from hpcopt_assets.contracts.bundle import LINEAGE, README

    records = json.dumps([asdict(record) for record in known.lineage], indent=1)
    (folder / LINEAGE).write_text(f"{records}\n", encoding="utf-8")
    (folder / README).write_text(readme(known.trace_id, has_names=has_names), encoding="utf-8")


def _tell(out: Path, manifest: Manifest, sha256: str, key: Path | None) -> None:
    size = sum(file.size_bytes for file in manifest.files)
    stored = sum(table.is_as_stored for table in manifest.tables)
    say(
        f"Wrote {plural(len(manifest.files), 'file')} ({size / MEGABYTE:,.1f} MB) to {out}: "
        f"{plural(len(manifest.tables), 'table')}, {stored:,} of them as stored."
    )
    if key is None:
        say("Names are kept (--names): users, groups, accounts, jobs, files, and text as it was found.")
    else:
        say(f"Names are pseudonyms of the key in {key}, which stays here: who has it can find names again.")
        if manifest.left_out:
            say(f"Left out or replaced: {', '.join(manifest.left_out)}.")
    say(f"SHA-256 of {out / 'manifest.json'}: {sha256}")
    say(f"Check it anywhere: `hpcopt verify {out}`; give the hash by another way (--sha256).")
