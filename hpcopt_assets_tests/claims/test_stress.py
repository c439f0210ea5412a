"""Policies on stressed traces: known answers, rows for what cannot be, and rules that are broken."""

from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

from hpcopt_assets.claims.stress import StressJudge
from hpcopt_assets.contracts.config import ObjectiveConfig, PoliciesConfig
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.stress_config import StressConfig
from hpcopt_assets.contracts.stress_tables import CHANGES, SHOWN, STRESS_REPLAYS, TIMES
from hpcopt_assets.contracts.vocabulary import DEMANDS, Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import measure
from hpcopt_assets.plots.degradation import stress_figures
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.world import World
from hpcopt_assets.stress.cases import Case, Stressed, cases
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import shipped
from hpcopt_assets_tests.stress.traces import MACHINE, estimates_of, modelled

OBJECTIVE, CONFIG = shipped(ObjectiveConfig), shipped(StressConfig).scenarios
KNOWN = {policy.id: policy for policy in shipped(PoliciesConfig).policies}
POLICIES = tuple(
    KNOWN[name] for name in ("fifo_strict", "easy_backfill", "sjf_backfill", "fairshare_backfill", "ml_sjbf")
)


def judged(as_it_is: Stressed, made, policies=POLICIES, workers: int = 2, replays=None, say=lambda _: None):
    with ThreadPoolExecutor(workers) as pool:
        judge = StressJudge(
            policies,
            OBJECTIVE,
            replays or (lambda found: World(found.jobs, found.capacity, found.estimates).checked),
            pool,
        )
        found = judge.table("made", as_it_is, made, say)
    validate(STRESS_REPLAYS, found)
    return found


AS_IT_IS = Stressed(modelled(), MACHINE, estimates_of(modelled()))


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return judged(AS_IT_IS, cases(AS_IT_IS.jobs, MACHINE, AS_IT_IS.estimates, CONFIG))


def test_every_policy_has_every_scenario_at_every_severity(table):
    assert table.height == len(POLICIES) * 15
    assert table["policy"].unique(maintain_order=True).to_list() == [policy.id for policy in POLICIES]
    assert table.filter(policy="fifo_strict")["severity"].to_list() == [1, 2, 3] * 5


def test_every_schedule_keeps_its_rules(table):
    assert table["violations_count"].sum() == 0
    assert table["invariants"].unique().to_list() == ["PASS"]
    assert table["rules_broken"].null_count() == table.height


def test_it_is_told_which_rules_were_kept(table):
    """Order of the queue binds without backfilling, the promise to the head under plain EASY."""
    of_all = "every_job_starts_once, no_start_before_release, end_is_start_plus_runtime, within_capacity"
    kept = {name: set(table.filter(policy=name)["rules_kept"]) for name in table["policy"].unique()}
    assert kept["fifo_strict"] == {f"{of_all}, strict_queue_order, estimate_was_known"}
    assert kept["easy_backfill"] == {f"{of_all}, head_never_delayed, estimate_was_known"}
    assert kept["sjf_backfill"] == kept["fairshare_backfill"] == {f"{of_all}, estimate_was_known"}
    assert kept["ml_sjbf"] == {of_all}


def test_numbers_are_those_of_the_stressed_trace(table):
    """A row, replayed and measured here anew."""
    case = next(
        c for c in cases(AS_IT_IS.jobs, MACHINE, AS_IT_IS.estimates, CONFIG) if c.columns["severity"] == 3
    )
    assert case.columns["scenario"] == "heavy_tail"
    row = table.filter(policy="ml_sjbf", scenario="heavy_tail", severity=3).row(0, named=True)
    easy = table.filter(policy="easy_backfill", scenario="heavy_tail", severity=3).row(0, named=True)

    def found(trace_: Stressed):
        schedule = replay(trace_.jobs, KNOWN["ml_sjbf"], MACHINE.procs, estimates=trace_.estimates).schedule
        return measure(
            Schedule.of(schedule), capacity=MACHINE, config=OBJECTIVE.measures, window=Window.STEADY
        )

    before, after = found(AS_IT_IS), found(case.stressed)
    for name in SHOWN:
        assert row[f"unstressed_{name}"] == pytest.approx(before[name])
        assert row[f"stressed_{name}"] == pytest.approx(after[name])
    for name, times in TIMES.items():
        assert row[times] == pytest.approx(after[name] / before[name])
    for name, change in CHANGES.items():
        assert row[change] == pytest.approx(after[name] - before[name])
    assert row["stressed_gain_ratio"] == pytest.approx(1 - after["p95_bsld"] / easy["stressed_p95_bsld"])


