"""Known answers of the whole way from jobs to verdicts: replays, replicas, weeks, fidelity, claims."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.claims.judge import Evidence, judge_claims
from hpcopt_assets.claims.robustness import robustness
from hpcopt_assets.contracts.config import PoliciesConfig, Policy
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING
from hpcopt_assets.contracts.order import in_trace_order
from hpcopt_assets.contracts.vocabulary import CapacitySource, Window
from hpcopt_assets.fidelity.judge import judge_fidelity
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import measure
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets.simulate.engine import replay, run_workload
from hpcopt_assets.simulate.replicas import shaken_measures
from hpcopt_assets.simulate.shaken import ShakenReplayer, shaken
from hpcopt_assets.simulate.shaking import draw_shake
from hpcopt_assets.simulate.workload import Workload
from hpcopt_assets_tests.builders import job, trace

CONFIGS = load_configs(CHECKOUT / "configs")
EASY = CONFIGS.policy("easy_backfill")
REPLICAS = 40
SHAKING = CONFIGS.robustness.shaking.model_copy(
    update={"replicas": CONFIGS.robustness.shaking.replicas.model_copy(update={"recorded": REPLICAS})}
)
INTERVALS = CONFIGS.robustness.intervals.model_copy(update={"draws": 200})
PROCS = 32
WEEK_S = 7 * 86_400


def weeks_of_work(weeks: int = 40, jobs: int = 60, *, batch_s: int = 1, growth: float = 0.0) -> pl.DataFrame:
    """Each week long wide jobs and short narrow ones of six users, two thirds of the machine in all.

    Releases are rounded down to `batch_s`; runtimes grow by `growth` of themselves over the trace.
    """
    random = np.random.default_rng(1)
    rows = []
    for week in range(weeks):
        at_s = np.sort(random.integers(0, WEEK_S, jobs)) // batch_s * batch_s
        is_long = random.random(jobs) < 0.3
        procs = np.where(is_long, random.integers(8, 25, jobs), random.integers(1, 9, jobs))
        runtime_s = np.where(
            is_long, random.integers(4 * 3600, 20 * 3600, jobs), random.integers(60, 1800, jobs)
        )
        runtime_s = (runtime_s * (1 + growth * week / weeks)).astype(int)
        asked = (runtime_s * random.uniform(1, 3, jobs)).astype(int)
        rows += [
            job(
                f"{week}-{i}",
                int(week * WEEK_S + at_s[i]),
                int(procs[i]),
                int(runtime_s[i]),
                int(asked[i]),
                user=f"u{i % 6}",
            )
            for i in range(jobs)
        ]
    return trace(rows)


def as_observed(jobs: pl.DataFrame, schedule: pl.DataFrame) -> pl.DataFrame:
    """The trace as if its site had run this schedule."""
    return jobs.with_columns(
        start_s=schedule["start_s"], end_s=schedule["end_s"], wait_s=schedule["start_s"] - jobs["release_s"]
    )


def shaken_of(
    jobs: pl.DataFrame, policies: list[Policy], replays: ShakenReplayer | None = None, workers: int = 2
) -> pl.DataFrame:
    """`shaken_measures` of the made site."""
    made = ShakenReplayer(jobs, policies, Capacity(PROCS), CONFIGS.objective.measures)
    with ThreadPoolExecutor(workers) as pool:
        return shaken_measures(
            trace_id="made",
            replays=replays or made,
            policies=policies,
            config=SHAKING,
            is_synthetic=False,
            executor=pool,
        )


def judged_of(
    jobs: pl.DataFrame, policies: list[Policy], schedules: dict[str, pl.DataFrame], replicas: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`robustness` and `claim_verdicts` of policies against EASY, on a site that ran EASY."""
    fidelity = judge_fidelity(
        trace_id="made",
        trace_jobs=as_observed(jobs, schedules[EASY.id]),
        schedules={EASY.id: schedules[EASY.id]},
        capacity=Capacity(PROCS),
        capacity_source=CapacitySource.CONFIG,
        timezone=None,
        is_synthetic=False,
        config=CONFIGS.fidelity,
        measures=CONFIGS.objective.measures,
    )
    compared = robustness(
        trace_id="made",
        shaken=replicas,
        schedules=schedules,
        capacity=Capacity(PROCS),
        objective=CONFIGS.objective,
        config=INTERVALS,
    )
    claims = judge_claims(
        trace_id="made",
        schedules=schedules,
        policies=PoliciesConfig(strict=False, fidelity_baselines=(EASY.id,), policies=(EASY, *policies)),
        capacity=Capacity(PROCS),
        tables=Evidence(fidelity, compared, ESTIMATE_ACCOUNTING.empty()),
        objective=CONFIGS.objective,
        is_synthetic=False,
    )
    return compared, claims


