"""Expected ends of running jobs, against the rule searched second by second."""

from itertools import chain, count

import numpy as np
import pytest

from hpcopt_assets.measures.requests import expected_end_s, request_over_runtime

HOUR_S = 3600
AFTER_THE_REQUEST_S = (0, 60, 300, 900, 1800, *(hours * HOUR_S for hours in (1, 2, 5, 10, 20, 50, 100)))


@pytest.mark.parametrize("age_s", [0, 9, 10, 69, 70, 180_009, 180_010, 360_009, 360_010, 1_080_010])
def test_the_end_expected_is_the_first_that_lies_ahead(age_s: int):
    start_s, limit_s = 1000, 10
    now_s = start_s + age_s
    later = chain(AFTER_THE_REQUEST_S, count(200 * HOUR_S, 100 * HOUR_S))
    wanted = next(end for end in (start_s + limit_s + each for each in later) if end > now_s)
    assert expected_end_s(np.array([start_s]), np.array([limit_s]), now_s).tolist() == [wanted]


def test_a_runtime_of_no_second_counts_as_one():
    ratio = request_over_runtime(np.array([10, 10, 10]), np.array([5, 0, 20]))
    assert ratio.tolist() == [2.0, 10.0, 0.5]
