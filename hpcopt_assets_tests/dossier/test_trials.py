"""What a verdict hangs on: flips are named, and what could not be told is no flip and no pass."""

import polars as pl
import pytest

from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.contracts.stress_words import Varied
from hpcopt_assets.contracts.vocabulary import ClaimCriterion
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Figure, Table
from hpcopt_assets.dossier.markdown import markdown
from hpcopt_assets.dossier.trials import in_order, sensitivity, stress
from hpcopt_assets_tests.dossier import verdicts
from hpcopt_assets_tests.dossier.helpers import evidence

TAU, GAIN = words.VARIED[Varied.TAU_S], words.CLAIM[ClaimCriterion.PRIMARY_GAIN]


@pytest.mark.parametrize(
    ("verdict", "has_flipped", "row"),
    [
        ("PASS", True, "60 | 1 | 0 | 0 | fifo_strict: FAIL to PASS |"),
        ("FAIL", False, "60 | 0 | 1 | 0 | none |"),
        ("NOT_ASSESSED", None, "60 | 0 | 0 | 1 | none |"),
    ],
)
def test_a_flip_is_named_and_what_is_not_known_is_none(verdict, has_flipped, row):
    text = markdown(sensitivity(evidence(sensitivity=verdicts.sensitivity(verdict, has_flipped=has_flipped))))
    assert f"| {TAU} | {row}" in text
    assert f"{1 if has_flipped else 0} verdict" in text
    assert f"| {TAU} | 10 |" not in text


def test_stress_shows_what_becomes_of_a_policy_and_what_breaks():
    text = markdown(stress(evidence()))
    assert "Scenario burst shock, which moves arrival peak. From stress_replays." in text
    row = f"| fifo_strict | 2 | 1.98 x | 3 x | 1.5 x | +25 % | -12.5 % | **FAIL** | {GAIN} | **PASS** |"
    assert row in text


def test_demands_are_of_candidates_and_the_baseline_is_what_they_are_held_against():
    table = pl.concat([verdicts.stress(), verdicts.stress(policy="easy_backfill", verdict="NOT_ASSESSED")])
    text = markdown(stress(evidence(stress=table)))
    assert "| easy_backfill | 2 | 1.98 x | 3 x | 1.5 x |  |  | the baseline |  | **PASS** |" in text


def test_each_scenario_that_was_replayed_has_its_picture_first():
    blocks = stress(evidence())
    picture = next(block for block in blocks if isinstance(block, Figure))
    assert picture.file_name == "burst_shock.svg"
    assert isinstance(blocks[blocks.index(picture) + 1], Table)
    assert sum(isinstance(block, Figure) for block in blocks) == 1


def test_settings_stand_by_their_size_whatever_their_order_in_the_table():
    found = [("tau_s", "60"), ("guard_k", "1.5"), ("guard_k", "0.5"), ("overrun", "kill"), ("guard_k", "10")]
    assert in_order([*found, ("guard_k", "1.5")]) == [
        ("guard_k", "0.5"),
        ("guard_k", "1.5"),
        ("guard_k", "10"),
        ("tau_s", "60"),
        ("overrun", "kill"),
    ]


def test_a_trace_that_cannot_carry_a_scenario_passes_nothing():
    unknown = dict.fromkeys(("stressed_p95_bsld", "p95_bsld_times", "mean_wait_times", "stressed_gain_ratio"))
    demands = verdicts.judged_by_demand("NOT_ASSESSED")
    text = markdown(stress(evidence(stress=verdicts.stress(**unknown, **demands, invariants="NOT_ASSESSED"))))
    assert (
        "| not known | not known | +25 % | not known | **NOT_ASSESSED** | none | **NOT_ASSESSED** |" in text
    )


def test_nothing_tried_is_said():
    nothing = evidence(sensitivity=SENSITIVITY.empty(), stress=STRESS_REPLAYS.empty())
    assert "No decision was tried otherwise." in markdown(sensitivity(nothing))
    assert "No scenario was replayed." in markdown(stress(nothing))
