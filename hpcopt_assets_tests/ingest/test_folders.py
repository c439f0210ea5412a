"""A trace of several files: overlapping dumps in any order, locked hashes, one format."""

import gzip
import hashlib
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import INGEST_REPORT, RAW_TRACE, TRACE_JOBS
from hpcopt_assets.contracts.traces_config import TraceEntry, TracesConfig
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets.ingest.reader import combined_sha256, raw_trace_rows
from hpcopt_assets_tests.ingest.helpers import LIMITS, ingest_files, line, rejected


def dumps(folder: Path) -> list[Path]:
    """Two months that overlap: jobs 4 to 6 are in both, with job 6 in parts that the second month ends."""
    parts = [
        line(job=6, submit=60, wait=1, run=10, requested=2, status=2),
        line(job=6, submit=-1, wait=2, run=20, requested=2, status=2),
        line(job=6, submit=-1, wait=3, run=30, requested=2, status=3),
    ]
    whole = {k: line(job=k, submit=10 * k, wait=1, run=5, requested=2) for k in range(1, 10)}
    header = "; UnixStartTime: 1000\n; MaxProcs: "
    january = [header + "8", *(whole[k] for k in (1, 2, 3, 4, 5)), *parts[:2]]
    # The second month counts from an epoch of its own: 40 seconds later.
    later = {k: line(job=k, submit=10 * k - 40, wait=1, run=5, requested=2) for k in range(4, 10)}
    february = ["; UnixStartTime: 1040\n; MaxProcs: 16", *(later[k] for k in (4, 5)), *parts[1:]]
    february += [later[k] for k in (7, 8, 9)]
    paths = [folder / "january.swf", folder / "february.swf"]
    for path, lines in zip(paths, (january, february), strict=True):
        path.write_text("\n".join(lines) + "\n")
    (folder / "zweiter_februar.swf").write_bytes(paths[1].read_bytes())
    return [*paths, folder / "zweiter_februar.swf"]


def test_overlapping_files_in_any_order_and_doubled_give_one_table(tmp_path: Path):
    paths = dumps(tmp_path)
    found = ingest_files(paths[:2], tmp_path)
    jobs, report = found.jobs, found.report
    validate(TRACE_JOBS, jobs)
    validate(INGEST_REPORT, report)
    assert jobs["job_id"].to_list() == [str(k) for k in range(1, 10)]
    assert jobs["submit_s"].to_list() == [1000 + 10 * k for k in range(1, 10)]
    six = jobs.row(5, named=True)
    assert (six["start_s"], six["end_s"], six["source_file"]) == (1061, 1121, "january.swf")
    assert (six["runtime_s"], six["state"], six["quality_flags"]) == (60, "COMPLETED", ["parts_summed"])
    assert (report["files_count"].item(), report["jobs_count"].item()) == (2, 9)
    assert report["lines_count"].item() == report["header_lines_count"].item() + 14
    for some in (paths[:2], paths):
        tables = []
        for order in permutations(some):
            again = ingest_files(list(order), tmp_path)
            assert again.jobs.equals(jobs)
            assert again.rejects.is_empty()
            tables.append(again.report)
        assert all(table.equals(tables[0]) for table in tables)


def test_files_that_contradict_each_other_do_so_in_any_order(tmp_path: Path):
    first, second = tmp_path / "a.swf", tmp_path / "b.swf"
    first.write_text(line(job=1, submit=5, run=10))
    second.write_text("\n".join([line(job=2), line(job=1, submit=5, run=11)]))
    for order in permutations([first, second]):
        found = ingest_files(list(order), tmp_path)
        assert found.jobs.filter(job_id="1")["runtime_s"].to_list() == [10]
        assert rejected(found) == {2: "duplicate_job_id"}
        assert found.rejects["source_file"].item() == "b.swf"
        assert "which line 1 of a.swf tells otherwise" in found.rejects["reason"].item()


def under_all_names(texts: list[str], folder: Path) -> Iterator[list[Path]]:
    """The texts as files, under every order of their names."""
    for order in permutations(texts):
        paths = [folder / f"{letter}.swf" for letter in "abc"[: len(texts)]]
        for path, text in zip(paths, order, strict=True):
            path.write_text(text)
        yield paths


