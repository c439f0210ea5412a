"""Runtimes, sizes, work and requests, worked out by hand."""

import polars as pl
import pytest

from hpcopt_assets.contracts.vocabulary import JobState, Unit
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.profile.helpers import CONFIG, profile, row, value


def test_quantiles_interpolate_and_count():
    found = profile(trace([(i, i, 1, 10 * i) for i in range(5)]))  # 0, 10, 20, 30, 40
    assert value(found, "runtimes", "runtime", "p50") == 20
    assert value(found, "runtimes", "runtime", "p90") == pytest.approx(36)
    assert value(found, "runtimes", "runtime", "max") == 40
    assert value(found, "runtimes", "runtime", "mean") == 20
    assert row(found, "runtimes", "runtime", "p50")["evidence_count"] == 5
    assert row(found, "runtimes", "runtime", "p50")["unit"] == "s"


def test_sizes_serial_jobs_and_powers_of_two():
    sizes = [1, 1, 2, 3, 4, 6, 8, 1024, 1023, None]
    found = profile(trace([(i, i, size, 1) for i, size in enumerate(sizes)]))
    assert value(found, "sizes", "serial_share") == pytest.approx(2 / 9)
    assert value(found, "sizes", "power_of_two_share") == pytest.approx(6 / 9)
    assert value(found, "sizes", "size", "max") == 1024
    assert row(found, "sizes", "size", "max")["evidence_count"] == 9


def test_work_is_what_was_held_not_what_was_asked_for():
    found = profile(trace([job(1, 0, 4, 100, allocated_procs=8), job(2, 0, 3, 10)]))
    assert value(found, "work", "work", "max") == 800
    assert value(found, "work", "work", "mean") == (800 + 30) / 2


def test_a_job_that_still_runs_has_no_runtime_yet():
    running = job(2, 0, 2, 5, 1000, wait_s=0, state=JobState.RUNNING) | {"end_s": None}
    found = profile(trace([job(1, 0, 4, 100, 200), running]))
    assert value(found, "runtimes", "runtime", "max") == value(found, "runtimes", "runtime", "p10") == 100
    assert value(found, "work", "work", "mean") == 400
    assert value(found, "requests", "request_over_runtime", "max") == 2
    assert row(found, "sizes", "size", "max")["evidence_count"] == 2


def test_requests_against_runtimes():
    asked = [(100, 50), (100, 100), (100, 101), (100, 0), (None, 7), (0, 7), (100, None)]
    found = profile(trace([(i, i, 1, runtime, request) for i, (request, runtime) in enumerate(asked)]))
    assert value(found, "requests", "request_over_runtime", "p50") == pytest.approx((1 + 2) / 2)
    assert value(found, "requests", "request_over_runtime", "max") == 100  # 0 s count as one
    assert value(found, "requests", "at_request_share") == 0.25
    assert value(found, "requests", "past_request_share") == 0.25
    assert row(found, "requests", "past_request_share")["evidence_count"] == 4
    assert value(found, "requests", "no_request_share") == pytest.approx(2 / 7)  # a request of 0 is none


def test_the_tail_is_judged_on_enough_of_the_largest():
    runtimes = [round(1000 * ((i + 0.5) / 1000) ** -0.5) for i in range(1000)]  # P(X > x) = (x / 1000)^-2
    found = profile(trace([(i, i, 1, runtime) for i, runtime in enumerate(runtimes)]))
    tail = row(found, "runtimes", "tail_index", "largest 5 %")
    assert tail["evidence_count"] == 50
    assert tail["lower"] < 2 < tail["upper"]
    assert value(found, "runtimes", "top_share", "largest 1 %") == pytest.approx(
        sum(runtimes[:10]) / sum(runtimes)
    )
    assert (
        row(found, "sizes", "tail_index")["note"] == "the 50 largest values do not differ, or follow on zeros"
    )


def test_a_short_tail_has_no_index_but_a_reason():
    found = profile(trace([(i, i, 1, i) for i in range(99)]))
    assert row(found, "runtimes", "tail_index")["note"] == "4 values in the tail, 30 needed"
    assert row(found, "runtimes", "top_share")["note"] == "99 values are too few"
    few = CONFIG.model_copy(update={"hill_min_tail": 4})
    assert value(
        profile(trace([(i, i, 1, i) for i in range(99)]), config=few), "runtimes", "tail_index", "largest 5 %"
    )


def test_whole_nodes_are_called_nodes():
    jobs = trace([job(1, 0, 2, 10, nodes=2, wait_s=0)])
    units = dict(profile(jobs, unit=Unit.NODES).select("measure", "unit").unique(keep="first").iter_rows())
    assert (units["size"], units["work"]) == ("nodes", "node-seconds")
    assert set(profile(jobs).filter(pl.col("measure") == "size")["unit"]) == {"processors"}
