"""The demo as the other rooms meet it: read by ingest, started by the reference replay."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.protocols import PriorityReplayer
from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets.ingest.reader import ingest
from hpcopt_assets.measures.usage import steps
from hpcopt_assets.simulate.reference import priority_starts
from hpcopt_assets.synthetic.demo import Demo, run_demo, swf_of
from hpcopt_assets.synthetic.workload import trace_jobs_of
from hpcopt_assets_tests.ingest.helpers import LIMITS


@pytest.fixture(scope="module")
def demo(config: SyntheticConfig) -> Demo:
    return run_demo(config, priority_starts)


@pytest.fixture(scope="module")
def read_back(config: SyntheticConfig, demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    folder: Path = tmp_path_factory.mktemp("raw")
    path = folder / "demo.swf"
    path.write_text(swf_of(demo, config), encoding="ascii")
    found = ingest(
        (SourceFile(path, path.name),),
        trace_id="demo",
        entry=TraceEntry(is_synthetic=True),
        limits=LIMITS,
        staging=folder,
    )
    report = found.report.row(0, named=True)
    assert found.rejects.is_empty()
    assert report["capacity_procs"] == config.demo.procs
    assert report["observed_over_capacity_s"] == 0
    assert report["timezone"] == "UTC"
    return found.jobs


def test_ingest_reads_the_jobs_that_were_drawn(demo: Demo, read_back: pl.DataFrame) -> None:
    of_the_schedule = ["start_s", "end_s", "wait_s", "allocated_procs", "source_line"]
    drawn = trace_jobs_of(demo.workload, "demo")
    assert read_back.drop(of_the_schedule).equals(drawn.drop(of_the_schedule))
    assert read_back["start_s"].to_list() == demo.start_s.tolist()
    assert read_back["allocated_procs"].to_list() == read_back["procs"].to_list()


def test_offered_load_of_the_file(config: SyntheticConfig, read_back: pl.DataFrame) -> None:
    span_s = read_back["submit_s"].max() - read_back["submit_s"].min()
    area = (read_back["procs"] * read_back["runtime_s"]).sum()
    assert area / (config.demo.procs * span_s) == pytest.approx(config.demo.offered_load, rel=0.02)


def test_reference_equals_the_stand_in(small: SyntheticConfig, replayer: PriorityReplayer) -> None:
    """Two programs, one schedule; the stand-in judges priorities, which no golden schedule has."""
    assert run_demo(small, priority_starts).start_s.tolist() == run_demo(small, replayer).start_s.tolist()


def test_disturbances_show_in_the_whole_demo(demo: Demo) -> None:
    workload, drain = demo.workload, demo.drain
    used = steps(demo.start_s, demo.start_s + workload.runtime_s, workload.procs)
    during_s = np.arange(drain.start_s, drain.end_s, 60)
    assert used.sample(during_s).max() <= workload.capacity_procs - drain.procs
    wait_s = demo.start_s - workload.submit_s
    is_favoured = workload.user == demo.favoured_user
    assert wait_s[is_favoured].mean() < 0.5 * wait_s[~is_favoured].mean()
    assert wait_s.mean() > 3600
