"""Nothing follows from what is not known."""

import pytest

from hpcopt_assets.measures.unknown import less, over


@pytest.mark.parametrize(
    ("one", "other", "difference", "ratio"),
    [
        (6.0, 2.0, 4.0, 3.0),
        (0, 2, -2, 0),
        (2.0, 0.0, 2.0, None),
        (None, 2.0, None, None),
        (2.0, None, None, None),
    ],
)
def test_differences_and_ratios(one, other, difference, ratio):
    assert less(one, other) == difference
    assert over(one, other) == ratio
