"""Robustness: known answers of the table."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from hpcopt_assets.claims.robustness import robustness
from hpcopt_assets.contracts.robustness_tables import BETTER, ROBUSTNESS, SHAKEN_MEASURES, WINDOWS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import replay_of

CONFIGS = load_configs(CHECKOUT / "configs")
INTERVALS = CONFIGS.robustness.intervals.model_copy(update={"draws": 200})
BASELINE = CONFIGS.objective.claims.baseline
WEEK_S = 7 * 86_400
JOBS = 600
LONG, SHORT = np.full(JOBS, 5000), np.full(JOBS, 1000)


def shaken(**values: list[float]) -> pl.DataFrame:
    """The same number in every measure and window of a replica."""
    rows = [
        {
            "trace_id": "made",
            "policy": policy,
            "time_window": window.value,
            "replica": replica,
            "left_out_count": 0,
            **dict.fromkeys(BETTER, value),
        }
        for policy, numbers in values.items()
        for window in WINDOWS
        for replica, value in enumerate(numbers)
    ]
    return pl.DataFrame(rows, schema=SHAKEN_MEASURES.polars_schema())


def compared(
    waits: dict[str, Any],
    values: dict[str, list[float]],
    weeks: int = 40,
    config=INTERVALS,
    replicas: pl.DataFrame | None = None,
    jobs: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The table for policies with these waits, the first of them the baseline's."""
    if jobs is None:
        jobs = trace(
            job(i, int(i * weeks * WEEK_S / JOBS), 1, 100, user=f"u{i % 5}", wait_s=0) for i in range(JOBS)
        )
    found = robustness(
        trace_id="made",
        shaken=shaken(**values) if replicas is None else replicas,
        schedules={
            policy: replay_of(
                jobs,
                [
                    None if wait is None else int(release_s + wait)
                    for release_s, wait in zip(jobs["release_s"], waited, strict=True)
                ],
                policy,
            )
            for policy, waited in waits.items()
        },
        capacity=Capacity(4),
        objective=CONFIGS.objective,
        config=config,
    )
    validate(ROBUSTNESS, found)
    return found


def primary(frame: pl.DataFrame, policy: str = "easy_sjbf", window: str = "steady") -> dict[str, Any]:
    return frame.filter(policy=policy, time_window=window, measure="p95_bsld").row(0, named=True)


EVEN = {BASELINE: LONG, "easy_sjbf": LONG}
BETTER_WAITS = {BASELINE: LONG, "easy_sjbf": SHORT}
STILL = {BASELINE: [10.0] * 40, "easy_sjbf": [8.0] * 40}


def test_every_policy_window_and_measure_has_a_row_and_the_baseline_has_none():
    found = compared(BETTER_WAITS, STILL)
    assert found.height == len(WINDOWS) * len(BETTER)
    assert found["policy"].unique().to_list() == ["easy_sjbf"]


def test_a_policy_under_two_names_differs_by_nothing():
    found = compared(EVEN, {BASELINE: [10.0] * 40, "easy_sjbf": [10.0] * 40})
    zero = ("difference", "mean_difference", "lower", "upper", "block_lower", "block_upper")
    assert set(found.select(zero).unique().row(0)) == {0}
    assert found.select(zero).n_unique() == 1
    assert found["improved_ratio"].unique().to_list() == [0]
    assert not found["is_artefact"].any()
    assert found["candidates_count"].null_count() == found.height


def test_what_shaking_brings_to_both_does_not_blur_their_difference():
    brought = np.random.default_rng(1).uniform(0, 1000, 40)
    row = primary(
        compared(BETTER_WAITS, {BASELINE: (10 + brought).tolist(), "easy_sjbf": (8 + brought).tolist()})
    )
    assert (row["lower"], row["upper"]) == pytest.approx((-2, -2))
    assert row["improved_ratio"] == 1
    assert row["block_upper"] < 0


