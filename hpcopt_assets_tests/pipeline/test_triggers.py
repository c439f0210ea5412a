"""What starts runs by itself: files that arrive and batches that settle."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import dagster as dg
import pytest

from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.jobs import PLACEMENT_JOB, TRACE_JOB
from hpcopt_assets.orchestration.orphans import PROCESS_TAG
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.sensors import SETTLED_AFTER_S, arrivals, publish_when_settled
from hpcopt_assets_tests.pipeline.conftest import RunTrace, swf


def drop(path: Path, text: str, *, age_s: float = SETTLED_AFTER_S + 5) -> None:
    path.write_text(text)
    then = time.time() - age_s
    os.utime(path, (then, then))


class Tick:
    """The arrivals sensor, tick after tick, as the daemon would evaluate it."""

    def __init__(self, instance: dg.DagsterInstance, project: Project) -> None:
        self.instance, self.project, self.cursor = instance, project, ""
        self.run_keys: list[str] = []

    def __call__(self) -> list[str]:
        """Partitions for which a run is requested at this tick."""
        registry = load_configs(self.project.configs).traces
        context = dg.build_sensor_context(
            instance=self.instance,
            cursor=self.cursor,
            resources={"project": self.project, "registry": registry},
        )
        result = arrivals(context)
        assert isinstance(result, dg.SensorResult)
        for request in result.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        self.cursor = result.cursor or ""
        self.run_keys += [str(request.run_key) for request in result.run_requests or []]
        return [request.partition_key for request in result.run_requests or [] if request.partition_key]


@pytest.fixture
def tick(instance: dg.DagsterInstance, project: Project) -> Tick:
    return Tick(instance, project)


def test_a_new_file_is_requested_once(project: Project, tick: Tick) -> None:
    drop(project.raw / "a.swf", swf())
    assert tick() == ["a"]
    assert tick() == []
    drop(project.raw / "b.swf", swf())
    assert tick() == ["b"]


def test_a_file_still_being_copied_waits(project: Project, tick: Tick) -> None:
    drop(project.raw / "a.swf", swf(), age_s=0)
    assert tick() == []
    drop(project.raw / "a.swf", swf())
    assert tick() == ["a"]


def test_replaced_content_is_requested_again_and_its_run_key_differs(project: Project, tick: Tick) -> None:
    drop(project.raw / "a.swf", swf())
    assert tick() == ["a"]
    drop(project.raw / "a.swf", swf(jobs=61))
    assert tick() == ["a"]
    assert tick() == []


def test_a_file_that_comes_back_to_earlier_content_is_requested_under_a_new_key(
    project: Project, tick: Tick
) -> None:
    """Dagster runs a key once for ever."""
    path = project.raw / "a.swf"
    drop(path, swf())
    first = path.read_bytes(), path.stat()
    for _ in range(2):
        assert tick() == ["a"]
        drop(path, swf(jobs=61), age_s=500)
        assert tick() == ["a"]
        path.write_bytes(first[0])
        os.utime(path, ns=(first[1].st_atime_ns, first[1].st_mtime_ns))
    assert tick() == ["a"]
    assert len(set(tick.run_keys)) == len(tick.run_keys) == 5


def test_a_changed_entry_of_the_registry_is_a_reason_to_run(project: Project, tick: Tick) -> None:
    drop(project.raw / "a.swf", swf())
    drop(project.raw / "b.swf", swf())
    assert tick() == ["a", "b"]
    registry = project.configs / "traces.yaml"
    registry.write_text(registry.read_text() + "  a:\n    capacity_procs: 9\n")
    assert tick() == ["a"]
    assert tick() == []


def test_parts_follow_their_file_and_what_is_said_of_it(project: Project, tick: Tick) -> None:
    registry = project.configs / "traces.yaml"
    before = registry.read_text()
    drop(project.raw / "a.swf", swf())
    for timezone in ("Europe/Berlin", "Asia/Tokyo"):
        registry.write_text(before + f"  a:\n    timezone: {timezone}\n  half:\n    part_of: a\n")
        assert tick() == ["a", "half"]
    drop(project.raw / "a.swf", swf(jobs=61))
    assert tick() == ["a", "half"]
    drop(project.raw / "half.swf", swf())
    assert tick() == ["half"]


def test_a_link_is_followed_and_a_broken_one_is_seen(project: Project, tick: Tick, tmp_path: Path) -> None:
    drop(tmp_path / "elsewhere.swf", swf())
    (project.raw / "a.swf").symlink_to(tmp_path / "elsewhere.swf")
    assert tick() == ["a"]
    drop(tmp_path / "elsewhere.swf", swf(jobs=61))
    assert tick() == ["a"]


def test_awkward_names_become_legal_distinct_partitions(
    project: Project, tick: Tick, instance: dg.DagsterInstance
) -> None:
    names = ["jan,2024.swf", "a...b.swf", "x|y.swf", "007.swf", "abc.swf"]
    for name in names:
        drop(project.raw / name, swf())
    requested = tick()
    assert len(set(requested)) == len(names)
    assert {"007", "abc"} <= set(requested)
    assert set(instance.get_dynamic_partitions("traces")) == set(requested)


def test_a_trace_already_taken_through_is_not_requested_by_a_new_sensor(
    project: Project, tick: Tick, run_trace: RunTrace
) -> None:
    drop(project.raw / "a.swf", swf())
    assert run_trace("a").success
    assert tick() == []
    drop(project.raw / "a.swf", swf(jobs=61))
    assert tick() == ["a"]


def published(instance: dg.DagsterInstance, cursor: str | None) -> tuple[bool, str | None]:
    context = dg.build_sensor_context(instance=instance, cursor=cursor)
    result = publish_when_settled(context)
    return isinstance(result, dg.RunRequest), context.cursor


def test_publication_follows_the_last_run_once(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    assert published(instance, None) == (False, None)
    for name in ("a", "b"):
        (project.raw / f"{name}.swf").write_text(swf())
        run_trace(name)
    wanted, cursor = published(instance, None)
    assert wanted
    assert published(instance, cursor) == (False, cursor)
    (project.raw / "bad.swf").write_text("nothing\n")
    assert not run_trace("bad").success
    assert published(instance, cursor)[0]


def test_a_placement_model_is_published_too(instance: dg.DagsterInstance) -> None:
    instance.create_run_for_job(_empty_job(PLACEMENT_JOB), status=dg.DagsterRunStatus.SUCCESS)
    wanted, cursor = published(instance, None)
    assert wanted
    assert published(instance, cursor) == (False, cursor)
    instance.create_run_for_job(_empty_job(PLACEMENT_JOB), status=dg.DagsterRunStatus.STARTED)
    assert not published(instance, None)[0]


def test_publication_waits_for_runs_in_progress(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    (project.raw / "a.swf").write_text(swf())
    run_trace("a")
    instance.create_run_for_job(_empty_job(), status=dg.DagsterRunStatus.STARTED)
    assert not published(instance, None)[0]


def test_a_run_whose_process_was_killed_does_not_stop_publishing(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    (project.raw / "a.swf").write_text(swf())
    run_trace("a")
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    tags = {PROCESS_TAG: f"{socket.gethostname()}:{gone.pid}"}
    run = instance.create_run_for_job(_empty_job(), status=dg.DagsterRunStatus.STARTED, tags=tags)
    assert published(instance, None)[0]
    ended = instance.get_run_by_id(run.run_id)
    assert ended is not None
    assert ended.status == dg.DagsterRunStatus.FAILURE
    alive = {PROCESS_TAG: f"{socket.gethostname()}:{os.getpid()}"}
    instance.create_run_for_job(_empty_job(), status=dg.DagsterRunStatus.STARTED, tags=alive)
    assert not published(instance, None)[0]


def _empty_job(name: str = TRACE_JOB) -> dg.JobDefinition:
    @dg.job(name=name)
    def job() -> None: ...

    return job
