"""Demands under other settings: flips that are made to be found, and rows for all that concerns a policy."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pytest

from hpcopt_assets.claims.sensitivity import judge_sensitivity
from hpcopt_assets.contracts.config import ObjectiveConfig, PoliciesConfig, Policy
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.stress_config import SensitivityConfig
from hpcopt_assets.contracts.stress_tables import SENSITIVITY
from hpcopt_assets.contracts.vocabulary import EstimateSource
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.simulate.world import World
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import replay_of, shipped
from hpcopt_assets_tests.stress.traces import MACHINE, estimates_of, modelled

OBJECTIVE, SETTINGS = shipped(ObjectiveConfig), shipped(SensitivityConfig).settings
KNOWN = {policy.id: policy for policy in shipped(PoliciesConfig).policies}
EASY, SJF, GUARDED = (KNOWN[name] for name in ("easy_backfill", "sjf_backfill", "ml_backfill_p50"))
JOBS, HOUR_S, TEN = 200, 3600, Capacity(10)
MANY = trace(job(i, 5000 * i, 1 + (i == 7) * 7, 1000, 2000, user=f"u{i % 4}") for i in range(JOBS))
Waits = Callable[[Policy, Capacity], Sequence[int | None]]


def judged(
    waits: Waits,
    candidate: Policy = SJF,
    *,
    jobs: pl.DataFrame = MANY,
    accounting: pl.DataFrame | None = None,
    source: EstimateSource = EstimateSource.REQUEST,
    capacity: Capacity = TEN,
) -> pl.DataFrame:
    """`sensitivity` where every job waits as long as is said for a policy on a machine."""

    def worlds(capacity: Capacity, widest: int | None):
        fitting = jobs if widest is None else jobs.filter(pl.col("procs") <= widest)

        def replays(policy: Policy) -> pl.DataFrame:
            told = waits(policy, capacity)[: fitting.height]
            return replay_of(fitting, (fitting["release_s"] + pl.Series(told)).to_list(), policy.id, source)

        return replays

    with ThreadPoolExecutor(2) as pool:
        found = judge_sensitivity(
            trace_id="made",
            worlds=worlds,
            policies=[candidate, EASY],
            capacity=capacity,
            accounting=ESTIMATE_ACCOUNTING.empty() if accounting is None else accounting,
            objective=OBJECTIVE,
            settings=SETTINGS,
            executor=pool,
        )
    validate(SENSITIVITY, found)
    assert found["policy"].unique().to_list() == [candidate.id]
    return found


def by(found: pl.DataFrame, varied: str, column: str) -> dict[str, Any]:
    return dict(found.filter(varied=varied).select("setting", column).iter_rows())


def always(candidate_s: int, baseline_s: int) -> Waits:
    return lambda policy, _: [baseline_s if policy.id == EASY.id else candidate_s] * JOBS


def test_a_gain_that_hangs_on_nothing_flips_nowhere():
    found = judged(always(1000, 3000))
    assert found["verdict"].unique().to_list() == ["PASS"]
    assert found["has_flipped"].unique().to_list() == [False]
    assert found["gain_ratio"].unique().to_list() == pytest.approx([0.5])
    assert found.select("varied", "setting", "is_default").rows() == [
        ("tau_s", "10", True), ("tau_s", "60", False),
        ("capacity", "0.9", False), ("capacity", "1", True), ("capacity", "1.1", False),
        ("starved_after_s", "86400", False), ("starved_after_s", "172800", True),
        ("starved_after_s", "345600", False),
        ("min_gain_ratio", "0.01", False), ("min_gain_ratio", "0.05", True), ("min_gain_ratio", "0.1", False),
        ("max_jain_service_drop", "0.02", False), ("max_jain_service_drop", "0.03", True),
        ("max_jain_service_drop", "0.05", False),
        ("overrun", "extend", True), ("overrun", "kill", False),
    ]  # fmt: skip


def test_a_gain_of_jobs_that_are_over_at_once_hangs_on_tau():
    """Jobs of a second that wait for 0 or 50 s: slowdowns of 1 and 5.1, or of 1 and 1."""
    short = trace(job(i, 5000 * i, 1, 1, 2000, user=f"u{i % 4}") for i in range(JOBS))
    found = judged(always(0, 50), jobs=short)
    assert by(found, "tau_s", "verdict") == {"10": "PASS", "60": "FAIL"}
    assert by(found, "tau_s", "has_flipped") == {"10": False, "60": True}
    assert by(found, "tau_s", "gain_ratio") == pytest.approx({"10": 1 - 1 / 5.1, "60": 0.0})
    assert found.filter("has_flipped").height == 1


def test_starvation_hangs_on_when_it_begins():
    """One job in twenty-five waits for 30 h, as many of each user: too few for p95, too many to starve."""

    def waits(policy: Policy, _: Capacity) -> list[int]:
        is_baseline = policy.id == EASY.id
        return [3000 if is_baseline else 500 + 30 * HOUR_S * (i % 25 == 24) for i in range(JOBS)]

    found = judged(waits)
    assert by(found, "starved_after_s", "starved") == {"86400": "FAIL", "172800": "PASS", "345600": "PASS"}
    assert by(found, "starved_after_s", "has_flipped") == {"86400": True, "172800": False, "345600": False}
    assert found.filter("has_flipped")["reason"].item().startswith("starved_ratio 0.04")


def test_a_gain_that_hangs_on_the_machine():
    def waits(policy: Policy, capacity: Capacity) -> list[int]:
        return [3000 if policy.id == EASY.id or capacity.procs == 11 else 1000] * JOBS

    found = judged(waits)
    assert by(found, "capacity", "verdict") == {"0.9": "PASS", "1": "PASS", "1.1": "FAIL"}
    assert by(found, "capacity", "has_flipped") == {"0.9": False, "1": False, "1.1": True}


def test_machines_are_compared_over_the_jobs_that_fit_the_smallest():
    """Eleven jobs need the whole machine, and one of these never starts: it is missing anyhow."""
    wide = MANY.with_columns(
        pl.when(pl.int_range(pl.len()).is_between(50, 60)).then(10).otherwise(name).alias(name)
        for name in ("procs", "requested_procs")
    )

    def waits(policy: Policy, _: Capacity) -> list[int | None]:
        return [None if i == 60 else 3000 if policy.id == EASY.id else 1000 for i in range(JOBS)]

    found = judged(waits, jobs=wide)
    assert by(found, "capacity", "excluded_count") == {"0.9": 10, "1": 10, "1.1": 10}
    assert by(found, "tau_s", "excluded_count") == {"10": 0, "60": 0}
    assert len(set(by(found, "capacity", "jobs_count").values())) == 1
    assert by(found, "capacity", "jobs_count")["1"] < by(found, "tau_s", "jobs_count")["10"]
    assert by(judged(always(1000, 3000)), "capacity", "excluded_count") == {"0.9": 0, "1": 0, "1.1": 0}


def test_a_verdict_that_hangs_on_which_jobs_take_part():
    """The widest tenth is left out where machines are compared; without them there is nothing to gain."""
    is_wide = pl.col("job_id").cast(pl.Int64) % 10 == 0
    wide = MANY.with_columns(
        pl.when(is_wide).then(10).otherwise(column).alias(column) for column in ("procs", "requested_procs")
    )

    def waits(policy: Policy, _: Capacity) -> list[int]:
        late = JOBS // 10
        return [3000] * (JOBS - late) + [9000 if policy.id == EASY.id else 3000] * late

    found = judged(waits, jobs=wide)
    count = wide.filter(pl.col("procs") == 10).height
    fewer = f"without the {count} widest"
    assert by(found, "jobs", "verdict") == {"all": "PASS", fewer: "FAIL"}
    assert by(found, "jobs", "has_flipped") == {"all": False, fewer: True}
    assert by(found, "jobs", "excluded_count") == {"all": 0, fewer: count}
    assert by(found, "capacity", "has_flipped")["1"] is False
    assert by(judged(always(1000, 3000)), "jobs", "verdict") == {}


def test_a_small_gain_hangs_on_what_is_asked_for():
    """Slowdowns of 3.72 instead of 4."""
    found = judged(always(2720, 3000))
    assert by(found, "min_gain_ratio", "verdict") == {"0.01": "PASS", "0.05": "PASS", "0.1": "FAIL"}
    assert by(found, "min_gain_ratio", "has_flipped") == {"0.01": False, "0.05": False, "0.1": True}


def test_fairness_hangs_on_the_fall_that_is_allowed():
    """One user's slowdown is 1.535 times the others': Jain's index is 0.96."""

    def waits(policy: Policy, _: Capacity) -> list[int]:
        if policy.id == EASY.id:
            return [3000] * JOBS
        return [2070 if i % 4 == 0 else 1000 for i in range(JOBS)]

    found = judged(waits)
    verdicts = by(found, "max_jain_service_drop", "fairness")
    assert verdicts == {"0.02": "FAIL", "0.03": "FAIL", "0.05": "PASS"}
    assert by(found, "max_jain_service_drop", "has_flipped") == {"0.02": False, "0.03": False, "0.05": True}


