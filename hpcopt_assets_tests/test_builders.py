"""The frames that other tests stand on keep the contract themselves."""

from pathlib import Path

import pytest

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets_tests.builders import job, read_swf, trace

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.swf")), ids=lambda path: path.stem)
def test_golden_traces_keep_the_contract(path: Path):
    frame, capacity_procs = read_swf(path)
    validate(TRACE_JOBS, frame)
    assert frame.height >= 300
    assert capacity_procs >= frame["procs"].max()


def test_rows_come_in_trace_order_with_derived_columns():
    frame = trace([(10, 0, 4, 10), job(2, 0, 4, 10, None, wait_s=5), job(1, 5, 2, 3, eligible_s=7)])
    validate(TRACE_JOBS, frame)
    assert frame["job_id"].to_list() == ["2", "10", "1"]
    assert frame["release_s"].to_list() == [0, 0, 7]
    assert frame["requested_runtime_s"].to_list() == [None, 10, 3]
    assert frame["start_s"].to_list() == [5, None, None]
    assert frame["end_s"].to_list() == [15, None, None]


def test_ids_that_are_not_all_numbers_keep_the_order_of_their_lines():
    assert trace([("10", 0, 1, 1), ("9", 0, 1, 1), ("a", 0, 1, 1)])["job_id"].to_list() == ["10", "9", "a"]


def test_a_misspelt_column_is_refused():
    with pytest.raises(KeyError, match="colour"):
        job(1, 0, 1, 1, colour="red")
