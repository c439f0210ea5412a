"""Crossing quantiles are put in order before anybody sees them.

Broken on purpose, and who noticed: no order; no cap at the request; the floor of one second dropped.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.forecast.quantiles import has_crossed, repaired

SECONDS = st.floats(-100, 5000)


def arrays(*values: float):
    return [np.array([value]) for value in values]


def test_a_crossed_prediction_is_rearranged_and_capped():
    p10_s, p50_s, p90_s = arrays(500.0, 480.0, 700.0)
    assert has_crossed(p10_s, p50_s, p90_s).tolist() == [True]
    found = repaired(p10_s, p50_s, p90_s, np.array([600.0]))
    assert [found.p10_s[0], found.p50_s[0], found.p90_s[0]] == [480, 500, 600]


def test_equal_quantiles_have_not_crossed():
    assert not has_crossed(*arrays(5.0, 5.0, 5.0)).any()
    assert has_crossed(*arrays(1.0, 6.0, 5.0)).all()


@given(SECONDS, SECONDS, SECONDS, st.floats(1, 3000), SECONDS, SECONDS)
def test_what_is_served_is_in_order_and_within_the_request(p10_s, p50_s, p90_s, limit_s, low, high):
    limit = np.array([limit_s])
    for found in (
        repaired(*arrays(p10_s, p50_s, p90_s), limit),
        repaired(*arrays(p10_s, p50_s, p90_s), limit).widened(*arrays(low, high), limit),
    ):
        assert 1 <= found.p10_s[0] <= found.p50_s[0] <= found.p90_s[0] <= limit_s


def test_other_tails_leave_the_median_alone():
    middle = repaired(*arrays(10.0, 20.0, 30.0), np.array([100.0]))
    moved = middle.widened(*arrays(25.0, 15.0), np.array([100.0]))
    assert [moved.p10_s[0], moved.p50_s[0], moved.p90_s[0]] == [20, 20, 20]