def test_a_gain_that_hangs_on_what_happens_to_overruns():
    def waits(policy: Policy, _: Capacity) -> list[int]:
        return [3000 if policy.id == EASY.id or policy.overrun == "kill" else 1000] * JOBS

    assert by(judged(waits), "overrun", "has_flipped") == {"extend": False, "kill": True}


def test_the_baseline_is_varied_with_the_world_and_not_with_the_candidate():
    seen = []

    def waits(policy: Policy, capacity: Capacity) -> list[int]:
        if policy.id == EASY.id:
            seen.append((capacity.procs, policy.overrun.value))
        return [1000] * JOBS

    judged(waits, GUARDED)
    assert sorted(seen) == [(9, "extend"), (10, "extend"), (10, "kill"), (11, "extend")]


def test_the_machine_is_scaled_at_all_times():
    seen = set()

    def waits(_: Policy, capacity: Capacity) -> list[int]:
        seen.add((capacity.procs, capacity.steps))
        return [1000] * JOBS

    judged(waits, capacity=Capacity(10, ((500, 20),)))
    assert seen == {(9, ((500, 18),)), (10, ((500, 20),)), (11, ((500, 22),))}


def test_a_machine_too_small_to_become_smaller_is_not_assessed():
    """0.9 of four processors are four, so that nothing was varied and nothing is shown to stay."""
    alike = MANY.with_columns(procs=pl.lit(1, dtype=pl.Int64))
    found = judged(always(1000, 3000), jobs=alike, capacity=Capacity(4))
    assert by(found, "capacity", "verdict") == {"0.9": "NOT_ASSESSED", "1": "PASS", "1.1": "NOT_ASSESSED"}
    assert by(found, "capacity", "has_flipped") == {"0.9": None, "1": False, "1.1": None}
    assert by(found, "capacity", "reason")["1.1"] == "1.1 times 4 processors is as many again"


