"""Recommendation: the best that passes everything, or none; who dominates whom; and who pays."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.claims.pareto import dominators
from hpcopt_assets.claims.recommendation import _changes, recommend
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION, TRADED
from hpcopt_assets.contracts.robustness_tables import BETTER
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.table import measure_all
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import replay_of

CONFIGS = load_configs(CHECKOUT / "configs")
BASELINE = CONFIGS.objective.claims.baseline
JOBS = 120


def claim(policy: str, outcome: str | None, gain: float = 0.5, **verdicts: str) -> list[dict[str, Any]]:
    """Rows of claim_verdicts: everything passes but what is named."""
    rows = []
    for criterion in ClaimCriterion:
        row: dict[str, Any] = dict.fromkeys(CLAIM_VERDICTS.names) | {
            "trace_id": "made",
            "policy": policy,
            "baseline": BASELINE,
            "criterion": criterion.value,
            "verdict": verdicts.get(criterion.value, "PASS"),
            "unit": "ratio",
            "evidence_count": JOBS,
            "reason": "as this test needs it",
        }
        if criterion is ClaimCriterion.SHAKEN_GAIN:
            row["measured"] = gain
        if criterion is ClaimCriterion.OVERALL:
            row["outcome"] = outcome
        rows.append(row)
    return rows


THREE_USERS = trace(job(i, 500 * i, 2 if i % 2 else 1, 1000, user=f"u{i % 3}") for i in range(JOBS))


def recommended(
    waits: Mapping[str, Sequence[int | None]], claims: list[dict[str, Any]], made: pl.DataFrame = THREE_USERS
) -> dict[str, dict[str, Any]]:
    """Rows by policy; the first policy is the baseline. Who waits for None never starts."""
    schedules = {
        policy: replay_of(made, (made["release_s"] + pl.Series(waited, dtype=pl.Int64)).to_list(), policy)
        for policy, waited in waits.items()
    }
    capacity = Capacity(8)
    found = recommend(
        trace_id="made",
        policies=[CONFIGS.policy(policy) for policy in waits],
        claims=pl.DataFrame(claims, schema=CLAIM_VERDICTS.polars_schema()),
        measured=measure_all(
            trace_id="made",
            trace_jobs=made,
            schedules=schedules,
            capacity=capacity,
            config=CONFIGS.objective.measures,
        ),
        schedules=schedules,
        capacity=capacity,
        objective=CONFIGS.objective,
        procs_bands=(1, 8, 32),
        is_synthetic=False,
    )
    validate(RECOMMENDATION, found)
    assert found["policy"].to_list() == list(waits)
    return {row["policy"]: row for row in found.iter_rows(named=True)}


EVEN = [3000] * JOBS


def test_the_accepted_one_that_gains_most_when_shaken_is_recommended():
    rows = recommended(
        {BASELINE: EVEN, "easy_sjbf": [1000] * JOBS, "easy_tsafrir": [500] * JOBS},
        claim("easy_sjbf", "ACCEPTED", 0.4) + claim("easy_tsafrir", "ACCEPTED", 0.3),
    )
    assert [rows[name]["rank"] for name in ("easy_sjbf", "easy_tsafrir", BASELINE)] == [1, 2, None]
    assert [row["is_recommended"] for row in rows.values()] == [False, True, False]
    assert rows["easy_sjbf"]["reason"].startswith("Recommended.")
    assert rows["easy_tsafrir"]["reason"].startswith("It passes everything; another gains more.")
    assert rows[BASELINE]["reason"] == "Recommended instead: easy_sjbf."


def test_none_is_recommended_where_none_passes_everything_and_it_is_said_why():
    rows = recommended(
        {
            BASELINE: EVEN,
            "easy_sjbf": [1000] * JOBS,
            "easy_tsafrir": [500] * JOBS,
            "sjf_backfill": [9000] * JOBS,
        },
        claim("easy_sjbf", "CONDITIONAL", overall="NOT_ASSESSED", baseline_fidelity="FAIL")
        + claim("easy_tsafrir", "BLOCKED", fairness="FAIL", overall="FAIL")
        + claim("sjf_backfill", "BLOCKED", fairness="FAIL", primary_gain="FAIL", overall="FAIL"),
    )
    assert not any(row["is_recommended"] for row in rows.values())
    assert {row["rank"] for row in rows.values()} == {None}
    assert rows[BASELINE]["reason"] == (
        "No candidate passes everything: none is recommended. 1 policy fails primary_gain: sjf_backfill. "
        "2 policies fail fairness: easy_tsafrir, sjf_backfill. Better, but not all is shown: easy_sjbf."
    )
    assert rows["easy_sjbf"]["reason"].startswith("Not recommended yet: not shown is baseline_fidelity.")
    assert rows["sjf_backfill"]["failed"] == "primary_gain, fairness"
    assert rows["easy_sjbf"]["open"] == "baseline_fidelity"


def test_a_claim_that_could_not_be_assessed_is_no_recommendation():
    rows = recommended(
        {BASELINE: EVEN, "easy_sjbf": [1000] * JOBS},
        claim("easy_sjbf", None, **dict.fromkeys((*DEMANDS, "overall"), "NOT_ASSESSED")),
    )
    assert rows["easy_sjbf"]["reason"].startswith(
        "Nothing can be said: not assessed is primary_gain, starved"
    )
    assert "Could not be assessed: easy_sjbf." in rows[BASELINE]["reason"]


def test_who_gains_and_who_pays():
    """Jobs of two processors wait longer, those of one do not; two users of three do not pay."""
    waits = [0 if i % 2 == 0 else 3000 + 7200 * (i % 3 == 1) for i in range(JOBS)]
    rows = recommended({BASELINE: EVEN, "easy_sjbf": waits}, claim("easy_sjbf", "ACCEPTED"))
    row = rows["easy_sjbf"]
    assert "jobs of 2-8 processors wait 0.6667 h longer on average (60 jobs)" in row["worsened"]
    assert "jobs of 1 processor wait" not in row["worsened"]
    assert (
        "1 of 3 users with 10 jobs or more wait longer on average, one of them by 0.5833 h" in row["worsened"]
    )
    assert row["improved"] is None or "p95_bsld" not in row["improved"]
    assert f"At the cost of: {row['worsened']}." in row["reason"]


def test_jobs_of_one_processor_that_pay_are_named_so():
    waits = [3000 + 7200 * (i % 2 == 0) for i in range(JOBS)]
    rows = recommended({BASELINE: EVEN, "easy_sjbf": waits}, claim("easy_sjbf", "ACCEPTED"))
    assert "jobs of 1 processor wait" in rows["easy_sjbf"]["worsened"]


def test_users_of_few_jobs_and_unknown_ones_pay_too():
    made = trace(
        job(i, 500 * i, 1, 1000, user=None if i < 9 else f"few{i % 5}" if i < 39 else "many")
        for i in range(JOBS)
    )
    waits = [3000 + (7200 if i < 9 else 3600 if i < 39 else -3000) for i in range(JOBS)]
    rows = recommended({BASELINE: EVEN, "easy_sjbf": waits}, claim("easy_sjbf", "ACCEPTED"), made)
    worsened = rows["easy_sjbf"]["worsened"]
    assert "jobs of users with fewer than 10 jobs wait 1 h longer on average (30 jobs)" in worsened
    assert "jobs of unknown users wait 2 h longer on average (9 jobs)" in worsened
    assert "users with 10 jobs or more" not in worsened


def test_failures_are_listed_beside_a_recommendation_too():
    rows = recommended(
        {BASELINE: EVEN, "easy_sjbf": [1000] * JOBS, "sjf_backfill": [500] * JOBS, "f1_backfill": EVEN},
        claim("easy_sjbf", "ACCEPTED")
        + claim("sjf_backfill", "BLOCKED", fairness="FAIL", overall="FAIL")
        + claim("f1_backfill", "CONDITIONAL", confirmation="FAIL", overall="NOT_ASSESSED"),
    )
    assert rows[BASELINE]["reason"] == (
        "Recommended instead: easy_sjbf. 1 policy fails fairness: sjf_backfill. "
        "Better, but not all is shown: f1_backfill."
    )


def test_of_some_measures_more_is_better():
    """One user of three waits for all: service spread evenly is an improvement, the reverse a cost."""
    uneven = [9000 * (i % 3 == 0) for i in range(JOBS)]
    fairer = recommended({BASELINE: uneven, "easy_sjbf": EVEN}, claim("easy_sjbf", "ACCEPTED"))["easy_sjbf"]
    assert "jain_service" in fairer["improved"]
    assert "jain_service" not in fairer["worsened"]
    less_fair = recommended({BASELINE: EVEN, "easy_sjbf": uneven}, claim("easy_sjbf", "ACCEPTED"))[
        "easy_sjbf"
    ]
    assert "jain_service" in less_fair["worsened"]


def test_less_than_a_hundredth_is_not_told():
    row = recommended({BASELINE: EVEN, "easy_sjbf": [2985] * JOBS}, claim("easy_sjbf", "ACCEPTED"))
    assert (row["easy_sjbf"]["improved"], row["easy_sjbf"]["worsened"]) == (None, None)


def test_measures_are_of_the_steady_window():
    """What the first twentieth waits is in no number, though the whole trace's mean would show it."""
    late = [90_000 * (i < 6) + 3000 * (i >= 6) for i in range(JOBS)]
    rows = recommended({BASELINE: EVEN, "easy_sjbf": late}, claim("easy_sjbf", "ACCEPTED"))
    assert rows["easy_sjbf"]["mean_wait_s"] == 3000.0
    assert "mean_wait_s" not in (rows["easy_sjbf"]["worsened"] or "")


