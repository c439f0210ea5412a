"""The SWF writer: what is written is what was given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.synthetic.swf import write_swf


@given(
    jobs=st.lists(
        st.tuples(st.integers(1, 10**6), st.integers(0, 2**40), st.integers(-1, 2**40)), max_size=20
    )
)
def test_lines_hold_the_columns_and_unknown_elsewhere(jobs: list[tuple[int, int, int]]) -> None:
    names = ("job", "submit", "requested_time")
    columns = {name: np.array([job[i] for job in jobs], dtype=np.int64) for i, name in enumerate(names)}
    lines = write_swf([], columns).splitlines()
    for line, job in zip(lines, jobs, strict=True):
        fields = dict(zip(SWF_FIELDS, map(int, line.split()), strict=True))
        assert tuple(fields.pop(name) for name in names) == job
        assert set(fields.values()) == {-1}


def test_text_is_the_expected_one() -> None:
    columns = {"submit": np.array([0, 70]), "job": np.array([1, 12]), "run": np.array([5, 100])}
    assert write_swf([("Version", "2.2"), ("Note", "a"), ("Note", "b")], columns) == (
        "; Version: 2.2\n; Note: a\n; Note: b\n"
        " 1  0 -1   5 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
        "12 70 -1 100 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
    )


@pytest.mark.parametrize("value", ["two\nlines", "two\rlines"])
def test_header_value_of_two_lines_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="several lines"):
        write_swf([("Note", value)], {})


def test_foreign_field_is_refused() -> None:
    with pytest.raises(InputError, match="walltime"):
        write_swf([], {"walltime": np.array([1])})
