"""The three values: what passes, what fails, and that lack of evidence is never a pass."""

import math
from itertools import combinations

import pytest

from hpcopt_assets.contracts.verdicts import combine, in_figures, judge
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
    made = judge(1.0, "at most", 0.2, unit="ratio", count=30, needed=30, what="divergence")
    assert made.reason == "divergence: 1, at most 0.2 allowed"
    few = judge(1.0, "at most", 0.2, unit="ratio", count=3, needed=5, what="waits", counted="bins")
    assert few.reason == "waits: 3 bins, 5 needed"


def test_combining():
    assert combine([]) is Verdict.NOT_ASSESSED
    for size in (1, 2, 3):
        for found in combinations(Verdict, size):
            worst = next(v for v in (Verdict.FAIL, Verdict.NOT_ASSESSED, Verdict.PASS) if v in found)
            assert combine(found) is worst


def test_figures():
    assert [in_figures(value) for value in (None, 0.123456, -12.3456, 999.0, 1234.5, 0.0)] == [
        "unknown",
        "0.1235",
        "-12.35",
        "999",
        "1,234",
        "0",
    ]