def test_of_equal_gains_both_are_recommended():
    rows = recommended(
        {BASELINE: EVEN, "easy_sjbf": EVEN, "sjf_backfill": EVEN, "f1_backfill": EVEN},
        claim("easy_sjbf", "ACCEPTED", 0.4)
        + claim("sjf_backfill", "ACCEPTED", 0.4)
        + claim("f1_backfill", "ACCEPTED", 0.3),
    )
    assert [row["rank"] for row in rows.values()] == [None, 1, 1, 3]
    assert rows[BASELINE]["reason"] == "Recommended instead: easy_sjbf or sjf_backfill."


def test_without_a_job_that_ran_nothing_is_known():
    unknown = trace(job(i, 500 * i, 1, None) for i in range(JOBS))
    none: list[int | None] = [None] * JOBS
    nothing = claim("easy_sjbf", None, **dict.fromkeys((*DEMANDS, "overall"), "NOT_ASSESSED"))
    row = recommended({BASELINE: none, "easy_sjbf": none}, nothing, unknown)["easy_sjbf"]
    assert (row["improved"], row["worsened"], row["is_on_front"]) == (None, None, None)
    assert "What improved, and at whose cost, is not known" in row["reason"]
    assert "nothing noticeable" not in row["reason"]


def test_who_left_out_jobs_that_others_ran_has_no_place_among_them():
    """On a machine that shrinks, who never starts the jobs that would wait has the shortest waits."""
    quick: list[int | None] = [0] * (JOBS - 5) + [None] * 5
    rows = recommended(
        {BASELINE: EVEN, "easy_sjbf": [1000] * JOBS, "fifo_strict": quick},
        claim("easy_sjbf", "ACCEPTED") + claim("fifo_strict", "BLOCKED", fairness="FAIL"),
    )
    row = rows["fifo_strict"]
    assert (row["is_on_front"], row["dominated_by"], row["improved"]) == (None, None, None)
    assert row["mean_wait_s"] == 0.0
    assert "it did not run the baseline's jobs" in row["reason"]
    assert rows["easy_sjbf"]["is_on_front"] is True
    assert rows["easy_sjbf"]["dominated_by"] is None
    assert rows[BASELINE]["dominated_by"] == "easy_sjbf"


