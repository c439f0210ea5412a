"""Which jobs are replayed, what stands in for a missing request, and in which order they come."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.order import in_trace_order
from hpcopt_assets.contracts.vocabulary import Estimate, LeftOut, Overrun
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import CAPACITY, jobs

DAY_S = 86_400


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (job(1, 0, 4, None, 10, state="CANCELLED"), LeftOut.NEVER_STARTED),
        (job(1, 0, 4, 0, 10, state="PENDING"), LeftOut.NEVER_STARTED),
        (job(1, 0, None, None, 10, state="PENDING"), LeftOut.NEVER_STARTED),
        (job(1, 0, 4, None, 10), LeftOut.UNKNOWN_RUNTIME),
        (job(1, 0, 4, None, 10, wait_s=3, state="CANCELLED"), LeftOut.UNKNOWN_RUNTIME),
        (job(1, 0, 4, 45, 10, wait_s=3, state="RUNNING"), LeftOut.UNKNOWN_RUNTIME),
        (job(1, 0, None, None, 10), LeftOut.UNKNOWN_RUNTIME),
        (job(1, 0, None, 5, 10), LeftOut.UNKNOWN_PROCS),
        (job(1, 0, 9, 5, 10), LeftOut.WIDER_THAN_MACHINE),
        (job(1, 0, 8, 5, 10), None),
        (job(1, 0, 8, 0, 10, state="FAILED"), None),
        (job(1, 0, 8, 25, 10, state="CANCELLED"), None),
    ],
)
def test_a_job_is_left_out_for_the_first_reason_that_holds(row: dict, reason: LeftOut | None):
    workload = select_workload(trace([row]), 8)
    assert workload.jobs["left_out"].to_list() == [reason]
    assert workload.left_out == {each: int(each is reason) for each in LeftOut}
    assert len(workload) == (reason is None)


def test_neither_wait_nor_start_is_needed():
    assert len(select_workload(trace([job(1, 0, 4, 10, None, wait_s=None)]), 8)) == 1


@pytest.mark.parametrize("capacity_procs", [0, -1])
def test_a_machine_without_processors_is_refused(capacity_procs: int):
    with pytest.raises(InputError, match=f"a capacity of {capacity_procs} processors; needed: 1 to"):
        select_workload(trace([(1, 0, 1, 1)]), capacity_procs)


class TestFallback:
    """`limits` lists, by id, the limit that stands in for each missing request."""

    @staticmethod
    def limits(rows: list) -> dict[str, int]:
        workload = select_workload(trace(rows), 8)
        pairs = zip(workload.job_id, workload.limit_s.tolist(), workload.is_fallback, strict=True)
        return {job_id: limit_s for job_id, limit_s, is_fallback in pairs if is_fallback}

    def test_is_a_day_where_nothing_is_known(self):
        assert self.limits([(1, 0, 1, 5, None)]) == {"1": DAY_S}

    def test_is_the_largest_earlier_request_of_the_queue(self):
        rows = [job(1, 0, 1, 5, 100, queue="a"), job(2, 1, 1, 5, 900, queue="b")]
        rows += [job(3, 2, 1, 5, 50, queue="a"), job(4, 3, 1, 5, None, queue="a")]
        assert self.limits(rows) == {"4": 100}

    def test_else_of_the_trace(self):
        rows = [job(1, 0, 1, 5, 100, queue="a"), job(2, 1, 1, 5, None, queue="b")]
        assert self.limits(rows) == {"2": 100}

    def test_never_looks_at_jobs_of_the_same_instant_or_later(self):
        rows = [job(1, 0, 1, 5, 100), job(2, 7, 1, 5, 900), job(3, 7, 1, 5, None), job(4, 8, 1, 5, 5000)]
        assert self.limits(rows) == {"3": 100}
        assert self.limits([(1, 7, 1, 5, 900), (2, 7, 1, 5, None)]) == {"2": DAY_S}

    def test_treats_jobs_without_a_queue_as_a_queue(self):
        rows = [job(1, 0, 1, 5, 900, queue="a"), job(2, 1, 1, 5, 100), job(3, 2, 1, 5, None)]
        assert self.limits(rows) == {"3": 100}

    def test_goes_by_partition_only_where_no_job_has_a_queue(self):
        rows = [job(1, 0, 1, 5, 900, partition="p"), job(2, 1, 1, 5, 100, partition="q")]
        missing = job(3, 2, 1, 5, None, partition="q")
        assert self.limits([*rows, missing]) == {"3": 100}
        assert self.limits([*rows, missing, job(4, 9, 1, 5, 5, queue="a")]) == {"3": 900}

    def test_counts_requests_of_jobs_that_are_not_replayed(self):
        assert self.limits([(1, 0, 99, 5, 700), (2, 1, 1, 5, None)]) == {"2": 700}

    @pytest.mark.parametrize(
        "missing",
        [
            job(2, 1, 1, 5, 0),
            job(2, 1, 1, 5, None, requested_runtime_kind="unlimited"),
            job(2, 1, 1, 5, None, requested_runtime_kind="partition_limit"),
        ],
    )
    def test_stands_in_for_whatever_is_not_a_positive_time(self, missing: dict):
        assert self.limits([(1, 0, 1, 5, 100), missing]) == {"2": 100}

    def test_is_never_the_actual_runtime(self):
        limits = {self.limits([(1, 0, 1, runtime_s, None)])["1"] for runtime_s in (1, 5, 10**6)}
        assert limits == {DAY_S}

    @given(jobs())
    @settings(deadline=None)
    def test_is_what_a_plain_search_finds(self, frame):
        workload = select_workload(frame, CAPACITY)
        rows = frame.to_dicts()
        asked = [row | {"request": row["requested_runtime_s"] or None} for row in rows]

        def plain(row: dict) -> int:
            earlier = [each for each in asked if each["release_s"] < row["release_s"] and each["request"]]
            own = [each["request"] for each in earlier if each["queue"] == row["queue"]]
            return row["request"] or max(own or [each["request"] for each in earlier], default=DAY_S)

        assert workload.limit_s.tolist() == [plain(row) for row in asked]
        assert workload.is_fallback.tolist() == [row["request"] is None for row in asked]


class TestBeliefs:
    workload = select_workload(trace([(1, 0, 1, 0, 10), (2, 0, 1, 5, 10), (3, 0, 1, 90_000, None)]), 8)

    def test_the_request_is_believed(self):
        assert self.workload.believed_s(Estimate.REQUESTED).tolist() == [10, 10, DAY_S]

    def test_the_truth_is_believed_from_one_second_up_to_the_limit(self):
        assert self.workload.believed_s(Estimate.ACTUAL).tolist() == [1, 5, DAY_S]

    def test_a_kill_ends_a_job_at_its_request_but_not_at_a_fallback(self):
        workload = select_workload(trace([(1, 0, 1, 50, 10), (2, 0, 1, 90_000, None)]), 8)
        assert workload.replayed_runtime_s(Overrun.KILL).tolist() == [10, 90_000]
        assert workload.replayed_runtime_s(Overrun.EXTEND).tolist() == [50, 90_000]


class TestTraceOrder:
    def test_is_by_release_then_submission_then_number(self):
        rows = [job(11, 5, 1, 1), job(9, 5, 1, 1), job(2, 1, 1, 1, eligible_s=5), job(1, 6, 1, 1)]
        assert in_trace_order(trace(rows).reverse())["job_id"].to_list() == ["2", "9", "11", "1"]

    def test_is_natural_where_an_id_is_not_a_number(self):
        rows = [job("10", 0, 1, 1, source_file="a"), job("x", 0, 1, 1, source_file="a", source_line=2)]
        rows += [job("9_2", 0, 1, 1, source_file="b", source_line=1), job("9_11", 0, 1, 1, source_file="a")]
        assert in_trace_order(trace(rows).reverse())["job_id"].to_list() == ["9_2", "9_11", "10", "x"]

    def test_attempts_of_one_job_keep_their_order(self):
        rows = [job(1, 0, 1, 1, attempt=attempt, source_line=1) for attempt in (1, 2, 3)]
        assert in_trace_order(trace(rows).reverse())["attempt"].to_list() == [1, 2, 3]

    @given(jobs(), st.randoms(use_true_random=False))
    @settings(deadline=None)
    def test_does_not_depend_on_the_rows_handed_in(self, frame, random):
        order = list(range(frame.height))
        random.shuffle(order)
        assert in_trace_order(frame[order]).equals(frame)
