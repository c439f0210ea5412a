"""The measures of a schedule as columns: said once for every table that holds some of them.

In:  makers.py.   Out: `MEASURES`, `MEASURE_KEYS`.
"""

from __future__ import annotations

from hpcopt_assets.contracts.columns import Column
from hpcopt_assets.contracts.makers import count, real, seconds

MEASURES: tuple[Column, ...] = (
    count("jobs_count", "jobs measured", unit="jobs"),
    count("left_out_count", "jobs of the trace that take no part", unit="jobs"),
    real("mean_wait_s", "mean wait", "s", lo=None),
    real("p50_wait_s", "median wait", "s", lo=None),
    real("p95_wait_s", "95th percentile of wait", "s", lo=None),
    real("p99_wait_s", "99th percentile of wait", "s", lo=None),
    real("max_wait_s", "longest wait", "s", lo=None),
    real("mean_bsld", "mean bounded slowdown", "ratio", lo=1.0),
    real("p50_bsld", "median bounded slowdown", "ratio", lo=1.0),
    real("p95_bsld", "95th percentile of bounded slowdown", "ratio", lo=1.0),
    real("p99_bsld", "99th percentile of bounded slowdown", "ratio", lo=1.0),
    real("max_bsld", "largest bounded slowdown", "ratio", lo=1.0),
    real("utilisation_ratio", "processor-seconds used over those there were", "ratio"),
    seconds("makespan_s", "last end minus first release", nullable=True),
    real("throughput_per_hour", "jobs per hour of makespan", "jobs/h"),
    real("starved_ratio", "share of jobs that waited longer than the starvation limit", "ratio", hi=1.0),
    count("backfilled_count", "jobs that started before a job ahead of them in release order", unit="jobs"),
    real("jain_service", "Jain's index over users' mean bounded slowdown", "ratio", hi=1.0),
    real("worst_user_bsld", "largest mean bounded slowdown of a user", "ratio", lo=1.0),
    real(
        "fairness_dev",
        "half the summed deviation of users' shares of processor-seconds from equal",
        "ratio",
        hi=1.0,
    ),
    real("jain", "Jain's index over users' processor-seconds", "ratio", hi=1.0),
)

MEASURE_KEYS: tuple[str, ...] = tuple(column.name for column in MEASURES)
# In the tables' order.
