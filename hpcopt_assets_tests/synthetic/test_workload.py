"""The workload: its load, its determinism, and the model's distributions untouched by users."""

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.synthetic import lublin
from hpcopt_assets.synthetic.workload import Workload, make_workload, trace_jobs_of


def workload(
    config: SyntheticConfig, jobs: int = 2_000, procs: int = 128, load: float = 0.75, seed: int = 7
) -> Workload:
    return make_workload(
        config.model,
        config.users,
        jobs=jobs,
        capacity_procs=procs,
        offered_load=load,
        unix_start_s=1_704_067_200,
        seed=seed,
    )


@pytest.mark.parametrize("load", [0.3, 0.75, 1.2])
@pytest.mark.parametrize(("jobs", "procs"), [(50, 16), (5_000, 128), (20_000, 1000)])
def test_offered_load_is_the_one_asked_for(
    config: SyntheticConfig, jobs: int, procs: int, load: float
) -> None:
    drawn = workload(config, jobs, procs, load)
    frame = trace_jobs_of(drawn, "w")
    span_s = frame["submit_s"].max() - frame["submit_s"].min()
    area = (frame["procs"] * frame["runtime_s"]).sum()
    assert area / (procs * span_s) == pytest.approx(load, rel=0.02)
    assert drawn.offered_load == pytest.approx(load, rel=0.02)


def test_equal_seed_equal_workload(config: SyntheticConfig) -> None:
    once, again, other = (trace_jobs_of(workload(config, seed=seed), "w") for seed in (7, 7, 8))
    assert once.equals(again)
    assert not once.equals(other)


def test_users_leave_sizes_and_runtimes_as_the_model_drew_them(config: SyntheticConfig) -> None:
    """The pairs are the model's, in another order, whatever the habits."""
    drawn = workload(config)
    sizes_rng, runtimes_rng = np.random.default_rng(7).spawn(2)
    procs = lublin.draw_sizes(config.model, len(drawn), 128, sizes_rng)
    runtime_s = lublin.draw_runtimes(config.model, procs, runtimes_rng)
    ours = sorted(zip(drawn.procs.tolist(), drawn.runtime_s.tolist(), strict=True))
    assert ours == sorted(zip(procs.tolist(), runtime_s.tolist(), strict=True))
    assert drawn.procs.tolist() != procs.tolist()


def test_frame_keeps_the_contract(config: SyntheticConfig) -> None:
    frame = trace_jobs_of(workload(config, jobs=5_000), "w")
    validate(TRACE_JOBS, frame)
    assert frame["submit_s"].is_sorted()
    assert frame["start_s"].null_count() == frame.height
    over = frame.filter(pl.col("runtime_s") > pl.col("requested_runtime_s"))
    assert over.height > 0
    assert over["state"].unique().to_list() == ["FAILED"]
    assert over["quality_flags"].to_list() == [["runtime_over_request"]] * over.height


@pytest.mark.parametrize(("jobs", "procs"), [(1, 128), (100, 1)])
def test_too_little_is_refused(config: SyntheticConfig, jobs: int, procs: int) -> None:
    with pytest.raises(InputError, match="at least 2 of each"):
        workload(config, jobs, procs)