def test_the_distribution_of_the_difference_by_hand():
    other = [10.0 - step for step in range(81)]
    row = primary(compared(EVEN, {BASELINE: [10.0] * 81, "easy_sjbf": other}))
    assert [row[f"p{q}_difference"] for q in (25, 50, 75)] == [-60, -40, -20]
    assert (row["lower"], row["upper"], row["mean_difference"]) == (-79, -1, -40)
    assert row["shaken_baseline_value"] == 10
    assert row["improved_ratio"] == 80 / 81
    assert row["replicas_count"] == 81


def test_more_is_better_where_it_is():
    found = compared(EVEN, {BASELINE: [0.5] * 40, "easy_sjbf": [0.6] * 40})
    steady = found.filter(time_window="steady")
    improved = dict(steady.select("measure", "improved_ratio").iter_rows())
    assert {name for name, ratio in improved.items() if ratio == 1} == {"utilisation_ratio", "jain_service"}


def test_a_difference_outside_its_interval_is_an_artefact():
    """As replayed the policy is better by 40; in replicas by as much as it is worse."""
    found = compared(BETTER_WAITS, {BASELINE: [10.0] * 40, "easy_sjbf": [9.0, 11.0] * 20})
    row = primary(found)
    assert row["difference"] == pytest.approx(-40)
    assert row["is_artefact"] is True
    assert row["improved_ratio"] == 0.5


def test_too_few_weeks_or_replicas_have_no_interval():
    """The steady window begins at a twentieth of the jobs: of eleven weeks, more than ten are left."""
    few, enough = (primary(compared(BETTER_WAITS, STILL, weeks=weeks)) for weeks in (9, 11))
    assert (few["blocks_count"], few["block_lower"], few["block_upper"]) == (9, None, None)
    assert (enough["blocks_count"], enough["block_upper"]) == (11, pytest.approx(-40))
    row = primary(compared(BETTER_WAITS, {name: values[:38] for name, values in STILL.items()}))
    assert (row["replicas_count"], row["lower"], row["upper"], row["is_artefact"]) == (38, None, None, None)
    assert row["mean_difference"] == -2


def test_one_lucky_week_does_not_carry_the_others():
    waits = LONG.copy()
    waits[300:315] = 10
    row = primary(compared({BASELINE: LONG, "easy_sjbf": waits}, STILL))
    assert row["block_upper"] >= 0


def test_replicas_of_which_one_has_no_value_are_left_out():
    replicas = shaken(**{name: values[:1] * 60 for name, values in STILL.items()}).with_columns(
        p95_bsld=pl.when((pl.col("policy") == BASELINE) & (pl.col("replica") < 20))
        .then(None)
        .otherwise("p95_bsld")
    )
    found = compared(EVEN, {}, replicas=replicas)
    assert primary(found)["replicas_count"] == 40
    assert found.filter(measure="mean_bsld", time_window="steady")["replicas_count"].item() == 60


def test_candidates_are_chosen_on_the_first_part_and_their_intervals_adjusted():
    """Three policies better throughout; one only in the second half, which chooses nobody."""
    half = np.where(np.arange(JOBS) < JOBS * 0.65, LONG, SHORT)
    waits = {
        BASELINE: LONG,
        "easy_sjbf": SHORT,
        "easy_tsafrir": SHORT + 1,
        "sjf_backfill": SHORT + 2,
        "f1_backfill": half,
    }
    random = np.random.default_rng(3)
    replicas = {name: (8 + random.uniform(-1, 1, 200)).tolist() for name in waits}
    replicas[BASELINE] = [10.0] * 200
    found = compared(waits, replicas)
    rows = {name: primary(found, name, "confirmation") for name in waits if name != BASELINE}
    assert {name for name, row in rows.items() if row["candidates_count"] is not None} == {
        "easy_sjbf",
        "easy_tsafrir",
        "sjf_backfill",
    }
    assert {row["candidates_count"] for row in rows.values()} == {3, None}
    adjusted = sorted(row["confidence"] for row in rows.values())
    # All three are better in every replica and every drawing: equal p's have the strictest of their levels.
    assert adjusted == pytest.approx([0.95, *[1 - 0.05 / 3] * 3])
    others = found.filter((pl.col("time_window") != "confirmation") | (pl.col("measure") != "p95_bsld"))
    assert others["confidence"].unique().to_list() == [0.95]
    wide, narrow = (
        primary(
            compared(waits, replicas, config=INTERVALS.model_copy(update={"confidence": at})),
            "easy_sjbf",
            "confirmation",
        )
        for at in (0.99, 0.5)
    )
    assert wide["lower"] < narrow["lower"] < narrow["upper"] < wide["upper"]