def test_a_place_that_is_unknown_says_for_want_of_what():
    nobody = trace(job(i, 500 * i, 1, 1000) for i in range(JOBS))
    row = recommended({BASELINE: EVEN, "easy_sjbf": EVEN}, claim("easy_sjbf", "ACCEPTED"), nobody)[
        "easy_sjbf"
    ]
    assert row["is_on_front"] is None
    assert "Neither on the front nor dominated: unknown is jain_service." in row["reason"]


def test_no_change_is_no_gain_and_costs_nothing():
    row = recommended(
        {BASELINE: EVEN, "easy_sjbf": EVEN}, claim("easy_sjbf", "BLOCKED", primary_gain="FAIL")
    )["easy_sjbf"]
    assert (row["improved"], row["worsened"], row["dominated_by"], row["is_on_front"]) == (
        None,
        None,
        None,
        True,
    )
    assert "At the cost of: nothing noticeable." in row["reason"]


def test_who_is_dominated_says_by_whom():
    rows = recommended(
        {BASELINE: EVEN, "easy_sjbf": [1000] * JOBS, "sjf_backfill": [200_000] * JOBS},
        claim("easy_sjbf", "ACCEPTED") + claim("sjf_backfill", "BLOCKED", starved="FAIL"),
    )
    assert rows["easy_sjbf"]["is_on_front"] is True
    assert rows[BASELINE]["dominated_by"] == "easy_sjbf"
    assert rows["sjf_backfill"]["dominated_by"] == f"{BASELINE}, easy_sjbf"


