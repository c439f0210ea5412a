"""The three values: what passes, what fails, and that lack of evidence is never a pass."""

import math
from itertools import combinations

import pytest

from hpcopt_assets.contracts.verdicts import combine, judge
from hpcopt_assets.contracts.vocabulary import Verdict


def judged(measured, side, limit, count=30):
    return judge(measured, side, limit, unit="ratio", count=count, needed=30, what="a thing").verdict


def test_a_value_at_its_limit_passes():
    assert [judged(value, "at most", 0.2) for value in (0.1, 0.2, 0.21)] == ["PASS", "PASS", "FAIL"]
    assert [judged(value, "at least", 0.2) for value in (0.1, 0.2, 0.21)] == ["FAIL", "PASS", "PASS"]


@pytest.mark.parametrize("side", ["at most", "at least"])
def test_nothing_unknown_passes(side):
    assert judged(None, side, 0.2) is Verdict.NOT_ASSESSED
    assert judged(0.2, side, None) is Verdict.NOT_ASSESSED
    assert judged(0.2, side, 0.2, count=29) is Verdict.NOT_ASSESSED
    assert judged(math.nan, side, 0.2) is Verdict.FAIL


def test_the_reason_names_value_and_limit():
    about = {"unit": "ratio", "needed": 5, "what": "correlation", "beside": " of queues"}
    made = judge(1.0, "at most", 0.2, count=5, **about)
    assert made.reason == "correlation 1 of queues, at most 0.2 allowed"
    unknown = judge(None, "at least", 0.2, count=5, unknown="both are constant", **about)
    assert unknown.reason == "correlation of queues: both are constant"
    few = [judge(1.0, "at most", 0.2, count=n, counted=("bin", "bins"), **about).reason for n in (0, 1, 4)]
    assert few == [f"correlation of queues: {n}, 5 needed" for n in ("0 bins", "1 bin", "4 bins")]


def test_combining():
    assert combine([]) is Verdict.NOT_ASSESSED
    for size in (1, 2, 3):
        for found in combinations(Verdict, size):
            worst = next(v for v in (Verdict.FAIL, Verdict.NOT_ASSESSED, Verdict.PASS) if v in found)
            assert combine(found) is worst