@pytest.mark.parametrize(("weeks", "replicas"), [(15, 40), (40, 38)])
def test_candidates_that_cannot_be_assessed_take_no_level_from_others(weeks: int, replicas: int):
    """Two are chosen and both lack an interval: neither is shown, so the first level is that of both."""
    waits = {BASELINE: LONG, "easy_sjbf": SHORT, "sjf_backfill": SHORT}
    values = {BASELINE: [10.0] * replicas, "easy_sjbf": [8.0] * replicas, "sjf_backfill": [8.0] * replicas}
    found = compared(waits, values, weeks=weeks)
    rows = [primary(found, name, "confirmation") for name in ("easy_sjbf", "sjf_backfill")]
    assert [row["candidates_count"] for row in rows] == [2, 2]
    assert [row["confidence"] for row in rows] == pytest.approx([0.975, 0.975])
    assert {row["block_lower" if weeks < 40 else "lower"] for row in rows} == {None}


def test_each_of_both_evidences_counts_for_the_level():
    """Better in all weeks and not in all replicas: not shown, so both are held against the first level."""
    waits = {BASELINE: LONG, "easy_sjbf": SHORT, "sjf_backfill": SHORT}
    mixed = [8.0] * 30 + [11.0] * 10
    found = compared(waits, {BASELINE: [10.0] * 40, "easy_sjbf": mixed, "sjf_backfill": [11.0, *mixed[:-1]]})
    rows = [primary(found, name, "confirmation") for name in ("easy_sjbf", "sjf_backfill")]
    assert [row["candidates_count"] for row in rows] == [2, 2]
    assert [row["confidence"] for row in rows] == pytest.approx([0.975, 0.975])


@pytest.mark.parametrize("window", ["confirmation", "steady"])
def test_a_level_is_that_of_the_rest_by_both_evidences(window: str):
    """Of two that gain in every week, one is worse in some replicas of this window.

    On the rest it is then second, and has a level of its own; elsewhere that does not matter.
    """
    waits = {BASELINE: LONG, "easy_sjbf": SHORT, "sjf_backfill": SHORT}
    replicas = shaken(**{name: [10.0 if name == BASELINE else 8.0] * 40 for name in waits})
    is_worse = (
        (pl.col("policy") == "easy_sjbf") & (pl.col("time_window") == window) & (pl.col("replica") < 10)
    )
    replicas = replicas.with_columns(p95_bsld=pl.when(is_worse).then(11.0).otherwise("p95_bsld"))
    found = compared(waits, {}, replicas=replicas)
    levels = [primary(found, name, "confirmation")["confidence"] for name in ("sjf_backfill", "easy_sjbf")]
    assert levels == pytest.approx([0.975, 0.95 if window == "confirmation" else 0.975])


def test_the_first_part_chooses_and_not_the_whole():
    """One gains in the first part and loses it all later; another gains in the whole, and later alone."""
    is_early = np.arange(JOBS) < 400
    waits = {
        BASELINE: LONG,
        "easy_sjbf": np.where(is_early, SHORT, 2 * LONG),
        "sjf_backfill": np.where(np.arange(JOBS) < 300, LONG, 0),
    }
    found = compared(waits, {name: [10.0] * 40 for name in waits})
    chosen = {name: primary(found, name, "confirmation")["candidates_count"] for name in list(waits)[1:]}
    assert chosen == {"easy_sjbf": 1, "sjf_backfill": None}
    assert primary(found)["difference"] > 0


