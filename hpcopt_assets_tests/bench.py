"""`make bench`: how long the parts take that users wait for, and what memory they need.

Each case runs in a process of its own: once cold, then warm, of which the median counts; the largest inputs
are read once. Machines differ and are noisy, so each figure stands beside a ratio to a fixed piece of work
timed in the same process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hpcopt_assets_tests.bench_placement import placement_cases, placement_work

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.ingest.reader import Ingested

RUNS = 7
SIZES = (100_000, 1_000_000)
SWF_SIZES = (200_000, 2_000_000)
# Ten times the jobs, ten times the lines: how cost grows.
FDATA_ROWS = 5_000_000
LARGE_BYTES = 100_000_000
# Larger files are read once, cold.
TRAINED_ROWS = 20_000
# With more a model of placement is trained once.
LOGS = {
    "traces/swf/CTC-SP2-1996-3.1-cln.swf.gz": 338,
    "traces/swf/SDSC-SP2-1998-4.2-cln.swf.gz": 128,
    "traces/swf/HPC2N-2002-2.2-cln.swf.gz": 240,
}
# Processors of each machine.
SACCT = "traces/sacct/xdmod-pozidriv.log.gz"

COMPARED = ("easy_backfill", "easy_sjbf", "easy_tsafrir", "sjf_backfill", "f1_backfill", "ml_sjbf")
REPLICAS = (50, 200)

Work = Callable[[], object]
Case = tuple[str, str, str]
# What is done, with what, under which policy (placement: what is done there, with how many
# rows; robustness: with how many replicas).


def yardstick() -> float:
    """Seconds for a fixed piece of single-threaded work: sorting five million numbers."""
    import numpy as np

    values = np.random.default_rng(1).random(5_000_000)
    return median_s(lambda: np.sort(values), runs=3)


def median_s(work: Work, *, runs: int = RUNS) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def read(path: Path) -> Ingested:
    """A log as the tables of a trace."""
    from hpcopt_assets.contracts.traces_config import TraceEntry
    from hpcopt_assets.ingest.parsed import SourceFile
    from hpcopt_assets.ingest.reader import ingest
    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.project import find_project
    from hpcopt_assets_tests.bench_data import XDMOD_FIELDS

    return ingest(
        (SourceFile(path, path.name),),
        trace_id="bench",
        entry=TraceEntry(fields=XDMOD_FIELDS) if path.name.startswith("xdmod") else TraceEntry(),
        limits=load_configs(find_project().configs).ingest,
        staging=Path(tempfile.mkdtemp()),
    )


def ingest_work(path: Path) -> Work:
    """A log to validated parquet, rejects and report."""
    from hpcopt_assets.contracts.schemas import validate_file
    from hpcopt_assets.contracts.tables import TRACE_JOBS

    return lambda: validate_file(TRACE_JOBS, read(path).jobs_path)


def replay_work(path: Path, policy_id: str) -> Work:
    """One replay, from a frame of jobs to a frame of starts; the file's name ends in the machine's size."""
    import polars as pl

    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.project import find_project
    from hpcopt_assets.simulate.engine import replay
    from hpcopt_assets.simulate.workload import NEEDED

    policy = load_configs(find_project().configs).policy(policy_id)
    jobs, capacity = pl.read_parquet(path, columns=list(NEEDED)), capacity_in(path)
    estimates = any_estimates(jobs)
    return lambda: replay(jobs, policy, capacity, estimates=estimates)


def capacity_in(path: Path) -> int:
    return int(path.stem.rpartition("@")[2])


def any_estimates(jobs: pl.DataFrame) -> pl.DataFrame:
    """Forecasts that will do to time a replay that believes them."""
    import polars as pl

    share = pl.col("requested_runtime_s").fill_null(3600.0).clip(1)
    return jobs.select(
        "trace_id",
        "job_id",
        "attempt",
        "submit_s",
        p10_s=share * 0.1,
        p50_s=share * 0.4,
        p90_s=share * 0.9,
        source=pl.lit("model"),
    )


def robustness_work(path: Path, replicas: int) -> Work:
    """Shaken replicas of a trace under six policies, and what their differences to EASY amount to."""
    from concurrent.futures import ThreadPoolExecutor

    import polars as pl

    from hpcopt_assets.claims.robustness import robustness
    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.cores import cores
    from hpcopt_assets.orchestration.project import find_project
    from hpcopt_assets.simulate.engine import replay
    from hpcopt_assets.simulate.replicas import shaken_measures
    from hpcopt_assets.simulate.shaken import ShakenReplayer

    configs, jobs = load_configs(find_project().configs), pl.read_parquet(path)
    policies, capacity = [configs.policy(name) for name in COMPARED], Capacity(capacity_in(path))
    estimates, shaking = any_estimates(jobs), configs.robustness.shaking
    counts = {"recorded": replicas, "synthetic": replicas, "conservative": 1}
    counted = shaking.model_copy(update={"replicas": shaking.replicas.model_copy(update=counts)})

    def work() -> object:
        replays = ShakenReplayer(jobs, policies, capacity, configs.objective.measures, estimates)
        with ThreadPoolExecutor(cores("all")) as pool:
            shaken = shaken_measures(
                trace_id="bench",
                replays=replays,
                policies=policies,
                config=counted,
                is_synthetic=False,
                executor=pool,
            )
        return robustness(
            trace_id="bench",
            shaken=shaken,
            schedules={
                policy.id: replay(jobs, policy, capacity.procs, estimates=estimates).schedule
                for policy in policies
            },
            capacity=capacity,
            objective=configs.objective,
            config=configs.robustness.intervals,
        )

    return work


def stress_work(path: Path) -> Work:
    """Every scenario at three severities, replayed under six policies, checked and judged."""
    from concurrent.futures import ThreadPoolExecutor

    import polars as pl

    from hpcopt_assets.claims.stress import StressJudge
    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.cores import cores
    from hpcopt_assets.orchestration.project import find_project
    from hpcopt_assets.simulate.world import World
    from hpcopt_assets.stress.cases import Stressed, cases

    configs, jobs = load_configs(find_project().configs), pl.read_parquet(path)
    policies, capacity = [configs.policy(name) for name in COMPARED], Capacity(capacity_in(path))
    as_it_is = Stressed(jobs, capacity, any_estimates(jobs))

    def work() -> object:
        made = cases(jobs, capacity, as_it_is.estimates, configs.stress.scenarios)
        with ThreadPoolExecutor(cores("all")) as pool:
            judge: StressJudge[Stressed] = StressJudge(
                policies,
                configs.objective,
                lambda found: World(found.jobs, found.capacity, found.estimates).checked,
                pool,
            )
            return judge.table("bench", as_it_is, made)

    return work


def forecast_work(path: Path) -> Work:
    """Features, folds, models, estimates, scores and figures of a trace."""
    import polars as pl

    from hpcopt_assets.features.jobs import job_features
    from hpcopt_assets.forecast.chain import forecast_trace
    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.project import find_project

    jobs, config = pl.read_parquet(path), load_configs(find_project().configs).forecast
    return lambda: forecast_trace(job_features(jobs, None), jobs, None, config)


def features_work(path: Path) -> Work:
    """The features of a trace's jobs."""
    import polars as pl

    from hpcopt_assets.features.jobs import job_features

    jobs = pl.read_parquet(path)
    return lambda: job_features(jobs, None)