NAMES = ("p95_bsld", "jain_service")
numbers = st.sampled_from([1.0, 2.0, 3.0])
policies = st.dictionaries(
    st.sampled_from("abcdef"),
    st.fixed_dictionaries({name: numbers | st.none() for name in NAMES}),
    min_size=1,
)


@given(policies)
def test_the_front_is_not_empty_and_everybody_else_is_dominated_by_it(measured):
    found = dominators(measured, NAMES)
    known = {policy for policy, by in found.items() if by is not None}
    assert known == {policy for policy, values in measured.items() if None not in values.values()}
    front = {policy for policy in known if not found[policy]}
    assert front or not known
    for policy in known - front:
        assert front & set(found[policy])
        for other in found[policy]:
            assert measured[other]["p95_bsld"] <= measured[policy]["p95_bsld"]
            assert measured[other]["jain_service"] >= measured[policy]["jain_service"]
            assert measured[other] != measured[policy]
            assert policy not in found[other]


def test_every_traded_measure_matters():
    """Better in one alone is enough to stay on the front."""
    best = {
        "p95_bsld": 1.0,
        "utilisation_ratio": 0.9,
        "mean_wait_s": 1.0,
        "jain_service": 0.9,
        "starved_ratio": 0.0,
    }
    assert set(best) == set(TRADED)
    for name in TRADED:
        worse = {
            key: value + 1 if key in ("p95_bsld", "mean_wait_s", "starved_ratio") else value - 0.5
            for key, value in best.items()
        }
        other = worse | {
            name: best[name] * (2 if name in ("utilisation_ratio", "jain_service") else 0.5) - 0.1
        }
        assert dominators({"one": best, "other": other}, TRADED)["other"] == ()
        assert dominators({"one": best, "other": worse}, TRADED)["other"] == ("one",)


@pytest.mark.parametrize("unknown", [None, math.nan])
def test_an_unknown_measure_dominates_nobody_and_is_not_ranked(unknown):
    found = dominators(
        {
            "one": {"p95_bsld": unknown, "jain_service": 1.0},
            "two": {"p95_bsld": 9.0, "jain_service": 0.1},
        },
        NAMES,
    )
    assert found == {"one": None, "two": ()}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (424.0, 50_146.0, "p95_bsld 424 -> 50,146 (118.3 times)"),
        (424.0, 90.88, "p95_bsld 424 -> 90.88 (-78.6 %)"),
        (10.0, 99.9, "p95_bsld 10 -> 99.9 (+899 %)"),
        (0.0, 2.0, "p95_bsld 0 -> 2"),
    ],
)
def test_a_change_is_told_in_figures_that_can_be_read(old, new, told):
    nothing = dict.fromkeys(BETTER)
    better, worse = _changes(nothing | {"p95_bsld": new}, nothing | {"p95_bsld": old})
    assert [*better, *worse] == [told]
