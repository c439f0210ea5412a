"""What a bundle says of itself: is all there, does it agree with itself, and is it hidden what it says is?

In:  a bundle whose files are those of its manifest.   Out: `SAYS_OF_ITSELF`: what is checked -> a `Finding`.
Not here: what is computed again (recompute.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from hpcopt_assets.bundle.comparing import Finding, State
from hpcopt_assets.bundle.folder import readme
from hpcopt_assets.bundle.hiding import first_name
from hpcopt_assets.bundle.reading import read_lineage
from hpcopt_assets.cli.recomputation import LONG_RECIPES, RECIPES, Recomputation
from hpcopt_assets.contracts.bundle import (
    CONFIGS,
    CONFIGS_OF_A_TRACE,
    DOSSIER,
    LINEAGE,
    README,
    REPLAY,
    seeds_of,
)
from hpcopt_assets.contracts.forecast_tables import RUNTIME_ESTIMATES
from hpcopt_assets.contracts.robustness_tables import SHAKEN_MEASURES
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.contracts.traces_config import TracesConfig

SHAKEN = SHAKEN_MEASURES.name
NOT_COMPUTED = {
    **dict.fromkeys(
        ("raw_trace", "trace_jobs", "trace_rejects", "ingest_report"),
        "read from the log, which is not in the bundle",
    ),
    **dict.fromkeys(
        ("runtime_model", "runtime_importance", RUNTIME_ESTIMATES.name),
        "models are not fitted again, nor run; replays take their estimates as they stand here",
    ),
}
NOT_READ = ("ingest", "synthetic")
# Configs on which nothing rests that is computed again.


def _complete(work: Recomputation) -> Finding:
    """Tables and replays that a bundle must have, for without them nothing else would miss them."""
    what = "what there must be"
    needed = [f"{REPLAY}/{policy_id}" for policy_id in work.policies.ids]
    needed += [name for name in (*RECIPES, *LONG_RECIPES, SHAKEN, *NOT_COMPUTED) if name not in needed]
    missing = [asset for asset in needed if work.manifest.table_of(asset) is None]
    if missing or work.manifest.policies != work.policies.ids:
        said = f"no table of {', '.join(missing)}" if missing else "other policies than configs/policies.yaml"
        return Finding(what, State.DIFFERS, f"the manifest has {said}")
    return Finding(what, State.AGREES, f"{plural(len(needed), 'table')}, each in the manifest")


def _strange(work: Recomputation) -> Finding:
    """Files that are hashed and that nothing else looks at."""
    what = "other files"
    known = {README, LINEAGE, *(table.path for table in work.manifest.tables)}
    known |= {f"{CONFIGS}/{name}.yaml" for name in CONFIGS_OF_A_TRACE}
    strange = [file.path for file in work.manifest.files if file.path not in known]
    strange = [path for path in strange if not path.startswith(f"{DOSSIER}/")]
    text = readme(work.manifest.trace_id, has_names=work.manifest.names == "kept")
    if not (work.folder / README).is_file() or (work.folder / README).read_bytes() != text.encode():
        return Finding(what, State.DIFFERS, f"{README} is not what this program writes")
    if strange:
        said = f"{', '.join(strange)}: this version of hpcopt knows no such file"
        return Finding(what, State.NOT_CHECKED, said)
    return Finding(what, State.AGREES, f"{README} is what this program writes, and there are no others")


def _configs(work: Recomputation) -> Finding:
    """Each is valid; seeds are the manifest's, and the registry entry is the one that the log was read by."""
    configs = {name: work.config(name) for name in CONFIGS_OF_A_TRACE}
    if seeds_of(configs) != work.manifest.seeds:
        return Finding(CONFIGS, State.DIFFERS, "the manifest states other seeds")
    registry: TracesConfig = configs["traces"]
    entry = registry.entry(work.manifest.trace_id).model_dump(mode="json", exclude_defaults=True)
    for text in work.table("raw_trace")["entry"]:
        if {key: value for key, value in json.loads(text).items() if key != "part_of"} != entry:
            said = "traces.yaml has another entry than raw_trace, by which the log was read"
            return Finding(CONFIGS, State.DIFFERS, said)
    said = (
        f"{plural(len(configs), 'file')} are valid; seeds are the manifest's, the entry is that of raw_trace"
    )
    return Finding(
        CONFIGS, State.AGREES, f"{said}; on {' and '.join(NOT_READ)} nothing rests that is computed"
    )


def _names(work: Recomputation) -> Finding:
    """Whether names are pseudonyms in every table that may hold any."""
    what = "names"
    if work.manifest.names == "kept":
        return Finding(what, State.AGREES, "kept, as the manifest says")
    for stated in work.manifest.tables:
        if stated.table in TABLES:
            found = first_name(TABLES[stated.table], work.table(stated.asset))
            if found is not None:
                said = f"the manifest says pseudonyms; {found} of {stated.asset} holds something else"
                return Finding(what, State.DIFFERS, said)
    said = "pseudonyms of users, groups, accounts, job names and files in every table, and no text of others"
    return Finding(what, State.AGREES, said)


def _read(work: Recomputation) -> Finding:
    """Whether the tables that were read from the log agree on how much that was, and on its hashes."""
    what = "what was read"
    raw, report = work.table("raw_trace"), work.report.row(0, named=True)
    trouble = [
        f"{name} is {report[name]:,}, {asset} has {rows:,} rows"
        for name, asset, rows in (
            ("files_count", "raw_trace", raw.height),
            ("jobs_count", "trace_jobs", work.table("trace_jobs").height),
            ("rejects_count", "trace_rejects", work.table("trace_rejects").height),
        )
        if report[name] != rows
    ]
    if raw.select("sha256", "size_bytes").rows() != [
        (file.sha256, file.size_bytes) for file in work.manifest.source_files
    ]:
        trouble.append("raw_trace and the manifest state other hashes of the raw files")
    if report["sha256"] != work.manifest.source_sha256 or (
        raw.height == 1 and report["sha256"] != raw["sha256"].item()
    ):
        trouble.append("ingest_report states another hash of the raw trace than raw_trace or the manifest")
    if trouble:
        return Finding(what, State.DIFFERS, "; ".join(trouble))
    said = (
        f"{plural(raw.height, 'raw file')}, counts of jobs and rejects: report, tables, manifest say the same"
    )
    return Finding(what, State.AGREES, said)


def _lineage(work: Recomputation) -> Finding:
    """Whether manifest and records agree on what was made from what."""
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
    if trouble:
        return Finding(LINEAGE, State.DIFFERS, f"{plural(len(trouble), 'fault')}; first: {trouble[0]}")
    said = f"{plural(len(records), 'record')}, each with its inputs; every table is the latest"
    return Finding(LINEAGE, State.AGREES, said)


SAYS_OF_ITSELF: Mapping[str, Callable[[Recomputation], Finding]] = {
    "what there must be": _complete,
    "other files": _strange,
    CONFIGS: _configs,
    "names": _names,
    "what was read": _read,
    LINEAGE: _lineage,
}
