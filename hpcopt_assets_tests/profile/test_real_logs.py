"""Logs of the Parallel Workloads Archive (Feitelson, Tsafrir and Krakov, JPDC 2014), counted independently.

Run where HPCOPT_TEST_DATA names a folder with traces/swf.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.ingest.canonical import trace_jobs_of
from hpcopt_assets.ingest.parsed import Options, SourceFile
from hpcopt_assets.ingest.swf.reader import read_swf
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.profile.flurries import find_flurries
from hpcopt_assets.profile.pictures import profile_figures
from hpcopt_assets_tests.profile.helpers import CONFIG, profile, row, value
from hpcopt_assets_tests.schedules import shipped

DATA = os.environ.get("HPCOPT_TEST_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA, reason="HPCOPT_TEST_DATA is not set: no real logs to read"),
]


def read(name: str) -> tuple[pl.DataFrame, int, str]:
    """Jobs in trace order, processors and time zone of the header."""
    path = Path(DATA or "", "traces", "swf", f"{name}-cln.swf.gz")
    log = read_swf((SourceFile(path, path.name),), Options(shipped(IngestConfig)))
    jobs = trace_jobs_of(log.records, name, {}).collect()
    return (
        jobs.sort("release_s", "submit_s", pl.col("job_id").cast(pl.Int64)),
        log.machine.max_procs,
        log.machine.timezone,
    )


@pytest.mark.parametrize(
    ("name", "utilisation", "users", "queue", "top_work"),
    [
        ("CTC-SP2-1996-3.1", 0.84128, 679, (62, 143), 0.39447),
        ("KTH-SP2-1996-2.1", 0.70106, 214, (14, 32), 0.30502),
        ("SDSC-SP2-1998-4.2", 0.83381, 437, (19, 54), 0.24179),
        ("HPC2N-2002-2.2", 0.60149, 257, (46, 406), 0.27834),
    ],
)
def test_a_real_log_looks_like_one(
    name: str, utilisation: float, users: int, queue: tuple[int, int], top_work: float
):
    """Numbers counted straight from the files, the queue by sampling; the rest as the field knows it."""
    jobs, capacity, zone = read(name)
    found = profile(jobs, trace_id=name, capacity=Capacity(capacity), timezone=zone)
    assert value(found, "congestion", "utilisation") == pytest.approx(utilisation, abs=1e-5)
    assert value(found, "users", "users") == users
    assert tuple(value(found, "congestion", "queue_length", item) for item in ("p50", "p95")) == queue
    assert value(found, "work", "top_share", "largest 1 %") == pytest.approx(top_work, abs=1e-5)
    weeks = found.filter(measure="utilisation").slice(1)
    seconds = weeks["end_s"] - weeks["start_s"]
    assert (weeks["value"] * seconds).sum() / seconds.sum() == pytest.approx(
        value(found, "congestion", "utilisation"), rel=1e-6
    )
    hours = found.filter(measure="hour_of_day")
    assert hours["evidence_count"].sum() == jobs.height
    by_hour = hours["value"].to_list()
    assert min(by_hour[10:17]) > 1.5 * max(by_hour[3:6])  # people work by day, in the machine's zone
    weekdays = found.filter(measure="weekday")["value"].to_list()
    assert min(weekdays[:5]) > max(weekdays[5:])
    assert value(found, "requests", "request_over_runtime", "p50") > 1.2
    assert value(found, "sizes", "power_of_two_share") > 0.7
    assert value(found, "arrivals", "gap_variation") > 1.5
    assert value(found, "arrivals", "hourly_dispersion") > 5
    assert value(found, "users", "gini", "work") > value(found, "users", "gini", "jobs") > 0.6
    tail = row(found, "work", "tail_index", "largest 5 %")
    assert 1 < tail["lower"] < tail["value"] < tail["upper"] < 2.5
    assert value(found, "flurries", "flurry_share") < 0.4  # the archive has removed the worst from these
    assert all(len(drawing.svg) < 60_000 for drawing in profile_figures(jobs, found))


@pytest.mark.parametrize(
    ("name", "user", "first", "last"),
    [
        ("CTC-SP2-1996-3.1", "135", 47421, 50307),
        ("SDSC-SP2-1998-4.2", "374", 14969, 28552),
        ("SDSC-SP2-1998-4.2", "197", 31767, 33202),
        ("HPC2N-2002-2.2", "60", 254200, 271542),
        ("HPC2N-2002-2.2", "67", 289098, 305172),
        ("SDSC-BLUE-2000-4.2", "342", 88202, 91148),
    ],
)
def test_flurries_that_the_archive_removed_are_found_again(name: str, user: str, first: int, last: int):
    """The cleaned log's header says whose jobs of which numbers were removed: gaps in its numbers.

    They are put back at the times between those of their neighbours, which is all that is left of them.
    """
    jobs, _, _ = read(name)
    numbers = jobs["job_id"].cast(pl.Int64).to_numpy()
    order = np.argsort(numbers)
    submit = jobs["submit_s"].to_numpy()
    removed = np.setdiff1d(np.arange(first, last + 1), numbers)
    at = np.interp(removed, numbers[order], np.maximum.accumulate(submit[order])).astype(np.int64)
    users = jobs["user"].unique().sort().to_list()
    codes = {user: code for code, user in enumerate(users)} | {user: len(users)}
    everyone = np.concatenate([jobs["user"].replace_strict(codes).to_numpy(), np.full(at.size, codes[user])])
    found = find_flurries(np.concatenate([submit, at]), everyone, CONFIG)
    again = sum((flurry.jobs >= submit.size).sum() for flurry in found if flurry.user == codes[user])
    assert again >= 0.85 * removed.size
