"""Sensitivity and stress over all traces: who flips where, who holds, and nothing where nothing was tried."""

import polars as pl

from hpcopt_assets.contracts.stress_tables import STRESS_REPLAYS
from hpcopt_assets.dossier.across import AcrossEvidence
from hpcopt_assets.dossier.hardship import sensitivity, stress
from hpcopt_assets.dossier.markdown import markdown
from hpcopt_assets_tests.dossier import verdicts
from hpcopt_assets_tests.dossier.across import across


def on(**by_trace: dict[str, pl.DataFrame]) -> AcrossEvidence:
    """Traces with these tables."""
    tables = {
        trace: {name: frame.with_columns(trace_id=pl.lit(trace)) for name, frame in found.items()}
        for trace, found in by_trace.items()
    }
    return across(traces=tuple(by_trace), tables=tables)


def stressed(**told: str) -> pl.DataFrame:
    """The baseline and a candidate in three severities, the candidate's verdicts as given (PASS else)."""
    frames = []
    for severity in (1, 2, 3):
        own = {"severity": severity, "reached_factor": float(severity)}
        mine = own | {"verdict": told.get(f"at_{severity}", "PASS")}
        frames.append(verdicts.stress(**mine, unstressed_verdict=told.get("unstressed", "PASS")))
        frames.append(verdicts.stress(**own, policy="easy_backfill", p95_bsld_times=10.0 * severity))
    return pl.concat(frames)


def line(trace: str, evidence: AcrossEvidence) -> str:
    return next(row for row in markdown(stress(evidence)).splitlines() if f"| {trace} |" in row)


def test_whose_verdict_flips_is_named_by_decision_and_trace():
    told = markdown(
        sensitivity(
            on(
                one={"sensitivity": verdicts.sensitivity("PASS", has_flipped=True)},
                two={"sensitivity": verdicts.sensitivity("FAIL", has_flipped=False)},
                three={"sensitivity": verdicts.sensitivity("NOT_ASSESSED", has_flipped=None)},
                four={},
            )
        )
    )
    cells = "fifo_strict to PASS | none | none; 1 cannot be told | no evidence"
    assert f"| least runtime in bounded slowdown (s) | 60 | {cells} |" in told.replace("\\", "")
    assert "1 of 3 verdicts flip from PASS to FAIL or back, 1 cannot be told" in told
    assert "Whose verdict never flips, on any trace: none." in told


def test_who_never_flips_is_firm_only_where_everything_could_be_told():
    firm = on(one={"sensitivity": verdicts.sensitivity("FAIL", has_flipped=False)})
    assert "on any trace: fifo_strict." in markdown(sensitivity(firm)).replace("\\", "")


def test_who_holds_in_all_severities_is_told_from_who_does_not():
    told = on(
        keeps={"stress_replays": stressed(unstressed="FAIL")},
        loses={"stress_replays": stressed(at_3="FAIL", at_2="NOT_ASSESSED")},
        never={"stress_replays": stressed(at_1="FAIL", unstressed="FAIL")},
        open={"stress_replays": stressed(at_3="NOT_ASSESSED")},
        gone={},
    )
    starts = "1, 2, 3 | 10, 20, 30"
    for trace, cells in {
        "keeps": "fifo_strict | none",
        "loses": "none | fifo_strict",
        "never": "none | none",
        "open": "none | none; cannot be told: fifo_strict",
    }.items():
        row = line(trace, told).replace("\\", "")
        assert f"| burst shock | {trace} | {starts} | {cells} | **PASS** |" in row
    assert "No evidence on gone." in markdown(stress(told))


def test_a_broken_rule_shows_and_what_is_not_known_is_no_number():
    worse = stressed().with_columns(
        invariants=pl.when(pl.col("severity") == 2).then(pl.lit("FAIL")).otherwise("invariants"),
        p95_bsld_times=pl.when(pl.col("severity") < 3).then("p95_bsld_times"),
    )
    row = line("one", on(one={"stress_replays": worse}))
    assert "10, 20, not known" in row
    assert "**FAIL**" in row


def test_nothing_tried_is_said():
    for nothing in (on(), on(one={}), on(one={"stress_replays": STRESS_REPLAYS.empty()})):
        assert "cannot be told" in markdown(stress(nothing))
        assert "cannot be told" in markdown(sensitivity(nothing))
