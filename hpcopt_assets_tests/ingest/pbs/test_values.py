"""Values of PBS attributes: what each text means, what it may hold, what is remarkable about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets.ingest.pbs import specs
from hpcopt_assets.ingest.pbs.specs import Counts
from hpcopt_assets.ingest.pbs.values import seconds, size_bytes
from hpcopt_assets_tests.ingest.pbs.helpers import ended, only, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("02:00:00", 7_200),
        ("144:00:00", 518_400),
        ("12767", 12_767),
        ("0", 0),
        ("05:12", 312),
        ("00:05:12.25", 312.25),
        ("1:02:03:04", 93_784),
        ("19:23:4", 69_784),
        ("00:75:00", 4_500),
        ("-00:00:09", None),
        ("1:2:3:4:5", None),
        ("12h", None),
        ("::", None),
        ("9" * 400, None),
    ],
)
def test_durations(text: str, value: float | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("55048kb", 55_048 * 2**10),
        ("143425316860b", 143_425_316_860),
        ("74737mb", 74_737 * 2**20),
        ("1gb", 2**30),
        ("2TB", 2 * 2**40),
        ("1PB", 2**50),
        ("1048576", 1_048_576),
        ("512w", 4_096),
        ("2kw", 16_384),
        ("3MW", 3 * 8 * 2**20),
        ("12.27M", round(12.27 * 2**20)),
        ("5eb", None),
        ("-1kb", None),
        ("kb", None),
        ("9999999pb", None),
    ],
)
def test_sizes(text: str, value: int | None) -> None:
    assert size_bytes(text) == value


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("h1.example/0-1+h2.example/0-1", Counts(4, 2)),
        ("i33/7+i33/6+i32/1", Counts(3, 2)),
        ("n1/0*8+n2/1*4", Counts(12, 2)),
        ("n1/0", Counts(1, 1)),
        ("n1", Counts(1, 1)),
        ("n1/0*0", Counts(None, 1)),
        ("n1/x+n2/0", Counts(None, 2)),
        ("n1/5-2", Counts(None, 1)),
        ("n1/0-99999999", Counts(None, 1)),
    ],
)
def test_lists_of_hosts(text: str, counts: Counts) -> None:
    assert specs.exec_host(text) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("(n1:ncpus=13)+(n2:ncpus=13)", Counts(26, 2)),
        ("(n1:ncpus=1:mem=1gb)+(n1:ncpus=1:mem=1gb)", Counts(2, 1, None, 2 * 2**30)),
        ("(n1:ncpus=4:ngpus=2+n2:ncpus=4)", Counts(8, 2, 2)),
        ("(n1:mem=1gb)", Counts(None, 1, None, 2**30)),
        ("(n1)", Counts(None, 1)),
    ],
)
def test_lists_of_vnodes(text: str, counts: Counts) -> None:
    assert specs.exec_vnode(text) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("2:ncpus=8:mpiprocs=4+1:ncpus=4:ngpus=2", Counts(20, 3, 2)),
        ("1:mpiprocs=48:ncpus=48:ngpus=4:mem=185547mb", Counts(48, 1, 4, 185_547 * 2**20)),
        ("ncpus=4:mem=2gb", Counts(4, 1, None, 2 * 2**30)),
        ("3:ncpus=2:vntype=cray+host=login", Counts(None, 4)),
        ("4", Counts(None, 4)),
        ("fast", Counts()),
    ],
)
def test_chunks(text: str, counts: Counts) -> None:
    assert specs.select(text) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("1:ppn=4", Counts(4, 1)),
        ("1:ppn=4:avx", Counts(4, 1)),
        ("h1:ppn=2+h2:ppn=2", Counts(4, 2)),
        ("2:ppn=8:gpus=2:default+fast", Counts(17, 3, 4)),
        ("5", Counts(5, 5)),
        ("h1.example", Counts(1, 1)),
        ("2:ppn=4#excl", Counts(8, 2)),
        ("1:ppn=all", Counts(None, 1)),
        ("n1:ppn=all+2:ppn=4", Counts(None, 3)),
    ],
)
def test_nodes(text: str, counts: Counts) -> None:
    assert specs.node_spec(text) == counts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1-10", (10, None)),
        ("0-20:5", (5, None)),
        ("1,3,5-7%2", (5, 2)),
        ("7-3", (0, None)),
        ("x", (None, None)),
    ],
)
def test_tasks_of_arrays(text: str, found: tuple[int | None, int | None]) -> None:
    assert specs.tasks_of(text) == found


@pytest.mark.parametrize(
    ("walltime", "limit_s", "kind", "flag"),
    [
        ("02:00:00", 7_200, "limit", None),
        ("12767", 12_767, "limit", None),
        ("19:23:4", 69_784, "limit", "malformed_duration"),
        ("00:00:00", 0, "limit", "zero_request"),
        ("unlimited", None, "unlimited", None),
        ("2 days", None, "unknown", "invalid_limit"),
        ("", None, "unknown", None),
        (None, None, "unknown", None),
    ],
)
def test_requested_runtimes(
    tmp_path: Path, walltime: str | None, limit_s: int | None, kind: str, flag: str | None
) -> None:
    text = "" if walltime is None else f'Resource_List.walltime="{walltime}"'
    job = only(read(ended(text, run_s=0), tmp_path))
    assert (job["requested_runtime_s"], job["requested_runtime_kind"]) == (limit_s, kind)
    assert job["quality_flags"] == ([flag] if flag else [])


@pytest.mark.parametrize(
    ("attributes", "requested", "allocated"),
    [
        ("Resource_List.ncpus=65 Resource_List.select=5:ncpus=13", 65, None),
        ("Resource_List.select=5:mem=1gb Resource_List.ncpus=10", 10, None),
        ("Resource_List.select=5:mem=1gb", 5, None),
        ("Resource_List.ncpus=1 Resource_List.nodes=1:ppn=4:avx", 4, None),
        ("Resource_List.ncpus=8 Resource_List.nodes=1", 8, None),
        ("Resource_List.procs=12 Resource_List.nodes=1", 12, None),
        ("Resource_List.nodect=2", None, None),
        ("Resource_List.nodes=1:ppn=all Resource_List.ncpus=1", None, None),
        ("Resource_List.ncpus=0 total_execution_slots=0 resources_used.ncpus=6", None, 6),
        ("exec_host=n1/0-27 total_execution_slots=28", None, 28),
        ("Resource_List.ncpus=99999999999", None, None),
    ],
)
def test_processors_asked_for_and_given(
    tmp_path: Path, attributes: str, requested: int | None, allocated: int | None
) -> None:
    job = only(read(ended(attributes), tmp_path))
    assert (job["requested_procs"], job["allocated_procs"]) == (requested, allocated)


@pytest.mark.parametrize(
    ("attributes", "gpus"),
    [
        ("Resource_List.ngpus=4 Resource_List.select=1:ncpus=48:ngpus=4", 4),
        ("Resource_List.nodes=1:ppn=28:gpus=1:default", 1),
        ("exec_gpus=n1-gpu/1+n1-gpu/0", 2),
        ("Resource_List.gpu=2 Resource_List.nodes=1:ppn=28:default", 2),
        ("Resource_List.ncpus=1", None),
    ],
)
def test_gpus(tmp_path: Path, attributes: str, gpus: int | None) -> None:
    assert only(read(ended(attributes), tmp_path))["gpus"] == gpus


def test_memory_for_each_process_counts_for_all(tmp_path: Path) -> None:
    job = only(read(ended("Resource_List.pmem=2gb Resource_List.nodes=2:ppn=4"), tmp_path))
    assert job["requested_memory_bytes"] == 16 * 2**30


def test_what_was_used(tmp_path: Path) -> None:
    job = only(read(ended("resources_used.cput=00:48:40 resources_used.mem=307504kb"), tmp_path))
    assert (job["cpu_used_s"], job["used_memory_bytes"]) == (2_920.0, 307_504 * 2**10)


def test_what_cannot_be_read_is_unknown_and_marked(tmp_path: Path) -> None:
    job = only(read(ended("resources_used.mem=lots Resource_List.nodect=1:ppn=24"), tmp_path))
    assert job["used_memory_bytes"] is None
    assert job["quality_flags"] == ["malformed_value"]


def test_an_account_else_a_project_is_charged(tmp_path: Path) -> None:
    def account(attributes: str) -> str | None:
        found: str | None = only(read(ended(attributes), tmp_path))["account"]
        return found

    assert account("account=a project=p") == "a"
    assert account("project=p") == "p"
    assert account("project=_pbs_project_default") is None