def test_a_line_that_knows_the_end_wins_under_whatever_name(tmp_path: Path):
    waiting = line(job=2, submit=10, requested=4, status=-1)
    running = line(job=2, submit=10, wait=5, requested=4, status=-1)
    ended = line(job=2, submit=10, wait=5, run=60, requested=4)
    for paths in under_all_names([waiting, running, ended], tmp_path):
        found = ingest_files(paths, tmp_path)
        assert found.jobs.select("state", "runtime_s", "wait_s").rows() == [("COMPLETED", 60, 5)]
        assert found.rejects.is_empty()
        assert found.breakdown["other_facts"] == {"superseded_lines": 2}


def test_of_lines_that_contradict_each_other_content_decides_not_the_name(tmp_path: Path):
    for one, other, kept in (
        (line(run=60, status=1), line(run=50, status=-1), 60),
        (line(run=60, status=5), line(status=1), 60),
        (line(run=60, user=3), line(run=50), 60),
        (line(run=60, submit=1), line(run=50, submit=2), 60),
        (line(run=60), line(run=50), 50),
    ):
        for paths in under_all_names([one, other], tmp_path):
            found = ingest_files(paths, tmp_path)
            assert found.jobs["runtime_s"].to_list() == [kept]
            assert found.rejects["code"].to_list() == ["duplicate_job_id"]


def test_bursts_in_several_files_are_the_same_only_as_often_as_one_file_tells_them(tmp_path: Path):
    first = line(job=4, submit=10, wait=5, run=100, status=2)
    again, last = (line(job=4, submit=-1, wait=50, run=100, status=status) for status in (2, 3))
    january, february = "\n".join([first, again]), "\n".join([again, again, last])
    for paths in under_all_names([january, february, february], tmp_path):
        found = ingest_files(paths, tmp_path)
        assert found.jobs.select("start_s", "runtime_s", "state").rows() == [(15, 400, "COMPLETED")]
        assert found.breakdown["other_facts"] == {"superseded_lines": 4}


def test_pieces_without_a_header_count_from_the_epoch_of_the_trace(tmp_path: Path):
    paths = [tmp_path / name for name in ("a.swf", "b.swf", "c.swf", "d.swf")]
    texts = [line(job=1, submit=5), "; UnixStartTime: 1000\n" + line(job=2, submit=6)]
    texts += ["; UnixStartTime: 5000\n" + line(job=3, submit=7), line(job=4, submit=8)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    for order in (paths, paths[::-1]):
        found = ingest_files(order, tmp_path)
        submitted = dict(found.jobs.select("job_id", "submit_s").iter_rows())
        assert submitted == {"1": 1005, "2": 1006, "3": 5007, "4": 1008}
        assert found.report["unix_start_s"].item() == 1000
    assert ingest_files([paths[0], paths[3]], tmp_path).jobs["submit_s"].to_list() == [5, 8]


def test_a_file_that_is_not_the_one_the_registry_locks_is_refused(tmp_path: Path):
    path = tmp_path / "a.swf"
    path.write_text(line())
    files = (SourceFile(path, "a.swf"),)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    rows = raw_trace_rows(files, trace_id="a", entry=TraceEntry(sha256=digest), limits=LIMITS)
    assert rows["sha256"].item() == digest
    with pytest.raises(TraceError) as caught:
        raw_trace_rows(files, trace_id="a", entry=TraceEntry(sha256="0" * 64), limits=LIMITS)
    assert digest in caught.value.found
    assert "0" * 64 in caught.value.needed
    assert "configs/traces.yaml" in caught.value.needed


@pytest.mark.parametrize("trace_id", ["a", "a.gpu", "half"])
def test_a_part_of_a_file_that_is_not_the_locked_one_is_refused_as_the_whole(trace_id: str, tmp_path: Path):
    path = tmp_path / "a.swf"
    path.write_text(line())
    whole = {"sha256": "0" * 64, "split": {"by": "partition", "capacity": {"gpu": 4}}}
    registry = TracesConfig.model_validate({"traces": {"a": whole, "half": {"part_of": "a"}}})
    with pytest.raises(TraceError, match=f"needed: SHA-256 {'0' * 64}"):
        raw_trace_rows(
            (SourceFile(path, "a.swf"),), trace_id=trace_id, entry=registry.entry(trace_id), limits=LIMITS
        )


def test_the_hash_of_a_folder_does_not_depend_on_the_order_of_its_files(tmp_path: Path):
    paths = dumps(tmp_path)[:2]
    files = tuple(SourceFile(path, path.name) for path in paths)
    hashes = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths]
    locked = TraceEntry(sha256=combined_sha256(hashes))
    for order in (files, files[::-1]):
        validate(RAW_TRACE, raw_trace_rows(order, trace_id="a", entry=locked, limits=LIMITS))
        found = ingest_files([file.path for file in order], tmp_path)
        assert found.report["sha256"].item() == locked.sha256
    renamed = [("x.swf", hashes[0][1]), hashes[1]]
    assert combined_sha256(renamed) != locked.sha256


