"""What the dossier says of another day: a gain survives only where an interval shows it."""

import pytest

from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.dossier.markdown import markdown
from hpcopt_assets.dossier.robustness import robustness
from hpcopt_assets.dossier.summary import summary
from hpcopt_assets.dossier.survival import Survival, by_survival, relative
from hpcopt_assets_tests.dossier import verdicts
from hpcopt_assets_tests.dossier.helpers import evidence
from hpcopt_assets_tests.dossier.verdicts import claims

ZERO_WITHIN = {"lower": -2.0, "upper": 0.5}
WEEKS_ZERO_WITHIN = {"block_lower": -2.0, "block_upper": 0.5}


def told(**changes):
    return evidence(robustness=verdicts.robustness(**changes))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, Survival.BOTH),
        ({"upper": 0.0}, Survival.WEEKS_ONLY),
        (ZERO_WITHIN, Survival.WEEKS_ONLY),
        (WEEKS_ZERO_WITHIN, Survival.SHAKING_ONLY),
        (ZERO_WITHIN | WEEKS_ZERO_WITHIN, Survival.NEITHER),
        ({"difference": 0.0}, Survival.NO_GAIN),
        ({"difference": 2.0}, Survival.NO_GAIN),
        ({"lower": None, "upper": None}, Survival.UNKNOWN),
        ({"block_lower": None, "block_upper": None}, Survival.UNKNOWN),
        ({"difference": None}, Survival.UNKNOWN),
    ],
)
def test_a_gain_survives_where_intervals_show_it_and_nowhere_else(changes, word):
    found = told(**changes)
    assert {name for name, policies in by_survival(found).items() if policies} == {word}
    assert f"- **{word.sentence} (1).** fifo_strict." in markdown(robustness(found))


def test_the_summary_begins_with_what_survives():
    first = markdown(summary(evidence())).splitlines()[0]
    assert first.startswith("- **What survives.** 1 candidate of 1 lowers the 95th percentile of bounded")
    assert "Survives shaking and other weeks: fifo_strict." in first
    assert "confirmed on the rest of the record: none." in first
    assert first.endswith("with every constraint kept: none.")
    confirmed = markdown(summary(evidence(claims=claims(confirmation="PASS")))).splitlines()[0]
    assert "confirmed on the rest of the record: fifo_strict." in confirmed
    accepted = markdown(summary(evidence(claims=claims(outcome="ACCEPTED")))).splitlines()[0]
    assert accepted.endswith("with every constraint kept: fifo_strict.")


def test_without_a_gain_nothing_can_survive():
    first = markdown(summary(told(difference=1.0))).splitlines()[0]
    assert "0 candidates of 1 lower" in first
    assert "there is no gain to survive" in first
    assert "urvives" not in first.replace("What survives", "")


def test_a_candidate_has_a_row_with_both_intervals_in_the_measures_own_unit():
    rows = [line for line in markdown(robustness(evidence())).splitlines() if line.startswith("| fifo")]
    assert len(rows) == 2
    assert rows[0] == (
        "| fifo_strict | -1 | -25 % | -2 to -0.5 | -3 to -0.2 | 99.5 % | yes | 97 % (gain) | survives both "
        "| **PASS** |"
    )
    assert rows[1] == rows[0].replace("**PASS**", "**NOT_ASSESSED**")  # not chosen, so not confirmed


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"is_artefact": True, "difference": -9.0}, "no: better than its replicas"),
        ({"is_artefact": True, "difference": -0.1}, "no: worse than its replicas"),
        ({"is_artefact": None}, "cannot be told"),
    ],
)
def test_a_replay_that_is_not_typical_is_named(changes, word):
    assert f"| {word} |" in markdown(robustness(told(**changes)))


def test_without_intervals_none_is_shown():
    text = markdown(robustness(told(lower=None, upper=None)))
    assert "| fifo_strict | -1 | -25 % | not known | -3 to -0.2 |" in text


def test_how_it_was_done_is_told_with_its_numbers():
    text = markdown(robustness(evidence()))
    for words in (
        "on 200 copies",
        "2 % longer or shorter",
        "the 12 weeks of the window",
        "(95 %)",
        "Intervals at 95 %.",
    ):
        assert words in text
    assert "From robustness, shaken_measures, claim_verdicts." in text
    assert ROBUSTNESS.name in text


@pytest.mark.parametrize(("change", "baseline"), [(None, 4.0), (1.0, None), (1.0, 0.0)])
def test_no_share_of_nothing(change, baseline):
    assert relative(change, baseline) is None
