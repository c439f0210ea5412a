"""Cases from reports about PBS accounting logs and the tools that read them; each gives the value it must."""
# ruff: noqa: E501 -- a record is one line

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets_tests.ingest.pbs.helpers import ended, only, parsed, read

RERUN_TOLD_TWICE = """\
03/10/2024 10:00:00;S;101.srv;user=u1 queue=q qtime=1710064800 etime=1710064800 start=1710064800 Resource_List.ncpus=4 Resource_List.walltime=02:00:00
03/10/2024 10:10:00;R;101.srv;user=u1 queue=q qtime=1710064800 start=1710064800 end=1710065400 Exit_status=-11 resources_used.walltime=00:10:00 run_count=1
03/10/2024 10:10:00;R;101.srv;user=u1 queue=q qtime=1710064800 start=1710064800 end=1710065400 Exit_status=-11 resources_used.walltime=00:10:00 run_count=1
03/10/2024 10:20:00;S;101.srv;user=u1 queue=q qtime=1710064800 etime=1710065400 start=1710066000 Resource_List.ncpus=4
03/10/2024 11:20:00;E;101.srv;user=u1 queue=q qtime=1710064800 etime=1710065400 start=1710066000 end=1710069600 Exit_status=0 resources_used.walltime=01:00:00 run_count=2
"""


def test_a_rerun_told_twice_makes_two_attempts(tmp_path: Path) -> None:
    found = read(RERUN_TOLD_TWICE, tmp_path)
    assert found["attempt"].to_list() == [1, 2]
    assert found["attempt_count"].to_list() == [2, 2]
    assert found["runtime_s"].to_list() == [600, 3600]
    assert found["state"].to_list() == ["REQUEUED", "COMPLETED"]
    assert found["wait_s"].to_list() == [0, 600]
    assert found.select((pl.col("procs") * pl.col("runtime_s")).sum()).item() == 16_800
    assert ["rerun" in flags for flags in found["quality_flags"]] == [False, True]


def test_a_rerun_waits_from_its_requeue_where_etime_stays(tmp_path: Path) -> None:
    found = read(RERUN_TOLD_TWICE.replace("etime=1710065400", "etime=1710064800"), tmp_path)
    assert found["wait_s"].to_list() == [0, 600]


def test_a_second_rerun_record_that_says_more_is_the_same_rerun(tmp_path: Path) -> None:
    # A server that lost the node writes one R when it gives up, another when the node is back.
    lines = RERUN_TOLD_TWICE.splitlines()
    lines[2] = lines[2].replace("10:10:00;R", "10:15:00;R").replace("end=1710065400", "end=1710065700")
    found = read("\n".join(lines), tmp_path)
    assert found["runtime_s"].to_list() == [600, 3600]


@pytest.mark.parametrize(("told", "name"), [("", "early"), ("jobname=late", "late"), ("jobname=", "early")])
def test_the_end_names_a_job_else_another_record_of_it(tmp_path: Path, told: str, name: str) -> None:
    start = ended("jobname=early").replace(";E;", ";S;").replace(" end=1710068460", "")
    assert only(read(start + ended(told), tmp_path))["name"] == name


QUOTES = r"""
03/10/2024 12:00:00;E;55.srv;user=u2 group=g account="proj=alpha beta" jobname="my run" queue=workq qtime=1710064800 etime=1710064800 start=1710068400 end=1710072000 Exit_status=0
03/10/2024 12:00:01;E;56.srv;user=u3 group=g account="x\" user=\"root" jobname=a;b queue=workq qtime=1710064800 etime=1710064800 start=1710068400 end=1710072000 Exit_status=0
03/10/2024 12:00:02;E;57.srv;user=u4 group=g account="x" user="root" jobname=c queue=workq qtime=1710064800 etime=1710064800 start=1710068400 end=1710072000 Exit_status=0
""".lstrip()


def test_quoted_values_hold_spaces_quotes_and_equals_signs(tmp_path: Path) -> None:
    found = read(QUOTES, tmp_path)
    assert found["user"].to_list() == ["u2", "u3", "u4"]
    assert found["account"].to_list() == ["proj=alpha beta", 'x" user="root', "x"]
    assert found["queue"].to_list() == ["workq"] * 3
    assert found["name"].to_list() == ["my run", "a;b", "c"]
    assert found["runtime_s"].to_list() == [3600] * 3
    assert found["wait_s"].to_list() == [3600] * 3
    assert [list(flags) for flags in found["quality_flags"]] == [[], [], ["duplicate_attribute"]]


