"""What was read of a small trace, made by hand: jobs, schedules, report, rejects, files, lineage.

In:  changes by column.   Out: frames within their contracts.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from hpcopt_assets.contracts import tables
from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.config import PoliciesConfig
from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets_tests.builders import job, trace

CONFIGS = Path(__file__).parents[2] / "configs"


TRACE_ID = "made"


CAPACITY = 8


START_S = 1_000_000_000


JOBS = 60


QUARTER = "2001-Q3"


FASTER = {"fifo_strict": 1.0, "easy_backfill": 0.5, "easy_clairvoyant": 0.25}
# Waits of each replay, as a share of those observed.


def config(name: str, model: type[Any]) -> Any:
    return model.model_validate(yaml.safe_load((CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")))


def policies() -> PoliciesConfig:
    """Of the shipped policies those that the evidence is about."""
    shipped = config("policies", PoliciesConfig)
    kept = tuple(policy for policy in shipped.policies if policy.id in FASTER)
    return PoliciesConfig(strict=False, fidelity_baselines=shipped.fidelity_baselines, policies=kept)


def rows(table: Table, content: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """A frame within its contract, the trace id filled in."""
    full = [{"trace_id": TRACE_ID} | row for row in content]
    frame = table.shape(pl.DataFrame(full, schema=table.polars_schema()))
    validate(table, frame)
    return frame


def jobs() -> pl.DataFrame:
    return trace(
        job(
            i,
            START_S + 600 * i,
            1 + i % 4,
            1800 + 60 * i,
            7200,
            wait_s=0 if i % 3 == 0 else 120 * i,
            user=f"user{i % 3}",
            quality_flags=[v.QualityFlag.ZERO_REQUEST] if i == 5 else [],
        )
        for i in range(JOBS)
    )


def schedule(policy: str, observed: pl.DataFrame, faster: float) -> pl.DataFrame:
    """The observed schedule with its waits shortened; the widest last job is left out."""
    last = observed["job_id"][-1]
    content = []
    for row in observed.iter_rows(named=True):
        wait_s = int(row["wait_s"] * faster)
        left_out = row["job_id"] == last
        start_s = None if left_out else row["release_s"] + wait_s
        content.append(
            {
                "policy": policy,
                **{
                    name: row[name]
                    for name in ("job_id", "attempt", "submit_s", "release_s", "procs", "user")
                },
                "start_s": start_s,
                "end_s": None if start_s is None else start_s + row["runtime_s"],
                "wait_s": None if left_out else wait_s,
                "runtime_s": None if left_out else row["runtime_s"],
                "limit_s": None if left_out else row["requested_runtime_s"],
                "estimate_s": None if left_out else row["requested_runtime_s"],
                "estimate_source": None if left_out else v.EstimateSource.REQUEST,
                "left_out": v.LeftOut.WIDER_THAN_MACHINE if left_out else None,
            }
        )
    return rows(tables.REPLAY_SCHEDULE, content)


def report(**changes: Any) -> pl.DataFrame:
    facts = {
        "format": v.TraceFormat.SWF,
        "files_count": 1,
        "unselected_jobs_count": 0,
        "capacity_unit": v.Unit.PROCS,
        "capacity_step_at_s": [],
        "capacity_step_procs": [],
        "sha256": "a" * 64,
        "lines_count": JOBS + 10,
        "header_lines_count": 4,
        "comment_lines_count": 2,
        "blank_lines_count": 1,
        "job_lines_count": JOBS,
        "rejects_count": 3,
        "jobs_count": JOBS,
        "started_jobs_count": JOBS,
        "computer": "Cray & Sons",
        "installation": "A site",
        "timezone": "Europe/Stockholm",
        "notes": ["first note"],
        "unix_start_s": START_S,
        "first_release_s": START_S,
        "last_end_s": START_S + 90_000,
        "capacity_procs": CAPACITY,
        "capacity_source": v.CapacitySource.HEADER,
        "observed_peak_procs": 9,
        "observed_over_capacity_s": 7200,
        "is_synthetic": False,
    }
    return rows(tables.INGEST_REPORT, [facts | changes])


def rejects(text: str = "1 2 x") -> pl.DataFrame:
    codes = (v.RejectCode.NOT_A_NUMBER, v.RejectCode.NOT_A_NUMBER, v.RejectCode.TOO_FEW_FIELDS)
    return rows(
        tables.TRACE_REJECTS,
        (
            {
                "source_file": "made.swf",
                "source_line": 100 + i,
                "code": code,
                "reason": f"found {text}, a number needed",
                "text": text,
            }
            for i, code in enumerate(codes)
        ),
    )


def raw_trace() -> pl.DataFrame:
    file = {"source_file": "made.swf", "format": v.TraceFormat.SWF, "sha256": "c" * 64, "size_bytes": 1234}
    return rows(tables.RAW_TRACE, [file | {"entry": "{}"}])


def lineage() -> tuple[Materialization, ...]:
    def made(record_id: int, asset: str, *read: tuple[int, str, str]) -> Materialization:
        inputs = tuple(InputVersion(asset, record, version) for record, asset, version in read)
        return Materialization(
            asset=asset,
            partition=TRACE_ID,
            record_id=record_id,
            at_s=1_700_000_000.25 + record_id,
            run_id="0f7c2a10-run",
            code_version=f"code{record_id}" + "0" * 20,
            data_version=f"data{record_id}" + "0" * 20,
            rows_count=JOBS,
            inputs=inputs,
        )

    raw = made(7, "raw_trace")
    table = made(11, "trace_jobs", (7, "raw_trace", "data7" + "0" * 20))
    return raw, table, made(15, "replay/easy_backfill", (11, "trace_jobs", "data11" + "0" * 20))