def test_replicas_in_which_one_left_more_jobs_unstarted_do_not_count():
    replicas = shaken(**STILL).with_columns(
        left_out_count=pl.when((pl.col("policy") == BASELINE) & (pl.col("replica") < 30)).then(3).otherwise(0)
    )
    found = compared(BETTER_WAITS, {}, replicas=replicas)
    assert primary(found)["replicas_count"] == 10
    assert primary(found)["lower"] is None


def test_the_baselines_weeks_are_drawn_once_and_anew_where_its_jobs_differ():
    """A candidate that leaves jobs out is compared over the others, in whatever order candidates come."""
    part = [None if i % 3 == 0 else 1000 for i in range(JOBS)]
    waits = {BASELINE: LONG, "easy_sjbf": SHORT, "sjf_backfill": part, "f1_backfill": SHORT}
    values = {name: [10.0] * 40 for name in waits}
    found = compared(waits, values)
    alone = compared({name: waits[name] for name in (BASELINE, "sjf_backfill")}, values)
    same = found.filter(policy="sjf_backfill").drop("confidence", "candidates_count", "lower", "upper")
    assert_frame_equal(same, alone.drop("confidence", "candidates_count", "lower", "upper"))
    assert primary(found, "sjf_backfill")["jobs_count"] < primary(found, "f1_backfill")["jobs_count"]


def test_a_machine_without_users_has_no_fairness_and_says_nothing_of_it():
    nobody = trace(job(i, i * 10_000, 1, 100, wait_s=0) for i in range(JOBS))
    empty = shaken(**STILL).with_columns(jain_service=pl.lit(None, dtype=pl.Float64))
    found = compared(EVEN, {}, replicas=empty, jobs=nobody)
    row = found.filter(measure="jain_service", time_window="steady").row(0, named=True)
    assert row["replicas_count"] == 0
    assert {row[name] for name in ("difference", "lower", "upper", "block_lower", "improved_ratio")} == {None}


def test_no_jobs_no_evidence():
    """A trace of which nothing is replayed: rows that say nothing, and no error."""
    jobs = trace(job(i, i * 10, 1, None) for i in range(3))
    nothing = shaken(**STILL).with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in BETTER)
    found = compared({BASELINE: [None] * 3, "easy_sjbf": [None] * 3}, {}, replicas=nothing, jobs=jobs)
    assert found["blocks_count"].unique().to_list() == [0]
    assert found["lower"].null_count() == found.height


class TestDemandsOverReplicas:
    """The baseline's every measure is 0.5 in each replica; the demand is judged replica by replica."""

    def met(self, policy: list[float], **changes: list[float | None]) -> dict[str, float | None]:
        numbers = {BASELINE: [0.5] * len(policy), "other": policy}
        replicas = shaken(**numbers)
        for measure, values in changes.items():
            own = pl.Series([*values] * len(WINDOWS), dtype=pl.Float64)
            theirs = replicas.filter(policy="other").with_columns(own.alias(measure))
            replicas = pl.concat([replicas.filter(policy=BASELINE), theirs])
        table = compared({BASELINE: LONG, "other": SHORT}, numbers, replicas=replicas)
        rows = table.filter(policy="other", time_window="steady")
        return dict(rows.select("measure", "met_ratio").iter_rows())

    def test_each_demand_has_the_share_of_replicas_in_which_it_is_met(self):
        """A fall of p95_bsld by 5 %, of jain_service by 0.03 at most, of utilisation by 0.01 at most."""
        gains = [0.47] * 30 + [0.48] * 10
        found = self.met([0.5] * 40, p95_bsld=gains, jain_service=[0.475] * 10 + [0.465] * 30)
        demanded = {name: ratio for name, ratio in found.items() if ratio is not None}
        assert demanded == {
            "p95_bsld": 0.75,
            "jain_service": 0.25,
            "utilisation_ratio": 1.0,
            "starved_ratio": 1.0,
        }

    def test_few_replicas_or_one_without_a_value_tell_nothing(self):
        assert set(self.met([0.5] * 5).values()) == {None}
        assert self.met([0.5] * 40, jain_service=[None] + [0.5] * 39)["jain_service"] is None