@pytest.mark.parametrize(
    ("attributes", "procs", "nodes"),
    [
        ("exec_host=c7/2+c7/3+c7/5", 3, 1),
        ("exec_host=c7/8-13 total_execution_slots=6", 6, 1),
        ("exec_host=c7/0-3,7+c9/0-1 total_execution_slots=7", 7, 2),
        ("exec_host=c7/4 total_execution_slots=4 Resource_List.nodes=1:ppn=4", 4, 1),
        ("exec_host=n1/0*8+n2/0*8 exec_vnode=(n1:ncpus=8:mem=4194304kb)+(n2:ncpus=8:mem=4194304kb)", 16, 2),
        ("exec_vnode=(uv[9]:ncpus=4+uv[10]:ncpus=4)", 8, 2),
        ("exec_host=uv/0*8 exec_vnode=(uv[9]:ncpus=4+uv[10]:ncpus=4)", 8, 1),
        ("exec_host=c7/0-3,7+c9/0-1", 7, 2),
        (
            "exec_host=[host_2]/0*0 exec_vnode=([host_2][1]:ngpus=2:ncpus=24+[host_2][0]:ngpus=2:ncpus=24)",
            48,
            1,
        ),
    ],
)
def test_processors_given_in_all_spellings(tmp_path: Path, attributes: str, procs: int, nodes: int) -> None:
    job = only(read(ended(attributes), tmp_path))
    assert (job["allocated_procs"], job["nodes"]) == (procs, nodes)


def test_memory_stands_in_the_list_of_vnodes_where_nowhere_else(tmp_path: Path) -> None:
    job = only(read(ended("exec_vnode=(n1:ncpus=8:mem=4194304kb)+(n2:ncpus=8:mem=4194304kb)"), tmp_path))
    assert job["requested_memory_bytes"] == 8 * 2**30


def test_a_job_that_waits_asks_for_what_its_chunks_make(tmp_path: Path) -> None:
    # mpiprocs is no count of processors.
    found = read(
        "03/10/2024 10:00:00;Q;7.srv;user=u1 queue=q ctime=1710064800 qtime=1710064800 etime=1710064800 "
        "Resource_List.select=2:ncpus=8:mpiprocs=4+1:ncpus=4:ngpus=2\n",
        tmp_path,
    )
    job = only(found)
    assert (job["requested_procs"], job["nodes"], job["gpus"]) == (20, 3, 2)
    assert (job["state"], job["start_s"], job["allocated_procs"]) == ("PENDING", None, None)


LETTERS = """\
03/10/2024 09:00:00;Q;60.srv;queue=q
03/10/2024 09:30:00;D;60.srv;requestor=admin@host
03/10/2024 09:50:00;Q;61.srv;queue=q
03/10/2024 10:00:00;S;61.srv;user=u1 queue=q ctime=1710064200 qtime=1710064200 etime=1710064200 start=1710064800
03/10/2024 10:01:40;z;61.srv;resources_used.walltime=00:01:40
03/10/2024 10:06:40;r;61.srv;
03/10/2024 10:16:40;E;61.srv;user=u1 queue=q ctime=1710064200 qtime=1710064200 etime=1710064200 start=1710064800 end=1710065800 Exit_status=0 resources_used.walltime=00:11:40
03/10/2024 08:45:00;a;62.srv;Resource_List.walltime=04:00:00
03/10/2024 08:50:00;a;62.srv;Priority=5
03/10/2024 09:57:40;E;62.srv;user=u1 queue=q ctime=1710060000 qtime=1710060000 etime=1710064000 start=1710064060 end=1710064660 Exit_status=0
"""


def test_a_job_deleted_before_its_start_is_kept(tmp_path: Path) -> None:
    job = only(read(LETTERS, tmp_path), job_id="60.srv")
    assert job["state"] == "CANCELLED"
    assert (job["start_s"], job["end_s"], job["runtime_s"], job["user"]) == (None, None, None, None)
    assert job["submit_s"] == 1710061200


def test_a_resumed_job_is_no_rerun(tmp_path: Path) -> None:
    found = parsed(LETTERS, tmp_path)
    job = only(read(LETTERS, tmp_path), job_id="61.srv")
    assert (job["attempt_count"], job["runtime_s"], job["state"]) == (1, 1000, "COMPLETED")
    assert "suspended" in job["quality_flags"]
    assert "elapsed_differs" not in job["quality_flags"]
    assert found.facts["suspended_seconds"] == 300


def test_waits_count_from_eligible_and_alterations_make_no_job(tmp_path: Path) -> None:
    found = read(LETTERS, tmp_path)
    job = only(found, job_id="62.srv")
    assert (job["eligible_s"], job["wait_s"], job["runtime_s"]) == (1710064000, 60, 600)
    assert job["start_s"] - job["submit_s"] == 4060
    assert found["job_id"].to_list() == ["60.srv", "61.srv", "62.srv"]


def test_epochs_decide_not_the_local_clock(tmp_path: Path) -> None:
    shifted = LETTERS.replace("03/10/2024 ", "03/09/2024 ").replace("03/09/2024 10:", "03/10/2024 01:")
    rows = ["61.srv", "62.srv"]
    columns = ["job_id", "submit_s", "start_s", "end_s", "runtime_s", "wait_s"]

    def times(text: str) -> pl.DataFrame:
        return read(text, tmp_path).filter(pl.col("job_id").is_in(rows)).select(columns)

    assert times(shifted).equals(times(LETTERS))
