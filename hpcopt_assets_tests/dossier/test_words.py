"""Numbers and words for people."""

import pytest

from hpcopt_assets.contracts import forecast_words as fw
from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.numbers import UNKNOWN, count, date, duration, instant, real, share, span


@pytest.mark.parametrize(
    ("meanings", "vocabulary"),
    [
        (words.FIDELITY, v.FidelityCriterion),
        (words.CLAIM, v.ClaimCriterion),
        (words.INVARIANT, v.Invariant),
        (words.REJECT, v.RejectCode),
        (words.FLAG, v.QualityFlag),
        (words.LEFT_OUT, v.LeftOut),
        (words.SOURCE, v.EstimateSource),
        (words.CAPACITY, v.CapacitySource),
        (words.UNIT, v.Unit),
        (words.FORMAT, v.TraceFormat),
        (words.WINDOW, v.Window),
        (words.RESEMBLES, v.Verdict),
        (words.OUTCOME, v.Outcome),
        (words.PREDICTOR, fw.Predictor),
        (words.RUN, fw.EstimateRun),
    ],
)
def test_every_word_has_a_meaning(meanings, vocabulary):
    assert set(vocabulary) - set(meanings) == set()
    assert len(set(meanings.values())) == len(meanings)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (16_189.4, 3, "16,189"),
        (286.97, 3, "287"),
        (286.97, 5, "286.97"),
        (1_234.5678, 5, "1,234.6"),
        (0.75123, 3, "0.751"),
        (2.5, 3, "2.5"),
        (100.0, 3, "100"),
        (9.999, 3, "10"),
        (-0.05, 3, "-0.05"),
        (0.0, 3, "0"),
        (0.00001234, 3, "1.23e-05"),
        (float("nan"), 3, UNKNOWN),
        (float("inf"), 3, "infinite"),
        (None, 3, UNKNOWN),
    ],
)
def test_numbers(value, digits, text):
    assert real(value, digits) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (90, "1.5 min"),
        (16_189, "4.5 h"),
        (172_799, "48 h"),
        (172_800, "2 days"),
        (86_400_000, "1,000 days"),
        (-120, "-2 min"),
        (None, UNKNOWN),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_the_rest():
    assert (count(1_234_567), count(None)) == ("1,234,567", UNKNOWN)
    assert (share(0.7512), share(1.0), share(None)) == ("75.1 %", "100 %", UNKNOWN)
    assert (share(0.25, is_change=True), share(-0.25, is_change=True)) == ("+25 %", "-25 %")
    assert (span(-0.5, 0.1), span(None, 0.1)) == ("-0.5 to +0.1", UNKNOWN)
    assert instant(1_700_000_000.9) == "2023-11-14 22:13:20 UTC"
    assert (instant(None), date(0), date(None)) == (UNKNOWN, "1970-01-01", UNKNOWN)
