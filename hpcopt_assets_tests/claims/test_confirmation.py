"""Confirmation: a gain counts where it would be there on another day."""

from typing import Any

import polars as pl
import pytest

from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.claims.judged import HOUR, JOBS, judged, shaken


@pytest.mark.parametrize(
    ("upper", "block_upper", "verdict", "outcome", "measured"),
    [
        (-1.0, -0.5, "PASS", "ACCEPTED", -0.5),
        (-1.0, 0.5, "FAIL", "CONDITIONAL", 0.5),
        (0.0, -0.5, "FAIL", "CONDITIONAL", 0.0),
        (-1.0, None, "NOT_ASSESSED", "CONDITIONAL", -1.0),
        (0.1, None, "FAIL", "CONDITIONAL", 0.1),
        (None, None, "NOT_ASSESSED", "CONDITIONAL", None),
    ],
)
def test_a_gain_is_accepted_only_where_both_intervals_say_so(upper, block_upper, verdict, outcome, measured):
    rows = judged([1000] * JOBS, [3000] * JOBS, shaken=shaken(upper, block_upper))
    assert rows["confirmation"]["verdict"] == verdict
    assert rows["confirmation"]["measured"] == measured
    assert rows["overall"]["outcome"] == outcome


def test_what_confirms_is_told():
    rows = judged([1000] * JOBS, [3000] * JOBS, shaken=shaken(-1.0, -0.5))
    assert rows["confirmation"]["reason"] == (
        "on the rest, p95_bsld of 46 jobs changes by [-3, -1] over 200 shaken replicas and by [-3, -0.5] "
        "over 20 weeks drawn anew (99 %, Holm over 5 candidates)"
    )


def test_what_was_accepted_is_told_with_what_confirms_it():
    reason = judged([1000] * JOBS, [3000] * JOBS, shaken=shaken())["overall"]["reason"]
    assert reason.startswith("ACCEPTED: p95_bsld is 2, 50 % below")
    assert "Confirmed: shaken_gain (mean gain in p95_bsld over 200 shaken replicas 0.5" in reason
    assert "confirmation (on the rest, p95_bsld of 46 jobs changes by [-3, -1]" in reason


def test_intervals_of_other_parts_or_other_baselines_confirm_nothing():
    rows = shaken()
    for other in (
        rows.filter(time_window="steady"),
        rows.with_columns(baseline=pl.lit("fifo_strict")),
    ):
        found = judged([1000] * JOBS, [3000] * JOBS, shaken=other)
        assert found["confirmation"]["verdict"] == "NOT_ASSESSED"
        assert found["overall"]["outcome"] == "CONDITIONAL"


@pytest.mark.parametrize(
    "lacking",
    [{"jobs_count": 29}, {"candidates_count": None, "confidence": 0.5}],
)
def test_few_jobs_or_somebody_who_was_not_chosen_confirm_nothing(lacking: dict[str, Any]):
    rows = judged([1000] * JOBS, [3000] * JOBS, shaken=shaken(**lacking))
    assert rows["confirmation"]["verdict"] == "NOT_ASSESSED"
    assert rows["overall"]["outcome"] == "CONDITIONAL"


def test_an_artefact_is_called_one():
    rows = judged([1000] * JOBS, [3000] * JOBS, shaken=shaken(is_artefact=True))
    assert "outside the first of these" in rows["confirmation"]["reason"]
    assert "outside the first of these" in rows["overall"]["reason"]


def test_a_gain_that_shaken_replicas_do_not_have_is_an_accident_of_the_log():
    """Half of the baseline in this replay, a fortieth of it on average over replicas."""
    rows = shaken(mean=-0.1).with_columns(is_artefact=pl.col("time_window") == "steady")
    found = judged([1000] * JOBS, [3000] * JOBS, shaken=rows)
    assert found["primary_gain"]["verdict"] == "PASS"
    assert found["shaken_gain"]["verdict"] == "FAIL"
    assert found["shaken_gain"]["measured"] == pytest.approx(0.025)
    assert "the replay's own change, -2, lies outside theirs, [-3, -1]" in found["shaken_gain"]["reason"]
    assert found["overall"]["outcome"] == "CONDITIONAL"


@pytest.mark.parametrize(
    ("met", "verdict", "measured", "told"),
    [
        ({}, "PASS", 1.0, "p95_bsld"),
        ({"jain_service": 0.95}, "PASS", 0.95, "jain_service"),
        ({"jain_service": 0.36, "starved_ratio": 0.9}, "FAIL", 0.36, "jain_service"),
        ({"utilisation_ratio": 0.94}, "FAIL", 0.94, "utilisation_ratio"),
        ({"starved_ratio": None}, "NOT_ASSESSED", None, "each measure"),
    ],
)
def test_a_constraint_that_is_just_kept_in_one_replay_may_be_broken_in_most(met, verdict, measured, told):
    found = judged([1000] * JOBS, [3000] * JOBS, shaken=shaken(met=met))
    row = found["shaken_demands"]
    assert (row["verdict"], row["measured"], row["limit"]) == (verdict, measured, 0.95)
    assert f"in which the demand on {told} is met" in row["reason"]
    assert found["overall"]["outcome"] == ("ACCEPTED" if verdict == "PASS" else "CONDITIONAL")


def test_too_few_replicas_tell_of_no_gain():
    rows = shaken().with_columns(lower=pl.lit(None, dtype=pl.Float64))
    assert judged([1000] * JOBS, [3000] * JOBS, shaken=rows)["shaken_gain"]["verdict"] == "NOT_ASSESSED"


def test_a_candidate_that_gains_only_later_was_not_chosen():
    """A gain in the last third of time alone makes the whole better, and chooses nobody."""
    late = [3000 if i < 80 else 0 for i in range(JOBS)]
    base = [3000 if i < 80 else 9000 for i in range(JOBS)]
    rows = judged(late, base, shaken=shaken(-1.0, -0.5))
    assert rows["primary_gain"]["verdict"] == "PASS"
    assert rows["selection"]["verdict"] == "FAIL"
    assert rows["selection"]["reason"].startswith("not chosen on the first part: primary_gain (p95_bsld is 4")
    assert rows["confirmation"]["verdict"] == "NOT_ASSESSED"
    assert rows["overall"]["outcome"] == "CONDITIONAL"
    assert "selection (not chosen" in rows["overall"]["reason"]


def test_a_candidate_that_starves_jobs_in_the_first_part_was_not_chosen():
    """Five of 228 jobs of the first part are too many; five of 380 in the steady window are not."""
    made = trace(job(i, 500 * i, 2, 1000, user=f"u{i % 3}") for i in range(400))
    starved = [60 * HOUR if i in (50, 90, 130, 170, 210) else 0 for i in range(400)]
    rows = judged(starved, [3000] * 400, trace_jobs=made, shaken=shaken(-1.0, -0.5))
    assert rows["starved"]["verdict"] == "PASS"
    assert rows["selection"]["verdict"] == "FAIL"
    assert "starved (starved_ratio" in rows["selection"]["reason"]