def test_a_gain_that_hangs_on_the_guard():
    def waits(policy: Policy, _: Capacity) -> list[int]:
        return [3000 if policy.id == EASY.id else round(1000 + 2000 * policy.guard_k)] * JOBS

    found = judged(waits, GUARDED)
    assert by(found, "guard_k", "is_default") == {
        "0": False, "0.25": False, "0.5": True, "0.75": False, "1": False, "1.5": False,
    }  # fmt: skip
    assert by(found, "guard_k", "has_flipped") == {
        "0": False, "0.25": False, "0.5": False, "0.75": False, "1": True, "1.5": True,
    }  # fmt: skip


def account(**changed: float | None) -> pl.DataFrame:
    row: dict[str, Any] = dict.fromkeys(ESTIMATE_ACCOUNTING.names) | {
        "trace_id": "made",
        "policy": GUARDED.id,
        "run": "history_honest",
        "jobs_count": JOBS,
        "p95_bsld": 2.0,
        "utilisation_ratio": 1.0,
        "starved_ratio": 0.0,
        "jain_service": 1.0,
    }
    return pl.DataFrame([row | changed], schema=ESTIMATE_ACCOUNTING.polars_schema())


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "PASS"),
        ({"p95_bsld": 3.9}, "FAIL"),
        ({"jain_service": 0.5}, "FAIL"),
        ({"utilisation_ratio": 0.0}, "FAIL"),
        ({"starved_ratio": 0.5}, "FAIL"),
        ({"starved_ratio": None}, "NOT_ASSESSED"),
    ],
)
def test_what_is_left_without_hindsight_is_read_from_the_account(changed, verdict):
    """The baseline's slowdown is 4."""
    found = judged(always(1000, 3000), GUARDED, accounting=account(**changed))
    assert by(found, "estimates", "verdict") == {"as_replayed": "PASS", "history_honest": verdict}
    flipped = {"PASS": False, "FAIL": True, "NOT_ASSESSED": None}[verdict]
    assert by(found, "estimates", "has_flipped") == {"as_replayed": False, "history_honest": flipped}