def test_less_load_means_shorter_waits_and_who_looks_at_no_user_feels_no_greed(table):
    easy = table.filter(policy="easy_backfill")
    calm = easy.filter(scenario="low_congestion")["mean_wait_times"].to_list()
    assert calm[0] > calm[1] > calm[2]
    assert calm[0] < 1
    greedy = easy.filter(scenario="user_skew")
    assert greedy["p95_bsld_times"].to_list() == [1.0] * 3
    assert greedy["utilisation_change"].to_list() == [0.0] * 3
    fair = table.filter(policy="fairshare_backfill", scenario="user_skew")
    assert set(fair["mean_wait_times"].to_list()) != {1.0}


def test_the_baseline_has_measures_and_no_verdict(table):
    easy = table.filter(policy="easy_backfill")
    assert easy["reason"].unique().to_list() == ["it is the baseline"]
    assert easy["verdict"].unique().to_list() == ["NOT_ASSESSED"]
    assert easy["stressed_gain_ratio"].null_count() == easy.height
    others = table.filter(pl.col("policy") != "easy_backfill")
    assert "NOT_ASSESSED" not in others["verdict"]
    words = others.select(criterion.value for criterion in DEMANDS)
    all_met = words.select(pl.all_horizontal(pl.all() == "PASS")).to_series()
    assert (others["verdict"] == "PASS").equals(all_met, check_names=False)
    assert (others["reason"] == "every demand is met").equals(all_met, check_names=False)


def test_the_table_does_not_depend_on_who_works(table):
    few = [
        case
        for case in cases(AS_IT_IS.jobs, MACHINE, AS_IT_IS.estimates, CONFIG)
        if case.columns["severity"] == 1
    ]
    alone, together = (judged(AS_IT_IS, few, workers=workers) for workers in (1, 3))
    assert alone.equals(together)
    assert alone.equals(table.filter(severity=1))


def test_the_same_trace_degrades_nothing():
    columns = next(iter(cases(AS_IT_IS.jobs, MACHINE, AS_IT_IS.estimates, CONFIG))).columns
    found = judged(AS_IT_IS, [Case(columns, AS_IT_IS)])
    for name in (*TIMES.values(), *CHANGES.values()):
        assert found[name].unique().to_list() == [1.0 if name.endswith("times") else 0.0]
    assert found["verdict"].equals(found["unstressed_verdict"], check_names=False)


def test_what_a_trace_cannot_carry_has_its_rows_and_its_reason():
    nobody = trace([job(i, 100 * i, 1 + i % 4, 10 + 7 * (i % 50), 1000) for i in range(1200)])
    plain, said = Stressed(nobody, Capacity(4), estimates_of(nobody)), []
    found = judged(plain, cases(nobody, Capacity(4), plain.estimates, CONFIG), say=said.append)
    assert found.height == len(POLICIES) * 15
    lacking = found.filter(scenario="user_skew")
    assert lacking["reason"].unique().to_list() == ["no job has a known user"]
    assert set(lacking.select("verdict", "invariants", *DEMANDS).row(0)) == {"NOT_ASSESSED"}
    assert lacking["stressed_p95_bsld"].null_count() == lacking.height
    assert lacking["unstressed_p95_bsld"].null_count() == 0
    assert "user_skew 1: no job has a known user" in said
    assert "low_congestion 3: replayed" in said
    drawn = [drawing.file_name for drawing in stress_figures(found)]
    assert drawn == ["heavy_tail.svg", "low_congestion.svg", "burst_shock.svg"]  # all ask for as much


def early(*policies: str):
    """A replayer that starts one job before it is released, under these policies."""

    def replays_of(found: Stressed):
        world = World(found.jobs, found.capacity, found.estimates)

        def replays(policy):
            schedule = world.schedule(policy)
            if policy.id in policies:
                schedule = schedule.with_columns(
                    pl.when(pl.int_range(pl.len()) == 7)
                    .then(pl.col(name) - 10**6)
                    .otherwise(name)
                    .alias(name)
                    for name in ("start_s", "end_s", "wait_s")
                )
            return schedule, check_schedule(found.jobs, schedule, policy, found.capacity, found.estimates)

        return replays

    return replays_of