PBS = "03/10/2024 12:00:00;E;5.srv;user=a queue=q ctime=1 qtime=1 etime=1 start=2 end=3 Exit_status=0\n"
SACCT = "JobID|Submit|Start|End|State\n1|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T11:00:00|FAILED\n"


def folder_of(texts: dict[str, str | bytes], folder: Path) -> list[Path]:
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return [folder / name for name in texts]


@pytest.mark.parametrize("order", [1, -1])
def test_files_of_two_formats_are_no_trace(order: int, tmp_path: Path):
    paths = folder_of({"a.swf": line(), "b.log": PBS}, tmp_path)[::order]
    files = tuple(SourceFile(path, path.name) for path in paths)
    said = r"files of formats pbs \(b.log\), swf \(a.swf\); needed: one format for each trace"
    with pytest.raises(TraceError, match=said):
        raw_trace_rows(files, trace_id="a", entry=TraceEntry(), limits=LIMITS)
    with pytest.raises(TraceError, match=said):
        ingest_files(paths, tmp_path)


@pytest.mark.parametrize("empty", ["", gzip.compress(b"")], ids=["empty", "packed"])
@pytest.mark.parametrize(("text", "job"), [(PBS, "5.srv"), (SACCT, "1"), (line(), "1")])
def test_a_day_without_jobs_costs_nothing(text: str, job: str, empty: str | bytes, tmp_path: Path):
    paths = folder_of({"0": empty, "1": text, "2": empty}, tmp_path)
    files = tuple(SourceFile(path, path.name) for path in paths)
    rows = raw_trace_rows(files, trace_id="a", entry=TraceEntry(), limits=LIMITS)
    assert rows["source_file"].to_list() == ["0", "1", "2"]
    found = ingest_files(paths, tmp_path)
    assert found.jobs["job_id"].to_list() == [job]
    assert found.report.select("files_count", "lines_count").row(0) == (3, text.rstrip().count("\n") + 1)
    assert found.report["sha256"].item() == combined_sha256(list(rows.select("source_file", "sha256").rows()))


def test_files_that_are_all_empty_are_no_trace(tmp_path: Path):
    paths = folder_of({"0": "", "1": gzip.compress(b"")}, tmp_path)
    with pytest.raises(TraceError, match="the file is empty"):
        ingest_files(paths, tmp_path)


@pytest.mark.parametrize(
    ("quiet", "text", "kind"),
    [
        ("; the server started\n", PBS, "pbs"),
        ("; Version: 2.2\n", line(), "swf"),
        ("# nothing\n", SACCT, "sacct"),
        ("\n\n", PBS, "pbs"),
    ],
)
def test_a_file_of_comments_alone_is_of_the_format_of_the_others(
    quiet: str, text: str, kind: str, tmp_path: Path
):
    for names in (("0", "1"), ("1", "0")):
        found = ingest_files(folder_of(dict(zip(names, (quiet, text), strict=True)), tmp_path), tmp_path)
        assert found.report["format"].item() == kind
        assert found.jobs.height == 1
        assert found.report["rejects_count"].item() == 0