@pytest.mark.parametrize(
    "accounting",
    [None, account(jobs_count=JOBS - 1), pl.concat([account(), account(p95_bsld=3.9)])],
    ids=["none", "of other jobs", "two that differ"],
)
def test_without_an_account_of_the_same_jobs_nothing_is_said_of_hindsight(accounting):
    found = judged(always(1000, 3000), GUARDED, accounting=accounting)
    assert by(found, "estimates", "verdict")["history_honest"] == "NOT_ASSESSED"
    reasons = by(found, "estimates", "reason")
    assert reasons["history_honest"] == "the same jobs were not replayed without hindsight"


def test_requests_that_are_made_up_leave_nothing_to_flip():
    found = judged(always(1000, 3000), source=EstimateSource.FALLBACK)
    assert found["verdict"].unique().to_list() == ["NOT_ASSESSED"]
    assert found["has_flipped"].null_count() == found.height


def test_on_replays_of_the_synthetic_model():
    """Each setting against a replay made here: the machine, the guard, the killing."""
    jobs, estimates = modelled(), estimates_of(modelled())

    def worlds(capacity: Capacity, widest: int | None):
        fitting = jobs if widest is None else jobs.filter(pl.col("procs") <= widest)
        return World(fitting, capacity, estimates).schedule

    candidates = [KNOWN[name] for name in ("fifo_strict", "conservative_backfill", "ml_sjbf")]
    with ThreadPoolExecutor(2) as pool:
        found = judge_sensitivity(
            trace_id="made",
            worlds=worlds,
            policies=[EASY, *candidates],
            capacity=MACHINE,
            accounting=ESTIMATE_ACCOUNTING.empty(),
            objective=OBJECTIVE,
            settings=SETTINGS,
            executor=pool,
        )
    validate(SENSITIVITY, found)
    assert set(found.filter(varied="guard_k")["policy"]) == {"ml_sjbf"}
    small = Capacity(round(0.9 * MACHINE.procs))
    fitting = jobs.filter(pl.col("procs") <= small.procs)
    row = found.filter(policy="fifo_strict", varied="capacity", setting="0.9").row(0, named=True)
    assert row["excluded_count"] == jobs.height - fitting.height
    told = World(fitting, small).schedule(KNOWN["fifo_strict"])
    assert row["policy_value"] == pytest.approx(p95(told))
    assert row["baseline_value"] == pytest.approx(p95(World(fitting, small).schedule(EASY)))
    killing = EASY.model_copy(update={"overrun": "kill"})
    killed = found.filter(policy="fifo_strict", varied="overrun", setting="kill").row(0, named=True)
    assert killed["baseline_value"] == pytest.approx(p95(World(jobs, MACHINE).schedule(killing)))
    guarded = KNOWN["ml_sjbf"].model_copy(update={"guard_k": 1.5})
    wary = found.filter(policy="ml_sjbf", varied="guard_k", setting="1.5")["policy_value"].item()
    assert wary == pytest.approx(p95(World(jobs, MACHINE, estimates).schedule(guarded)))
    tau = found.filter(policy="fifo_strict", varied="tau_s", setting="60")["policy_value"].item()
    assert tau == pytest.approx(p95(World(jobs, MACHINE).schedule(KNOWN["fifo_strict"]), tau_s=60))
    assert found.filter("is_default")["has_flipped"].unique().to_list() == [False]


def p95(schedule: pl.DataFrame, tau_s: int = 10) -> float:
    """By its definition, over the steady window."""
    jobs = Schedule.of(schedule)
    steady = jobs.release_s >= jobs.release_s[int(0.05 * len(jobs))]
    ran = pl.Series(jobs.runtime_s[steady])
    slowdown = (pl.Series(jobs.wait_s[steady]) + ran) / ran.clip(tau_s)
    found = slowdown.clip(1.0).quantile(0.95, "linear")
    assert found is not None
    return found