def test_a_broken_rule_is_counted_and_named_and_no_demand_is_then_met():
    columns = next(iter(cases(AS_IT_IS.jobs, MACHINE, AS_IT_IS.estimates, CONFIG))).columns
    found = judged(AS_IT_IS, [Case(columns, AS_IT_IS)], replays=early("sjf_backfill"))
    broken = found.filter(policy="sjf_backfill").row(0, named=True)
    assert broken["invariants"] == "FAIL"
    assert broken["violations_count"] > 0
    assert "no_start_before_release" in broken["rules_broken"].split(", ")
    assert "no_start_before_release" not in broken["rules_kept"].split(", ")
    assert {broken[name] for name in ("verdict", "unstressed_verdict", *DEMANDS)} == {"NOT_ASSESSED"}
    assert broken["reason"].startswith("its schedule or the baseline's breaks rules that it must keep: ")
    others = found.filter(~pl.col("policy").is_in(["sjf_backfill", "easy_backfill"]))
    assert others["invariants"].unique().to_list() == ["PASS"]
    assert "NOT_ASSESSED" not in others["verdict"]


def test_nobody_is_held_against_a_baseline_that_breaks_rules():
    columns = next(iter(cases(AS_IT_IS.jobs, MACHINE, AS_IT_IS.estimates, CONFIG))).columns
    found = judged(AS_IT_IS, [Case(columns, AS_IT_IS)], replays=early("easy_backfill"))
    assert found["verdict"].unique().to_list() == ["NOT_ASSESSED"]
    assert found.filter(policy="sjf_backfill")["invariants"].item() == "PASS"


def test_a_schedule_that_no_rule_was_put_to_is_not_said_to_keep_them():
    def unchecked(found: Stressed):
        world = World(found.jobs, found.capacity, found.estimates)

        def replays(policy):
            schedule, report = world.checked(policy)
            return schedule, report.with_columns(verdict=pl.lit("NOT_ASSESSED"))

        return replays

    columns = next(iter(cases(AS_IT_IS.jobs, MACHINE, AS_IT_IS.estimates, CONFIG))).columns
    found = judged(AS_IT_IS, [Case(columns, AS_IT_IS)], POLICIES[:2], replays=unchecked)
    assert found["invariants"].unique().to_list() == ["NOT_ASSESSED"]
    assert found["rules_kept"].null_count() == found.height


def test_requests_that_are_made_up_leave_no_demand_judged():
    jobs = modelled().with_columns(
        requested_runtime_s=pl.lit(None, dtype=pl.Int64), requested_runtime_kind=pl.lit("unknown")
    )
    blind = Stressed(jobs, MACHINE, estimates_of(jobs))
    few = [case for case in cases(jobs, MACHINE, blind.estimates, CONFIG) if case.columns["severity"] == 1]
    found = judged(blind, few, policies=POLICIES[:3])
    sjf = found.filter(pl.col("policy") == "sjf_backfill", pl.col("scenario") == "low_congestion")
    assert sjf["verdict"].item() == "NOT_ASSESSED"
    assert sjf["reason"].item() == (
        "100 % of the replayed jobs had no requested runtime, so that one was made up"
    )
    assert sjf["stressed_gain_ratio"].item() is not None
    noise = found.filter(scenario="estimate_noise")
    assert noise["reason"].unique().to_list() == ["no job that counts has a requested runtime"]


def test_figures_show_the_baseline_and_those_that_gain_most(table):
    drawn = {drawing.file_name: drawing for drawing in stress_figures(table)}
    assert len(drawn) == 5
    heavy = drawn["heavy_tail.svg"]
    for text in ("easy_backfill", "sjf_backfill", "as it is", "x 1.5", "x 2", "x 3"):
        assert f">{text}<" in heavy.svg
    assert "runtime_tail" in heavy.caption
    many = pl.concat(
        table.filter(policy="sjf_backfill").with_columns(
            policy=pl.lit(f"p{i}"), unstressed_gain_ratio=pl.lit(0.01 * i)
        )
        for i in range(8)
    )
    crowded = stress_figures(pl.concat([table.filter(policy="easy_backfill"), many]))[0].svg
    shown = [f"p{i}" for i in range(8) if f">p{i}<" in crowded]
    assert shown == ["p3", "p4", "p5", "p6", "p7"]