def measure(kind: str, source: str, policy: str) -> dict[str, object]:
    """One case, in this process."""
    makers = {
        "ingest": ingest_work,
        "features": features_work,
        "forecast": forecast_work,
        "stress": stress_work,
    }
    if kind == "placement":
        work = placement_work(source, int(policy))
    elif kind == "robustness":
        work = robustness_work(Path(source), int(policy))
    else:
        work = makers[kind](Path(source)) if kind in makers else replay_work(Path(source), policy)
    before_mb = peak_mb()
    start = time.perf_counter()
    work()
    first_s, peak = time.perf_counter() - start, peak_mb()
    is_large = (
        kind in ("forecast", "robustness", "stress")
        or (kind == "ingest" and Path(source).stat().st_size > LARGE_BYTES)
        or (source == "train" and int(policy) > TRAINED_ROWS)
    )
    warm_s = None if is_large else median_s(work)
    return {
        "case": f"{kind} {Path(source).stem} {policy}".strip(),
        "first_s": round(first_s, 4),
        "warm_median_s": None if warm_s is None else round(warm_s, 4),
        "ratio_to_yardstick": round((warm_s or first_s) / yardstick(), 3),
        "peak_memory_mb": round(peak),
        "peak_before_mb": round(before_mb),
    }


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make(kind: str, rows: int, path: Path) -> None:
    """An input: made, or `trace_jobs` of the log named. In a process of its own: children inherit a peak."""
    from hpcopt_assets_tests.bench_data import write_fdata, write_lublin, write_swf_log

    makers = {"fdata": write_fdata, "swf": write_swf_log, "lublin": write_lublin}
    if kind in makers:
        makers[kind](path, rows)
    else:
        read(Path(kind)).jobs.write_parquet(path)


