"""Offered load: what is asked of the machine over what it has while jobs come."""

import numpy as np
import pytest

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.load import offered_load

RELEASE_S, RUNTIME_S, PROCS = np.array([0, 50, 100]), np.array([100, 200, 300]), np.array([1, 2, 3])


def test_by_hand():
    assert offered_load(RELEASE_S, RUNTIME_S, PROCS, Capacity(20)) == pytest.approx((100 + 400 + 900) / 2000)


def test_a_machine_that_shrinks_has_less():
    half = Capacity(20, ((50, 10),))
    assert offered_load(RELEASE_S, RUNTIME_S, PROCS, half) == pytest.approx(1400 / 1500)


def test_no_time_and_no_machine_have_no_load():
    nothing = np.array([], dtype=np.int64)
    assert offered_load(nothing, nothing, nothing, Capacity(20)) is None
    assert offered_load(RELEASE_S[:1], RUNTIME_S[:1], PROCS[:1], Capacity(20)) is None
    assert offered_load(RELEASE_S, RUNTIME_S, PROCS, Capacity(20, ((-1, 0),))) is None


def test_the_largest_jobs_of_the_contract_do_not_wrap():
    work = offered_load(np.array([0, 1]), np.array([2**40] * 2), np.array([2**24] * 2), Capacity(1))
    assert work == 2.0**65
