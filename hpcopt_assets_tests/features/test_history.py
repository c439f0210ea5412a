"""History as of an instant, against a loop over all pairs of jobs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.features.history import NOBODY, RECENT, Past

JOBS = st.lists(
    st.tuples(
        st.sampled_from([NOBODY, 0, 0, 1, 2]),  # group
        st.integers(0, 12),  # event
        st.booleans(),  # whether there is one
        st.integers(0, 12),  # now
        st.integers(0, 9),  # value
    ),
    min_size=1,
    max_size=12,
)


def known(rows: list[tuple[int, int, bool, int, int]], job: int) -> list[int]:
    """Values of the events of the job's group at or before its instant, by (event, position)."""
    group, now = rows[job][0], rows[job][3]
    events = [
        (event, position, value)
        for position, (other, event, there, _, value) in enumerate(rows)
        if there and other == group != NOBODY and event <= now
    ]
    return [value for _, _, value in sorted(events)]


@given(JOBS)
def test_what_is_known_is_what_had_come(rows):
    group, event, there, now, value = (np.array(column) for column in zip(*rows, strict=True))
    past = Past.of(group, event, there.astype(bool), now)
    values = value.astype(float)
    for job in range(len(rows)):
        had = known(rows, job)
        assert past.count[job] == len(had)
        assert past.total(values)[job] == sum(had)
        found = {
            "last": past.last(values)[job],
            "previous": past.last(values, back=1)[job],
            "mean": past.mean(values)[job],
            "recent": past.recent_mean(values)[job],
            "median": past.median(values)[job],
            "spread": past.spread(values)[job],
        }
        expected = {
            "last": had[-1] if had else np.nan,
            "previous": had[-2] if len(had) > 1 else np.nan,
            "mean": np.mean(had) if had else np.nan,
            "recent": np.mean(had[-RECENT:]) if had else np.nan,
            "median": np.median(had) if had else np.nan,
            "spread": np.std(had) if had else np.nan,
        }
        assert found == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_an_event_at_this_very_instant_is_known():
    past = Past.of(np.array([0, 0]), np.array([5, 9]), np.array([True, True]), np.array([5, 4]))
    assert past.count.tolist() == [1, 0]
