"""Published values of a real log, with a schedule that owes nothing to our engine."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import NO_USER, Schedule
from hpcopt_assets.measures.summary import measure
from hpcopt_assets_tests.schedules import MEASURES, fcfs_starts

CAPACITY = 240


@pytest.mark.slow
def test_first_come_first_served_on_hpc2n(test_data: Path):
    path = test_data / "traces" / "swf" / "HPC2N-2002-2.2-cln.swf.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    with gzip.open(path, "rt") as lines:
        rows = [line.split() for line in lines if not line.startswith(";")]
    fields = np.array([[int(row[i]) for i in (0, 1, 3, 4, 7)] for row in rows], dtype=np.int64)
    job, release_s, runtime_s, allocated, requested = fields[np.lexsort((fields[:, 0], fields[:, 1]))].T
    procs = np.where(requested > 0, requested, allocated)
    starts = fcfs_starts(release_s, runtime_s, procs, CAPACITY)
    made = Schedule(release_s, starts, runtime_s, procs, np.full(job.size, NO_USER), 0)
    config = MEASURES.model_copy(update={"tau_s": 60})
    found = measure(made, capacity=Capacity(CAPACITY), config=config, window=Window.WHOLE)
    assert found["jobs_count"] == 202_871
    assert found["p95_bsld"] == pytest.approx(286.97, abs=0.01)
    assert found["mean_wait_s"] == pytest.approx(16_189, abs=0.5)
    assert found["p95_wait_s"] == 68_219
