"""Millions of rows in bounded memory: read, made canonical, sorted, written and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets_tests.bench_data import write_fdata

ROWS = 5_000_000
MEMORY_MAX_BYTES = 1_500_000_000

SCRIPT = """
import json, resource, sys
from pathlib import Path
from hpcopt_assets.contracts.schemas import validate_file
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.ingest.canonical import trace_jobs_of
from hpcopt_assets.ingest.parquet.fdata import read_fdata
from hpcopt_assets.ingest.parsed import Options, SourceFile
from hpcopt_assets.ingest.staging import write_sorted
from hpcopt_assets_tests.ingest.parquet.helpers import LIMITS

source, target = map(Path, sys.argv[1:])
limits = LIMITS.model_copy(update={"max_rows": 50_000_000, "max_file_bytes": 2_000_000_000, "sort_memory_bytes": 500_000_000})
parsed = read_fdata((SourceFile(source, source.name),), Options(limits))
rows = write_sorted(trace_jobs_of(parsed.records, "large", {}), target, memory_bytes=limits.sort_memory_bytes)
validate_file(TRACE_JOBS, target)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"rows": rows, "refused": len(parsed.refused), "merged": parsed.counts.merged, "peak_bytes": peak}))
"""  # noqa: E501 -- a script


@pytest.mark.slow
def test_five_million_rows_take_less_than_the_allowed_memory(tmp_path: Path) -> None:
    source, target = tmp_path / "fdata.parquet", tmp_path / "trace_jobs.parquet"
    write_fdata(source, ROWS)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(source), str(target)], check=True, capture_output=True, text=True
    )
    told = json.loads(done.stdout)
    assert told == told | {"rows": ROWS, "refused": 0, "merged": ROWS}
    assert told["peak_bytes"] < MEMORY_MAX_BYTES
    order = pl.scan_parquet(target).select("release_s").collect()["release_s"]
    assert order.is_sorted()
