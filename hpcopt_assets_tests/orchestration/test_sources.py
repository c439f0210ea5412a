"""Which file is which trace: legal ids, no two names under one id, and nothing that is no trace."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.frozen import SAFE_ID
from hpcopt_assets.contracts.traces_config import TracesConfig
from hpcopt_assets.orchestration.sources import FORMAT_SUFFIX, find_sources, source_files, trace_id_of

REGISTRY = TracesConfig(traces={})


@pytest.mark.parametrize(
    ("name", "trace_id"),
    [
        ("007.swf", "007"),
        ("abc.swf", "abc"),
        ("abc.swf.gz", "abc"),
        ("ABC.SWF.GZ", "ABC"),
        ("abc.gz", "abc"),
        ("abc.swf.swf", "abc.swf"),
        ("abc.txt", "abc"),
        ("abc.sacct.gz", "abc"),
        ("abc.dat", "abc.dat"),
        ("HPC2N-2002-2.2-cln.swf.gz", "HPC2N-2002-2.2-cln"),
    ],
)
def test_a_legal_name_is_its_own_id(name: str, trace_id: str):
    assert trace_id_of(name) == trace_id


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("jan,2024.swf", "jan_2024--"),
        ("a...b.swf", "a_b--"),
        ("x|y.swf", "x_y--"),
        ("a b.swf", "a_b--"),
        ("..swf", "trace--"),
        ("é.swf", "trace--"),
        ("a..swf", "a--"),
        ("x" * 240 + ".swf", "x" * 150 + "--"),
        ("abc--0123456789.swf", "abc--0123456789--"),
    ],
)
def test_any_other_name_is_rewritten_and_marked(name: str, begins: str):
    assert trace_id_of(name).startswith(begins)
    assert SAFE_ID.fullmatch(trace_id_of(name))


TRICKY = st.text(alphabet="a.,|_- é0/", min_size=1, max_size=12) | st.text(min_size=1, max_size=250)
NAMES = st.builds(lambda stem, suffix: stem + suffix, TRICKY, st.sampled_from(["", ".swf", ".swf.gz", ".gz"]))


@settings(deadline=None)
@given(first=NAMES, second=NAMES)
def test_ids_are_legal_and_differ_where_names_do(first: str, second: str):
    for name in (first, second):
        try:
            os.fsencode(name)
        except UnicodeEncodeError:  # no file can have this name
            return
    ids = trace_id_of(first), trace_id_of(second)
    for trace_id in ids:
        assert SAFE_ID.fullmatch(trace_id)
        assert "..." not in trace_id
    stems = [FORMAT_SUFFIX.sub("", name, count=1) or name for name in (first, second)]
    if stems[0] != stems[1]:
        assert ids[0] != ids[1]


@settings(deadline=None)
@given(name=NAMES)
def test_the_name_of_a_rewritten_trace_is_not_that_trace(name: str):
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return
    trace_id = trace_id_of(name)
    if "--" in trace_id and not name.startswith(trace_id):
        assert trace_id_of(trace_id + ".swf") != trace_id


def test_sources_are_the_files_that_may_be_traces(tmp_path: Path):
    names = ["b.swf", "a.swf.gz", "a.swf", "007.swf", "x|y.swf", "notes.dat"]
    others = [".hidden.swf", "README.md", "readme.txt", "README", "c.swf.tmp", "d.swf.gz.part"]
    for name in [*names, *others]:
        (tmp_path / name).touch()
    (tmp_path / "folder.swf").mkdir()
    (tmp_path / "broken.swf").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe.swf")
    found = find_sources(tmp_path)
    assert {key: [path.name for path in paths] for key, paths in found.items()} == {
        "007": ["007.swf"],
        "a": ["a.swf", "a.swf.gz"],
        "b": ["b.swf"],
        "broken": ["broken.swf"],
        "folder": ["folder.swf"],
        "notes.dat": ["notes.dat"],
        trace_id_of("x|y.swf"): ["x|y.swf"],
    }
    assert source_files(tmp_path, "b", REGISTRY) == [tmp_path / "b.swf"]
    with pytest.raises(TraceError, match=r"2 sources claim the trace id: a\.swf, a\.swf\.gz"):
        source_files(tmp_path, "a", REGISTRY)
    with pytest.raises(TraceError, match="no file for this trace"):
        source_files(tmp_path, "c", REGISTRY)


def test_a_missing_folder_holds_no_sources(tmp_path: Path):
    assert find_sources(tmp_path / "raw") == {}
