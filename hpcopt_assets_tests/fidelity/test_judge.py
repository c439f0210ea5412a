"""Fidelity: a constructed trace passes, departures fail by name, and skipped checks never pass."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.config import FidelityConfig
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import FIDELITY_VERDICTS
from hpcopt_assets.contracts.vocabulary import CapacitySource, FidelityCriterion
from hpcopt_assets.fidelity.judge import judge_fidelity
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.distances import wait_divergence
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import MEASURES, fcfs_starts, replay_of, shipped

CONFIG = shipped(FidelityConfig)
CAPACITY = 8
HOUR = 3600
DAY = 24 * HOUR
GAP_S = 2700


def busy_trace(jobs: int = 120) -> pl.DataFrame:
    """Jobs of 1 to 8 processors that queue on 8; what was observed is first come, first served."""
    numbers = np.arange(jobs)
    release_s = numbers * GAP_S
    runtime_s = 600 + numbers * 7919 % 5400
    procs = 1 + numbers * 31 % CAPACITY
    waits = fcfs_starts(release_s, runtime_s, procs, CAPACITY) - release_s
    columns = zip(*(values.tolist() for values in (numbers, release_s, procs, runtime_s, waits)), strict=True)
    return trace(job(*values[:4], wait_s=values[4], user=f"u{values[0] % 3}") for values in columns)


def judged(trace_jobs: pl.DataFrame, starts: Any, **changes: Any) -> pl.DataFrame:
    options: dict[str, Any] = {
        "capacity": Capacity(CAPACITY),
        "capacity_source": CapacitySource.HEADER,
        "timezone": None,
        "is_synthetic": False,
        "config": CONFIG,
    } | changes
    frame = judge_fidelity(
        trace_id="made",
        trace_jobs=trace_jobs,
        schedules={"easy_backfill": replay_of(trace_jobs, starts)},
        measures=MEASURES,
        **options,
    )
    validate(FIDELITY_VERDICTS, frame)
    return frame


def by_criterion(frame: pl.DataFrame, period: str = "whole") -> dict[str, dict[str, Any]]:
    return {row["criterion"]: row for row in frame.filter(period=period).iter_rows(named=True)}


def verdicts(frame: pl.DataFrame, period: str = "whole") -> dict[str, str]:
    return dict(frame.filter(period=period).select("criterion", "verdict").iter_rows())


def test_the_trace_does_make_jobs_wait():
    waits = busy_trace()["wait_s"]
    assert (waits > 0).mean() > 0.8
    assert HOUR < waits.quantile(0.95) < 3 * HOUR


def test_a_replay_that_is_the_record_passes_every_criterion():
    jobs = busy_trace()
    found = verdicts(judged(jobs, jobs["start_s"]))
    assert found == dict.fromkeys(FidelityCriterion.words(), "PASS")


def test_a_replay_where_everybody_waits_longer_fails_by_name():
    jobs = busy_trace()
    found = by_criterion(judged(jobs, jobs["start_s"] + 6 * HOUR))
    failed = {name for name, row in found.items() if row["verdict"] == "FAIL"}
    assert failed == {"mean_wait", "p95_wait", "wait_kl", "bsld_ks", "queue_correlation", "overall"}
    assert re.fullmatch(
        r"correlation -?0\.\d+ of \d,\d+ queue lengths, one every 60 s, at least 0.85 needed",
        found["queue_correlation"]["reason"],
    )
    for name in failed - {"overall"}:
        assert name in found["overall"]["reason"]
    assert found["overall"]["measured"] == 5
    assert found["overall"]["evidence_count"] == 120


def test_the_week_that_departs_most_is_named():
    """The trace begins on a Thursday; only jobs of the week from Monday the fifth are delayed."""
    jobs = busy_trace(400)
    monday_s = 4 * DAY
    is_late = [monday_s <= released < monday_s + 7 * DAY for released in jobs["release_s"]]
    late = [start + 5 * HOUR * by for start, by in zip(jobs["start_s"], is_late, strict=True)]
    reason = by_criterion(judged(jobs, late))["overall"]["reason"]
    waits = jobs.filter(is_late)["wait_s"].mean() / HOUR
    assert (
        "Waits differ most for jobs released in the week from 1970-01-05 (224 jobs, "
        f"{waits:,.2f} h observed and {waits + 5:,.2f} h replayed on average): 100% of all difference."
    ) in reason


def test_a_week_in_which_some_wait_longer_and_others_shorter_is_named():
    """The sums of both weeks' waits differ by nothing in the one, and by little in the other."""
    jobs = trace(job(i, i * 6 * HOUR, 1, HOUR, wait_s=4 * HOUR + i % 5 * 600) for i in range(5 * 28))
    week = (jobs["release_s"] + 3 * DAY) // (7 * DAY)
    swung = (week == 2).cast(pl.Int64) * pl.Series([(-1) ** i * 4 * HOUR for i in range(jobs.height)])
    reason = by_criterion(judged(jobs, jobs["start_s"] + swung + (week == 4).cast(pl.Int64) * 900))[
        "overall"
    ]["reason"]
    assert "in the week from 1970-01-12 (28 jobs, 4.33 h observed and 4.33 h replayed on average)" in reason