def verdicts(
    jobs: pl.DataFrame, policies: list[Policy], workers: int = 2
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """As `judged_of`, from the jobs alone."""
    everyone = [EASY, *policies]
    schedules = {policy.id: replay(jobs, policy, PROCS).schedule for policy in everyone}
    jobs = in_trace_order(jobs)
    return judged_of(jobs, policies, schedules, shaken_of(jobs, everyone, workers=workers))


def outcome(claims: pl.DataFrame, policy: str) -> str | None:
    return claims.filter(policy=policy, criterion="overall")["outcome"].item()


def verdict(claims: pl.DataFrame, policy: str, criterion: str) -> str:
    return claims.filter(policy=policy, criterion=criterion)["verdict"].item()


@pytest.fixture(scope="module")
def judged() -> tuple[pl.DataFrame, pl.DataFrame]:
    twin = EASY.model_copy(update={"id": "easy_twin"})
    return verdicts(weeks_of_work(), [CONFIGS.policy("sjf_backfill"), CONFIGS.policy("fifo_strict"), twin])


def test_a_policy_that_truly_wins_is_accepted(judged):
    _, claims = judged
    assert outcome(claims, "sjf_backfill") == "ACCEPTED"
    assert claims.filter(policy="sjf_backfill")["verdict"].unique().to_list() == ["PASS"]
    gain = claims.filter(policy="sjf_backfill", criterion="primary_gain")["measured"].item()
    assert gain > 0.2


def test_the_same_policy_under_another_name_differs_by_nothing_and_is_never_accepted(judged):
    compared, claims = judged
    twin = compared.filter(policy="easy_twin")
    ends = ("difference", "mean_difference", "p50_difference", "lower", "upper", "block_lower", "block_upper")
    assert twin.select(ends).unique().rows() == [(0.0,) * len(ends)]
    assert twin["improved_ratio"].unique().to_list() == [0]
    assert outcome(claims, "easy_twin") == "BLOCKED"


def test_a_policy_made_worse_is_blocked(judged):
    """Nobody overtakes: whole processors stand idle beside a waiting head."""
    _, claims = judged
    assert outcome(claims, "fifo_strict") == "BLOCKED"
    assert verdict(claims, "fifo_strict", "primary_gain") == "FAIL"
    assert verdict(claims, "fifo_strict", "confirmation") == "FAIL"


def test_gains_against_a_saturated_baseline_are_never_accepted():
    """The same work, which grows until the machine no longer keeps up."""
    _, claims = verdicts(weeks_of_work(growth=1.5), [CONFIGS.policy("sjf_backfill")])
    assert verdict(claims, "sjf_backfill", "primary_gain") == "PASS"
    assert verdict(claims, "sjf_backfill", "saturation") == "FAIL"
    assert outcome(claims, "sjf_backfill") in ("CONDITIONAL", "BLOCKED")


def test_a_gain_in_few_weeks_is_not_accepted():
    _, claims = verdicts(weeks_of_work(weeks=20), [CONFIGS.policy("sjf_backfill")])
    assert verdict(claims, "sjf_backfill", "primary_gain") == "PASS"
    assert verdict(claims, "sjf_backfill", "confirmation") == "NOT_ASSESSED"
    assert outcome(claims, "sjf_backfill") == "CONDITIONAL"


class FixedTies(ShakenReplayer):
    """EASY where policies named `ties_<n>` have an order of their own among jobs released at one instant."""

    def schedule(self, policy_id, factor, shift_s):
        workload = shaken(self._workload, factor, shift_s)
        if policy_id != EASY.id:
            workload, _ = with_other_ties(workload, int(policy_id.removeprefix("ties_")))
        start_s = run_workload(workload, EASY).start_s
        return Schedule(workload.release_s, start_s, workload.runtime_s, workload.procs, workload.user, 0)


def with_other_ties(workload: Workload, seed: int) -> tuple[Workload, np.ndarray]:
    """The workload with jobs of one release in another order, the same in every replica, and that order."""
    rank = np.random.default_rng(seed).permutation(len(workload))
    own = rank if workload.place is None else rank[workload.place]
    order = np.lexsort((own, workload.release_s))
    names = ("release_s", "runtime_s", "procs", "limit_s", "is_fallback", "given_start_s")
    moved = replace(workload, **{name: getattr(workload, name)[order] for name in names})
    vars(moved)["user"] = workload.user[order]
    return moved, order


@pytest.mark.slow
def test_chance_is_not_taken_for_merit():
    """A hundred policies that differ from EASY by nothing but the order of jobs of the same instant.

    Jobs come in batches every six hours, so that there are many, also when they are shaken by a second. Each
    policy is held against EASY by itself. Either evidence alone is wrong now and then; both together hardly.
    """
    jobs = weeks_of_work(batch_s=6 * 3600)
    policies = [EASY.model_copy(update={"id": f"ties_{seed}"}) for seed in range(100)]
    replays = FixedTies(jobs, [EASY, *policies], Capacity(PROCS), CONFIGS.objective.measures)
    plain = replay(jobs, EASY, PROCS).schedule
    schedules = {EASY.id: plain}
    for seed, policy in enumerate(policies):
        workload, order = with_other_ties(replays._workload, seed)
        start_s = np.empty(len(workload), dtype=np.int64)
        start_s[order] = run_workload(workload, EASY).start_s
        schedules[policy.id] = plain.with_columns(
            start_s=pl.Series(start_s),
            end_s=pl.Series(start_s) + pl.col("runtime_s"),
            wait_s=pl.Series(start_s) - pl.col("release_s"),
            policy=pl.lit(policy.id),
        )
    differing = [(schedules[policy.id]["start_s"] != plain["start_s"]).sum() for policy in policies]
    assert min(differing) > 100  # ties matter here: else the test would prove nothing
    shake = draw_shake(replays.release_s, 0, SHAKING)
    starts = [
        replays.schedule(name, shake.factor, shake.shift_s).start_s.sum() for name in (EASY.id, "ties_1")
    ]
    assert starts[0] != starts[1]  # and they still do in replicas
    replicas = shaken_of(jobs, [EASY, *policies], replays)
    counted = dict.fromkeys(("shaken", "weeks", "both", "accepted"), 0)
    for policy in policies:
        pair = {name: schedules[name] for name in (EASY.id, policy.id)}
        compared, claims = judged_of(jobs, [policy], pair, replicas)
        row = compared.filter(time_window="steady", measure="p95_bsld").row(0, named=True)
        by_shaking, by_weeks = row["upper"] < 0, row["block_upper"] < 0
        counted["shaken"] += by_shaking
        counted["weeks"] += by_weeks
        counted["both"] += by_shaking and by_weeks
        counted["accepted"] += outcome(claims, policy.id) == "ACCEPTED"
    assert counted["both"] <= 5, counted
    assert counted["weeks"] <= 10, counted
    assert counted["shaken"] <= 30, counted
    assert counted["accepted"] == 0, counted


def test_tables_are_the_same_whoever_works_and_in_whatever_order_jobs_come():
    """Two runs of the same jobs and configs: the same bytes, down to the verdicts."""
    policies = [CONFIGS.policy("sjf_backfill"), CONFIGS.policy("easy_tsafrir")]
    jobs, written = weeks_of_work(weeks=30), []
    for workers, frame in ((1, jobs), (2, jobs.sample(fraction=1, shuffle=True, seed=3))):
        tables = verdicts(frame, policies, workers=workers)
        written.append([table.write_ipc(None).getvalue() for table in tables])
    assert written[0] == written[1]


def test_measures_of_the_made_site_are_as_described():
    found = measure(
        Schedule.of(replay(weeks_of_work(), EASY, PROCS).schedule),
        capacity=Capacity(PROCS),
        config=CONFIGS.objective.measures,
        window=Window.STEADY,
    )
    assert 0.6 < found["utilisation_ratio"] < 0.7
