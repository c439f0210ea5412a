"""What a bundle's tables come to when they are computed again.

In:  a bundle whose files are those of its manifest.   Out: a `Finding` for every table, and for the dossier.
Not here: how a table is computed (recomputation.py), and how two are compared (bundle/comparing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

from hpcopt_assets.bundle.comparing import Finding, State, compare
from hpcopt_assets.bundle.reading import read_lineage
from hpcopt_assets.cli.recomputation import LONG_RECIPES, RECIPES, Recomputation
from hpcopt_assets.contracts.bundle import DOSSIER, REPLAY, Manifest
from hpcopt_assets.contracts.errors import HpcoptError
from hpcopt_assets.contracts.forecast_tables import RUNTIME_ESTIMATES
from hpcopt_assets.contracts.robustness_tables import SHAKEN_MEASURES
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.measures.stated import is_synthetic

SHAKEN = SHAKEN_MEASURES.name
FIRST_FILE = f"{DOSSIER}/dossier.md"
NOT_COMPUTED = {
    **dict.fromkeys(
        ("raw_trace", "trace_jobs", "trace_rejects", "ingest_report"),
        "read from the log, which is not in the bundle",
    ),
    **dict.fromkeys(
        ("feature_splits", "runtime_model", "runtime_importance", RUNTIME_ESTIMATES.name, "forecast_scores"),
        "models are not fitted again, nor run; replays take their estimates as they stand here",
    ),
}


def recompute(
    folder: Path, manifest: Manifest, replicas: int | None, drawing: np.random.Generator
) -> Iterator[Finding]:
    """A finding for every table, those that were expected and are not there too, then lineage and dossier.

    Each table is computed from the bundle's own tables, so that one that differs does not take others with
    it. `replicas`: how many shaken replicas are drawn and replayed; None for all, and for what else is long.
    """
    work = Recomputation(folder, manifest)
    for asset in dict.fromkeys([table.asset for table in manifest.tables]):
        yield _guarded(asset, partial(_table, work, asset, replicas, drawing))
    yield _guarded("what there must be", partial(_complete, work))
    yield _guarded("lineage.json", partial(_lineage, work))
    yield _guarded(DOSSIER, partial(_dossier, work))


def _guarded(what: str, check: Callable[[], Finding]) -> Finding:
    """What cannot be read or computed is a finding about that one thing: a bundle may hold anything."""
    try:
        return check()
    except Exception as error:
        said = str(error) if isinstance(error, HpcoptError) else f"{type(error).__name__}: {error}"
        return Finding(what, State.DIFFERS, f"cannot be computed again: {' '.join(said.split())}")


def _table(work: Recomputation, asset: str, replicas: int | None, drawing: np.random.Generator) -> Finding:
    stated = work.manifest.table_of(asset)
    if stated is None or stated.table not in TABLES:
        # A table that a later version added; its bytes are those of the manifest.
        return Finding(asset, State.NOT_CHECKED, "this version of hpcopt knows no such table")
    contract, given = TABLES[stated.table], work.table(asset)
    if asset.startswith(f"{REPLAY}/"):
        policy = work.policies.get(asset.removeprefix(f"{REPLAY}/"))
        if policy is None:
            return Finding(asset, State.DIFFERS, "configs/policies.yaml of the bundle has no such policy")
        starts = int(given["start_s"].is_not_null().sum())
        return compare(asset, contract, given, work.replayed(policy), plural(starts, "start"))
    if asset == SHAKEN:
        return _shaken(work, given, replicas, drawing)
    if asset in LONG_RECIPES and replicas is not None:
        return Finding(asset, State.NOT_CHECKED, "dozens of replays under every policy, made with --full")
    if asset in LONG_RECIPES:
        return compare(asset, contract, given, LONG_RECIPES[asset](work))
    if asset in RECIPES:
        return compare(asset, contract, given, RECIPES[asset](work))
    return Finding(
        asset, State.NOT_CHECKED, NOT_COMPUTED.get(asset, "this version of hpcopt does not compute it again")
    )


def _shaken(
    work: Recomputation, given: pl.DataFrame, replicas: int | None, drawing: np.random.Generator
) -> Finding:
    """Some replicas, drawn from all; the rows of the others are only hashed and used."""
    from hpcopt_assets.simulate.replicas import replicas_count

    count = replicas_count(work.robust.shaking, is_synthetic=is_synthetic(work.report))
    asked = count if replicas is None else min(replicas, count)
    only = np.sort(drawing.choice(count, asked, replace=False)).tolist()
    numbers = f"all {count:,} replicas"
    if asked < count:
        numbers = f"replicas {', '.join(map(str, only))} of {count:,}, counted from 0"
    shown = given.filter(pl.col("replica").is_in(only))
    return compare(SHAKEN, SHAKEN_MEASURES, shown, work.shaken_measures(only), numbers)


def _complete(work: Recomputation) -> Finding:
    """Tables and replays that a bundle must have, for without them nothing else would miss them."""
    needed = [f"{REPLAY}/{policy_id}" for policy_id in work.policies.ids]
    needed += [name for name in (*RECIPES, *LONG_RECIPES, SHAKEN, *NOT_COMPUTED) if name not in needed]
    missing = [asset for asset in needed if work.manifest.table_of(asset) is None]
    if missing or work.manifest.policies != work.policies.ids:
        what = f"no table of {', '.join(missing)}" if missing else "other policies than configs/policies.yaml"
        return Finding("what there must be", State.DIFFERS, f"the manifest has {what}")
    return Finding(
        "what there must be", State.AGREES, f"{plural(len(needed), 'table')}, each in the manifest"
    )


def _lineage(work: Recomputation) -> Finding:
    """Whether manifest, raw trace and records agree on what was made from what."""
    records = read_lineage(work.folder)
    known = {record.record_id: record for record in records}
    latest = {record.asset: record for record in records}  # they ascend
    trouble = [
        f"{table.asset} has data version {table.data_version[:12]}, its record says otherwise"
        for table in work.manifest.tables
        if table.asset not in latest or latest[table.asset].data_version != table.data_version
    ]
    for record in records:
        for source in record.inputs:
            made = known.get(source.record_id or -1)
            if made is None or made.data_version != source.data_version or made.asset != source.asset:
                trouble.append(f"{record.asset} was made from a {source.asset} that has no record")
    raw = work.table("raw_trace").select("sha256", "size_bytes").rows()
    if raw != [(file.sha256, file.size_bytes) for file in work.manifest.source_files]:
        trouble.append("raw_trace and the manifest state other hashes of the raw files")
    if work.report["sha256"].item() != work.manifest.source_sha256:
        trouble.append("ingest_report and the manifest state other hashes of the raw trace")
    if trouble:
        return Finding("lineage.json", State.DIFFERS, f"{plural(len(trouble), 'fault')}; first: {trouble[0]}")
    return Finding(
        "lineage.json",
        State.AGREES,
        f"{plural(len(records), 'record')}, each with its inputs; every table is the latest",
    )


def _dossier(work: Recomputation) -> Finding:
    """The text again, word for word; pictures and page only where the same matplotlib draws them."""
    from hpcopt_assets.cli.rendering import render

    tables = {table.asset: work.table(table.asset) for table in work.manifest.tables if table.table in TABLES}
    decisions = work.policies, work.objective, work.fidelity
    made = render(
        work.manifest.trace_id, tables, decisions, read_lineage(work.folder), work.manifest.environment
    )
    files = {FIRST_FILE: made.markdown}
    draws_alike = version("matplotlib") == work.manifest.environment.get("matplotlib")
    if draws_alike:
        files[f"{DOSSIER}/dossier.html"] = made.html
        files |= {f"{DOSSIER}/figures/{name}": svg for name, svg in made.figures.items()}
    for path, text in files.items():
        file = work.folder / path
        if not file.is_file() or file.read_bytes() != text.encode():
            return Finding(DOSSIER, State.DIFFERS, f"{path} is not what the tables of the bundle make of it")
    rest = "" if draws_alike else "; page and figures not checked, for another matplotlib drew them"
    return Finding(DOSSIER, State.AGREES, f"{plural(len(files), 'file')}, byte for byte{rest}")