def cases(folder: Path) -> Iterator[Case]:
    """All cases; the files they need are made in `folder`, each removed when the next case is asked for."""
    yield from placement_cases()
    data = os.environ.get("HPCOPT_TEST_DATA")
    logs = [Path(data) / log for log in (*LOGS, SACCT)] if data else []
    if logs and all(log.is_file() for log in logs):
        yield from (("ingest", str(log), "") for log in logs[-2:])
        for (name, capacity), log in zip(LOGS.items(), logs, strict=False):
            path = folder / f"{Path(name).name.partition('.')[0]}@{capacity}.parquet"
            run_self("--make", str(log), "0", str(path))
            yield "features", str(path), ""
            yield "forecast", str(path), ""
            yield "stress", str(path), ""
            yield from (("robustness", str(path), str(count)) for count in REPLICAS)
            yield from replays(path)
    else:
        sys.stderr.write("HPCOPT_TEST_DATA names no folder with the logs: cases on real logs are left out.\n")
    for jobs in SIZES:
        path = folder / f"lublin-{jobs}@256.parquet"
        run_self("--make", "lublin", str(jobs), str(path))
        yield from replays(path)
    for kind, rows in (*(("swf", n) for n in SWF_SIZES), ("fdata", FDATA_ROWS)):
        path = folder / f"{rows}.{'parquet' if kind == 'fdata' else kind}"
        run_self("--make", kind, str(rows), str(path))
        yield "ingest", str(path), ""
        path.unlink()


def replays(path: Path) -> Iterator[Case]:
    """The jobs under every policy."""
    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.project import find_project

    yield from (("replay", str(path), policy) for policy in load_configs(find_project().configs).policies.ids)
    path.unlink()


def run_self(*arguments: str) -> str:
    command = [sys.executable, "-m", "hpcopt_assets_tests.bench", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("KIND", "SOURCE", "POLICY"))
    parser.add_argument("--make", nargs=3, metavar=("KIND", "ROWS", "PATH"))
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(measure(*given.one)) + "\n")
        return
    if given.make:
        kind, rows, path = given.make
        make(kind, int(rows), Path(path))
        return
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder)):
            results.append(json.loads(run_self("--one", *case).splitlines()[-1]))
            sys.stderr.write(f"{results[-1]['case']}: done\n")
    from hpcopt_assets.orchestration.terminal import cell, print_table, say

    columns = list(results[0])
    print_table(columns, [[cell(row[column]) for column in columns] for row in results])
    Path("bench.json").write_text(json.dumps({"cpus": os.cpu_count(), "cases": results}, indent=2) + "\n")
    say("Written to bench.json. Times are seconds; the yardstick is sorting five million numbers.")


if __name__ == "__main__":
    main()
