"""What a verdict hangs on: flips are named, and what could not be told is no flip and no pass."""

import pytest

from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.dossier.markdown import markdown
from hpcopt_assets.dossier.trials import sensitivity, stress
from hpcopt_assets_tests.dossier import helpers
from hpcopt_assets_tests.dossier.helpers import evidence


@pytest.mark.parametrize(
    ("verdict", "has_flipped", "row"),
    [
        ("PASS", True, "| tau_s | 60 | 1 | 0 | 0 | fifo_strict: FAIL to PASS |"),
        ("FAIL", False, "| tau_s | 60 | 0 | 1 | 0 | none |"),
        ("NOT_ASSESSED", None, "| tau_s | 60 | 0 | 0 | 1 | none |"),
    ],
)
def test_a_flip_is_named_and_what_is_not_known_is_none(verdict, has_flipped, row):
    text = markdown(sensitivity(evidence(sensitivity=helpers.sensitivity(verdict, has_flipped=has_flipped))))
    assert row in text
    assert f"{1 if has_flipped else 0} verdict" in text
    assert "| tau_s | 10 |" not in text


def test_stress_shows_what_becomes_of_a_policy_and_what_breaks():
    text = markdown(stress(evidence()))
    assert "Scenario burst shock, which moves arrival peak. From stress_replays." in text
    row = "| fifo_strict | 2 | 1.98 x | 3 x | 1.5 x | +25 % | -12.5 % | **FAIL** | primary_gain | **PASS** |"
    assert row in text


def test_a_trace_that_cannot_carry_a_scenario_passes_nothing():
    unknown = dict.fromkeys(("stressed_p95_bsld", "p95_bsld_times", "mean_wait_times", "stressed_gain_ratio"))
    demands = helpers.judged_by_demand("NOT_ASSESSED")
    text = markdown(stress(evidence(stress=helpers.stress(**unknown, **demands, invariants="NOT_ASSESSED"))))
    assert (
        "| not known | not known | +25 % | not known | **NOT_ASSESSED** | none | **NOT_ASSESSED** |" in text
    )


def test_nothing_tried_is_said():
    nothing = evidence(sensitivity=SENSITIVITY.empty(), stress=STRESS_REPLAYS.empty())
    assert "No decision was tried otherwise." in markdown(sensitivity(nothing))
    assert "No scenario was replayed." in markdown(stress(nothing))
