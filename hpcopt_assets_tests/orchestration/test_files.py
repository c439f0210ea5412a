"""Whole or not at all; and where a project is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import ConfigError, InputError, TraceError
from hpcopt_assets.contracts.traces_config import Select, Split, TraceEntry, TracesConfig
from hpcopt_assets.orchestration.files import beside, write_beside
from hpcopt_assets.orchestration.project import CHECKOUT, Project, find_project
from hpcopt_assets.orchestration.runner import Wanted, resolve, take_in
from hpcopt_assets.orchestration.sources import files_of, known_traces, source_files


def test_a_failed_write_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    write_beside(target, b"old")

    def stop_halfway() -> None:
        with beside(target) as temporary:
            temporary.write_bytes(b"new, but only ha")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        stop_halfway()
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_the_project_is_the_checkout_or_the_named_folder(project: Project, tmp_path: Path) -> None:
    assert find_project({}) == Project(CHECKOUT)
    assert find_project({"HPCOPT_HOME": str(project.home)}) == project
    with pytest.raises(ConfigError, match="HPCOPT_HOME"):
        find_project({"HPCOPT_HOME": str(tmp_path / "elsewhere")})


def test_new_files_have_the_permissions_the_user_gives_to_new_files(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_beside(tmp_path / "private", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


REGISTRY = TracesConfig(
    traces={
        "big": TraceEntry(split=Split(by="partition", capacity={"cpu": 10, "gpu": 2})),
        "half": TraceEntry(part_of="big", select=Select(queues=("q",))),
    }
)


def test_a_folders_files_are_added_to_those_that_are_there(project: Project, tmp_path: Path) -> None:
    folder, mine = tmp_path / "months", project.raw / "months"
    (folder / "deep").mkdir(parents=True)
    (folder / "jan.log").write_text("1\n")
    (folder / "deep" / "feb.log").write_text("2\n")
    wanted = resolve(project, REGISTRY, str(folder))
    assert wanted == Wanted("months", folder)
    assert take_in(project, [wanted], lambda *_: None)[0].endswith("2, of which 0 replaced others.")
    assert resolve(project, REGISTRY, str(folder)) == Wanted("months")
    (folder / "jan.log").rename(folder / "mar.log")
    (folder / "deep" / "feb.log").write_text("more\n")
    said = take_in(project, [resolve(project, REGISTRY, str(folder))], lambda *_: None)
    assert said == [f"Copied the files of {folder} to {mine}: 2, of which 1 replaced others."]
    assert {path.name: path.read_text() for path in files_of(mine)} == {
        "jan.log": "1\n",
        "feb.log": "more\n",
        "mar.log": "1\n",
    }
    assert [path.name for path in project.raw.iterdir()] == ["months"]
    (folder / "deep" / "feb.log").unlink()
    assert resolve(project, REGISTRY, str(folder)) == Wanted("months")  # all that it has is there


def test_a_file_in_place_of_another_is_said(project: Project, tmp_path: Path) -> None:
    (project.raw / "a.log").write_text("longer\n")
    file = tmp_path / "a.log"
    file.write_text("1\n")
    said = take_in(project, [resolve(project, REGISTRY, str(file))], lambda *_: None)
    assert said == [f"Copied {file} to {project.raw / 'a.log'} (2 bytes, in place of another of 7 bytes)."]


def test_parts_of_a_log_are_traces_of_their_own(project: Project) -> None:
    file = project.raw / "big.log"
    file.write_text("1\n")
    known = known_traces(project.raw, REGISTRY)
    assert known == {trace_id: [file] for trace_id in ("big", "half", "big.cpu", "big.gpu")}
    for trace_id in ("big", "half", "big.gpu"):
        assert source_files(project.raw, trace_id, REGISTRY) == [project.raw / "big.log"]
        assert resolve(project, REGISTRY, trace_id) == Wanted(trace_id)
    part = REGISTRY.entry("big.gpu")
    assert (part.part_of, part.capacity_procs, part.select) == ("big", 2, Select(partitions=("gpu",)))


@pytest.mark.parametrize("part", ["big.gpu", "half"])
@pytest.mark.parametrize("is_whole_there", [True, False])
def test_a_part_and_a_file_never_share_an_id(
    part: str, project: Project, tmp_path: Path, *, is_whole_there: bool
) -> None:
    if is_whole_there:
        (project.raw / "big.log").write_text("1\n")
    outside = tmp_path / f"{part}.swf"
    outside.write_text("2\n")
    with pytest.raises(InputError, match=f"{part}, is that of a part of big"):
        resolve(project, REGISTRY, str(outside))
    (project.raw / f"{part}.swf").write_text("2\n")
    whole = "big.log" if is_whole_there else "big"
    with pytest.raises(TraceError, match=rf"2 sources claim the trace id: {part}\.swf, {whole}, of which"):
        source_files(project.raw, part, REGISTRY)
    assert part in known_traces(project.raw, REGISTRY)


def never(path: Path, trace_id: str) -> None:
    raise AssertionError(f"{path} was read as {trace_id}")


def test_a_file_is_taken_in_once_and_an_id_is_never_taken_twice(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "mine.swf"
    outside.write_text("1\n")
    wanted = resolve(project, REGISTRY, str(outside))
    assert wanted == Wanted("mine", outside)
    read: list[tuple[Path, str]] = []
    take_in(project, [wanted], lambda path, trace_id: read.append((path, trace_id)))
    assert read == [(outside, "mine")]
    assert (project.raw / "mine.swf").read_text() == "1\n"
    for again in (str(outside), "mine", str(project.raw / "mine.swf")):
        assert resolve(project, REGISTRY, again) == Wanted("mine")
    take_in(project, [Wanted("mine")], never)
    packed = tmp_path / "mine.swf.gz"
    packed.write_bytes(b"")
    with pytest.raises(InputError, match=r"mine\.swf in data/raw has the id mine already"):
        resolve(project, REGISTRY, str(packed))


def test_a_file_that_cannot_be_read_never_takes_a_good_ones_place(project: Project, tmp_path: Path) -> None:
    (project.raw / "mine.swf").write_text("good\n")
    worse = tmp_path / "mine.swf"
    worse.write_text("")

    def refuse(_path: Path, _trace_id: str) -> None:
        raise TraceError("the file is empty", "a log", "mine.swf", "Copy it again.")

    with pytest.raises(TraceError):
        take_in(project, [resolve(project, REGISTRY, str(worse))], refuse)
    assert [path.name for path in project.raw.iterdir()] == ["mine.swf"]
    assert (project.raw / "mine.swf").read_text() == "good\n"


def test_two_files_for_one_id_are_refused_before_any_is_read(project: Project, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.swf").write_text(folder)
    wanted = [resolve(project, REGISTRY, str(tmp_path / folder / "mine.swf")) for folder in ("one", "two")]
    with pytest.raises(InputError, match="several files for the id mine"):
        take_in(project, wanted, never)
    assert not list(project.raw.iterdir())


def test_an_id_goes_before_a_folder_of_that_name(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.raw / "demo.swf").write_text("1\n")
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve(project, REGISTRY, "demo") == Wanted("demo")
    with pytest.raises(InputError, match="empty folder"):
        resolve(project, REGISTRY, str(tmp_path / "demo"))


@pytest.mark.parametrize("name", ["README.swf", ".swf", "cut.part", "half.tmp"])
def test_names_that_are_no_traces_are_refused(project: Project, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1\n")
    with pytest.raises(InputError, match="Rename"):
        resolve(project, REGISTRY, str(tmp_path / name))