def test_no_more_weeks_are_named_than_hold_half_of_the_difference():
    """Forty weeks; one is off by ten hours, every other by a quarter of an hour."""
    jobs = trace(job(i, i * 6 * HOUR, 1, HOUR, wait_s=i % 5 * 600) for i in range(40 * 28))
    alike = jobs["start_s"] + 900
    week = (jobs["release_s"] + 3 * DAY) // (7 * DAY)
    reason = by_criterion(judged(jobs, alike + (week == 7).cast(pl.Int64) * 10 * HOUR))["overall"]["reason"]
    assert "in the week from 1970-02-16 (28 jobs, " in reason
    reason = by_criterion(judged(jobs, alike))["overall"]["reason"]
    assert reason.count(" on average)") == 5
    assert ": 12% of all difference" in reason or ": 13% of all difference" in reason


def test_the_divergence_of_waits_is_from_the_record_to_the_replay():
    """KL is not symmetric: a replay without any wait, against a record with many, and the other way round."""
    jobs = busy_trace()
    row = by_criterion(judged(jobs, jobs["release_s"]))["wait_kl"]
    seen, other = jobs["wait_s"].to_numpy(), np.zeros(jobs.height, dtype=np.int64)
    there, back = (wait_divergence(*pair, CONFIG.wait_bins).nats for pair in ((seen, other), (other, seen)))
    assert row["measured"] == there
    assert there != pytest.approx(back, rel=0.2)


def test_throughput_can_fail():
    """Fewer jobs an hour than observed: a limit whose unit hides that would always pass."""
    jobs = busy_trace()
    stretched = jobs["release_s"] + (jobs["start_s"] - jobs["release_s"]) + jobs["release_s"] // 2
    row = by_criterion(judged(jobs, stretched))["throughput"]
    assert row["verdict"] == "FAIL"
    assert row["measured"] == pytest.approx(1 / 3, abs=0.03)


def test_two_warned_divergences_fail_together_and_one_does_not():
    jobs = busy_trace()
    longer = (jobs["release_s"] + (jobs["start_s"] - jobs["release_s"]) * 1.18).cast(pl.Int64)
    found = by_criterion(judged(jobs, longer))
    assert found["mean_wait"]["measured"] == pytest.approx(0.18, abs=0.005)
    assert found["p95_wait"]["measured"] == pytest.approx(0.18, abs=0.005)
    assert {found[name]["verdict"] for name in found if name != "overall"} == {"PASS"}
    assert found["overall"]["verdict"] == "FAIL"
    assert "2 divergences above 0.15 (mean_wait, p95_wait)" in found["overall"]["reason"]

    alone = CONFIG.model_copy(update={"divergences": CONFIG.divergences[:1]})
    assert verdicts(judged(jobs, longer, config=alone))["overall"] == "PASS"


def test_few_jobs_are_not_assessed_however_alike():
    jobs = busy_trace(29)
    found = by_criterion(judged(jobs, jobs["start_s"]))
    judged_alike = {row["verdict"] for name, row in found.items() if name != "observed_within_capacity"}
    assert judged_alike == {"NOT_ASSESSED"}
    assert "29 jobs, 30 needed" in found["mean_wait"]["reason"]


