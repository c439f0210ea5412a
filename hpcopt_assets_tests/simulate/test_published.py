"""Mean bounded slowdowns on four real logs, as an independent textbook implementation measures them.

It knows no overruns: jobs of no runtime are left aside, and requests raised to at least the runtime. On that
input ours agrees to the printed digit; on the logs as they are, with the overrun rule, it differs a little.
"""

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.slowdown import bounded_slowdown
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets_tests.bench import read
from hpcopt_assets_tests.simulate.strategies import EASY, policy

CLAIRVOYANT = policy(estimate="actual", hold="actual")
PUBLISHED = [
    ("KTH-SP2-1996-2.1-cln", 100, (90.8, 72.3), (90.5, 72.2)),
    ("CTC-SP2-1996-3.1-cln", 338, (51.6, 38.7), (52.8, 36.9)),
    ("SDSC-SP2-1998-4.2-cln", 128, (92.6, 74.5), (93.6, 75.8)),
    ("SDSC-BLUE-2000-4.2-cln", 1152, (35.2, 31.9), (36.0, 33.6)),
]


def mean_bsld(jobs: pl.DataFrame, rules, capacity: int) -> float:
    placed = Schedule.of(replay(jobs, rules, capacity).schedule)
    return round(float(bounded_slowdown(placed.wait_s, placed.runtime_s, 10).mean()), 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "capacity", "textbook", "as_logged"), PUBLISHED, ids=[p[0] for p in PUBLISHED]
)
def test_mean_bounded_slowdown(test_data: Path, name: str, capacity: int, textbook, as_logged):
    logged = read(test_data / "traces" / "swf" / f"{name}.swf.gz").jobs
    raised = logged.filter(pl.col("runtime_s") > 0).with_columns(
        requested_runtime_s=pl.max_horizontal("requested_runtime_s", "runtime_s"),
        requested_runtime_kind=pl.lit("limit"),
    )
    assert tuple(mean_bsld(raised, rules, capacity) for rules in (EASY, CLAIRVOYANT)) == textbook
    assert tuple(mean_bsld(logged, rules, capacity) for rules in (EASY, CLAIRVOYANT)) == as_logged
