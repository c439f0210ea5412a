"""What the registry says of a trace: which jobs it keeps, in what unit its capacity is, its format."""

from pathlib import Path
from typing import Any

import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.traces_config import CapacityStep, Exclusion, Select
from hpcopt_assets.contracts.vocabulary import CapacitySource, Unit
from hpcopt_assets_tests.ingest.helpers import line, read_text

TEXT = "; MaxProcs: 64\n" + "\n".join(
    line(job=k, submit=k, wait=0, run=100, requested=k, partition=partition, queue=queue)
    for k, partition, queue in ((1, 1, 5), (2, 2, 5), (3, 2, 6), (4, -1, 5), (5, 3, -1))
)


@pytest.mark.parametrize(
    ("select", "kept"),
    [
        ({"partitions": ("2",)}, ["2", "3"]),
        ({"partitions": ("1", "3")}, ["1", "5"]),
        ({"queues": ("5",)}, ["1", "2", "4"]),
        ({"partitions": ("2",), "queues": ("5",)}, ["2"]),
        (None, ["1", "2", "3", "4", "5"]),
    ],
)
def test_only_the_selected_partitions_and_queues_are_kept(select: Any, kept: list[str], tmp_path: Path):
    found = read_text(TEXT, tmp_path, select=None if select is None else Select(**select))
    report = found.report.row(0, named=True)
    assert found.jobs["job_id"].to_list() == kept
    assert (report["jobs_count"], report["unselected_jobs_count"]) == (len(kept), 5 - len(kept))
    assert (report["job_lines_count"], report["rejects_count"]) == (5, 0)
    # The header speaks of the whole machine, not of a part.
    peak = sum(int(job) for job in kept)
    expected = (peak, CapacitySource.OBSERVED_PEAK) if select else (64, CapacitySource.HEADER)
    assert (report["capacity_procs"], report["capacity_source"]) == expected
    assert report["observed_peak_procs"] == peak


def test_a_selection_that_keeps_nothing_says_how_many_jobs_there_are(tmp_path: Path):
    with pytest.raises(TraceError, match="5 jobs that the registry does not select"):
        read_text(TEXT, tmp_path, select=Select(partitions=("none",)))


def test_excluded_are_the_jobs_of_one_user_and_time(tmp_path: Path):
    text = "; UnixStartTime: 1000\n" + "\n".join(
        line(job=k, submit=submit, wait=0, run=1, requested=1, user=user)
        for k, submit, user in ((1, 9, 21), (2, 10, 21), (3, 15, 7), (4, 19, 21), (5, 20, 21), (6, 12, -1))
    )
    flurry = {"user": "21", "since": "1970-01-01T00:16:50Z", "until": "1970-01-01T00:17:00Z"}
    found = read_text(text, tmp_path, exclude=(Exclusion.model_validate(flurry),))
    assert found.jobs["job_id"].to_list() == ["1", "6", "3", "5"]
    assert found.report["unselected_jobs_count"].item() == 2
    assert "jobs of user 21" in found.report["notes"].item()[0]
    with pytest.raises(ValueError, match="is not after since"):
        Exclusion.model_validate(flurry | {"until": flurry["since"]})


SACCT = """JobID|State|Submit|Start|End|NNodes|NCPUS|ReqCPUS
1|COMPLETED|2024-06-02T09:00:00|2024-06-02T10:00:00|2024-06-02T11:00:00|2|96|96
2|COMPLETED|2024-06-02T09:00:00|2024-06-02T10:30:00|2024-06-02T11:00:00|3|144|144
"""


def capacity_of(found: Any) -> tuple[Any, ...]:
    names = ("capacity_procs", "capacity_unit", "capacity_source", "observed_peak_procs")
    return found.report.select(*names, "observed_over_capacity_s").row(0)


def test_a_capacity_in_nodes_is_held_against_nodes(tmp_path: Path):
    by_procs = read_text(SACCT, tmp_path)
    assert capacity_of(by_procs) == (240, Unit.PROCS, CapacitySource.OBSERVED_PEAK, 240, 0)
    by_nodes = read_text(SACCT, tmp_path, unit=Unit.NODES)
    assert capacity_of(by_nodes) == (5, Unit.NODES, CapacitySource.OBSERVED_PEAK, 5, 0)
    stated = read_text(SACCT, tmp_path, unit=Unit.NODES, capacity_procs=4)
    assert capacity_of(stated) == (4, Unit.NODES, CapacitySource.CONFIG, 5, 1800)
    assert by_nodes.jobs.equals(by_procs.jobs)


def test_processors_are_never_taken_for_nodes(tmp_path: Path):
    found = read_text(TEXT, tmp_path, unit=Unit.NODES)
    assert capacity_of(found) == (None, Unit.NODES, None, None, None)


def test_the_report_names_the_format_and_keeps_the_registrys_notes(tmp_path: Path):
    steps = (CapacityStep.model_validate({"since": "2024-01-01T00:00:00Z", "capacity": 32}),)
    found = read_text("; Note: from the log\n" + line(), tmp_path, licence="CC0", capacity_steps=steps)
    assert found.report.select("format", "files_count").row(0) == ("swf", 1)
    assert found.report["notes"].item().to_list() == ["from the log", "Licence: CC0"]
    steps_told = found.report.select("capacity_step_at_s", "capacity_step_procs").row(0)
    assert steps_told == ([1_704_067_200], [32])


def test_the_requests_that_a_replay_replaces_are_counted_by_what_is_said_in_their_place(tmp_path: Path):
    limits = ("01:00:00", "00:00:00", "UNLIMITED", "Partition_Limit", "", "00:00:00")
    text = "JobID|State|Submit|Start|End|Timelimit\n" + "".join(
        f"{k}|COMPLETED|2024-06-02T09:00:00|2024-06-02T10:00:00|2024-06-02T11:00:00|{limit}\n"
        for k, limit in enumerate(limits, start=1)
    )
    found = read_text(text, tmp_path).breakdown["requests_that_a_replay_replaces"]
    assert found == {"zero": 2, "partition_limit": 1, "unknown": 1, "unlimited": 1}
    assert read_text(line(requested_time=5), tmp_path).breakdown["requests_that_a_replay_replaces"] == {}