def test_a_record_without_starts_is_not_assessed():
    jobs = trace((i, i * 60, 1, 600) for i in range(100))
    found = by_criterion(judged(jobs, jobs["release_s"]))
    assert {row["verdict"] for row in found.values()} == {"NOT_ASSESSED"}
    assert found["observed_within_capacity"]["reason"] == "the trace records no starts"
    assert {row["evidence_count"] for row in found.values()} == {0}


def test_waits_in_few_bins_and_constant_queues_are_skipped_and_so_nothing_passes():
    jobs = trace(job(i, i * 900, 1, 600, wait_s=0) for i in range(100))
    frame = judged(jobs, jobs["start_s"])
    found = verdicts(frame)
    assert found["wait_kl"] == found["queue_correlation"] == "NOT_ASSESSED"
    assert found["mean_wait"] == found["bsld_ks"] == "PASS"
    assert found["overall"] == "NOT_ASSESSED"
    reasons = {name: row["reason"] for name, row in by_criterion(frame).items()}
    assert reasons["wait_kl"].endswith(": 1 distinct bin of observed waits, 5 needed")
    sampled = "correlation of 1,486 queue lengths, one every 60 s"
    assert reasons["queue_correlation"] == f"{sampled}: the observed and the replayed queue never change"

    later = [start + 1800 * (i % 7 == 0) for i, start in enumerate(jobs["start_s"])]
    reason = by_criterion(judged(jobs, later))["queue_correlation"]["reason"]
    assert reason == "correlation of 1,501 queue lengths, one every 60 s: the observed queue never changes"


def test_no_policy_no_row():
    frame = judge_fidelity(
        trace_id="made",
        trace_jobs=busy_trace(),
        schedules={},
        capacity=Capacity(CAPACITY),
        capacity_source=CapacitySource.HEADER,
        timezone=None,
        is_synthetic=False,
        config=CONFIG,
        measures=MEASURES,
    )
    validate(FIDELITY_VERDICTS, frame)
    assert frame.height == 0


def test_only_jobs_of_both_schedules_are_compared_and_counted():
    jobs = busy_trace()
    starts = [None if i % 10 == 0 else start for i, start in enumerate(jobs["start_s"])]
    found = by_criterion(judged(jobs, starts))
    assert found["overall"]["verdict"] == "PASS"
    assert found["mean_wait"]["evidence_count"] == 108
    assert "108 of 120 jobs" in found["overall"]["reason"]


def test_a_synthetic_trace_says_so_first():
    jobs = busy_trace()
    for starts in (jobs["start_s"], jobs["start_s"] + HOUR):
        reason = by_criterion(judged(jobs, starts, is_synthetic=True))["overall"]["reason"]
        assert reason.startswith("Synthetic trace: no machine stood behind it.")
        assert "Not modelled: drains and failures, reservations, dependencies" in reason


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-2 * HOUR, 12 * HOUR), min_size=40, max_size=40))
def test_the_whole_is_never_better_than_its_parts(shifts: list[int]):
    jobs = busy_trace(40)
    starts = [
        max(row["release_s"], row["start_s"] + by)
        for row, by in zip(jobs.iter_rows(named=True), shifts, strict=True)
    ]
    found = verdicts(judged(jobs, starts))
    overall = found.pop("overall")
    if "FAIL" in found.values():
        assert overall == "FAIL"
    elif "NOT_ASSESSED" in found.values():
        assert overall in ("NOT_ASSESSED", "FAIL")


def test_shipped_limits_are_the_design_s():
    assert CONFIG.min_jobs == 30
    assert (CONFIG.divergence_fail, CONFIG.divergence_warn, CONFIG.max_warned) == (0.20, 0.15, 2)
    floors = {str(rule.criterion): (rule.floor, rule.floor_unit) for rule in CONFIG.divergences}
    assert floors == {
        "mean_wait": (60, "s"),
        "p95_wait": (60, "s"),
        "throughput": (1, "jobs/h"),
        "makespan": (300, "s"),
    }
    assert (CONFIG.max_wait_kl_nats, CONFIG.wait_bins, CONFIG.min_distinct_bins) == (0.20, 20, 5)
    assert (CONFIG.max_bsld_ks, CONFIG.min_queue_correlation) == (0.15, 0.85)
