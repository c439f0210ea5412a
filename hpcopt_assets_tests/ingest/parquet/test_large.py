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
import json, re, sys
from pathlib import Path
from hpcopt_assets.contracts.schemas import validate_file
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.traces_config import (TraceEntry)
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets.ingest.reader import ingest
from hpcopt_assets_tests.ingest.parquet.helpers import LIMITS

source, staging = map(Path, sys.argv[1:])
limits = LIMITS.model_copy(update={"max_rows": 50_000_000, "max_file_bytes": 2_000_000_000, "sort_memory_bytes": 500_000_000})
found = ingest((SourceFile(source, source.name),), trace_id="large", entry=TraceEntry(), limits=limits, staging=staging)
validate_file(TRACE_JOBS, found.jobs_path)
told = found.report.row(0, named=True)
# Not ru_maxrss: a child inherits that of the process which started it.
peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps({name: told[name] for name in ("jobs_count", "rejects_count", "job_lines_count")} | {"peak_bytes": peak}))
"""  # noqa: E501 -- a script


@pytest.mark.slow
def test_five_million_rows_take_less_than_the_allowed_memory(tmp_path: Path) -> None:
    source, target = tmp_path / "fdata.parquet", tmp_path / "trace_jobs.parquet"
    write_fdata(source, ROWS)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(source), str(tmp_path)], check=True, capture_output=True, text=True
    )
    told = json.loads(done.stdout)
    assert told == told | {"jobs_count": ROWS, "rejects_count": 0, "job_lines_count": ROWS}
    assert told["peak_bytes"] < MEMORY_MAX_BYTES
    order = pl.scan_parquet(target).select("release_s").collect()["release_s"]
    assert order.is_sorted()
