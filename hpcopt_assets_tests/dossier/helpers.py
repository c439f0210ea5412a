"""Evidence for a small trace, made by hand, that a test changes where it is about something.

In:  changes by field.   Out: a valid TraceEvidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from hpcopt_assets.contracts import tables
from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.config import FidelityConfig, ObjectiveConfig, PoliciesConfig
from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.forecast_tables import (
    ESTIMATE_ACCOUNTING,
    FEATURE_SPLITS,
    FORECAST_SCORES,
    RUNTIME_IMPORTANCE,
    RUNTIME_MODEL,
)
from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.robustness_tables import BETTER, ROBUSTNESS, WINDOWS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.stress_config import SensitivityConfig, StressConfig
from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.finished import Dossier
from hpcopt_assets.dossier.trace import build_trace_dossier
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.table import measure_all
from hpcopt_assets_tests.builders import job, trace

CONFIGS = Path(__file__).parents[2] / "configs"
TRACE_ID = "made"
CAPACITY = 8
START_S = 1_000_000_000
JOBS = 60
QUARTER = "2001-Q3"
FASTER = {"fifo_strict": 1.0, "easy_backfill": 0.5, "easy_clairvoyant": 0.25}
# Waits of each replay, as a share of those observed.


class Page(HTMLParser):
    """Tags, attributes and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def config(name: str, model: type[Any]) -> Any:
    return model.model_validate(yaml.safe_load((CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")))


def policies() -> PoliciesConfig:
    """Of the shipped policies those that the evidence is about."""
    shipped = config("policies", PoliciesConfig)
    kept = tuple(policy for policy in shipped.policies if policy.id in FASTER)
    return PoliciesConfig(strict=False, fidelity_baselines=shipped.fidelity_baselines, policies=kept)


def rows(table: Table, content: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """A frame within its contract, the trace id filled in."""
    full = [{"trace_id": TRACE_ID} | row for row in content]
    frame = table.shape(pl.DataFrame(full, schema=table.polars_schema()))
    validate(table, frame)
    return frame


def jobs() -> pl.DataFrame:
    return trace(
        job(
            i,
            START_S + 600 * i,
            1 + i % 4,
            1800 + 60 * i,
            7200,
            wait_s=0 if i % 3 == 0 else 120 * i,
            user=f"user{i % 3}",
            quality_flags=[v.QualityFlag.ZERO_REQUEST] if i == 5 else [],
        )
        for i in range(JOBS)
    )


def schedule(policy: str, observed: pl.DataFrame, faster: float) -> pl.DataFrame:
    """The observed schedule with its waits shortened; the widest last job is left out."""
    last = observed["job_id"][-1]
    content = []
    for row in observed.iter_rows(named=True):
        wait_s = int(row["wait_s"] * faster)
        left_out = row["job_id"] == last
        start_s = None if left_out else row["release_s"] + wait_s
        content.append(
            {
                "policy": policy,
                **{
                    name: row[name]
                    for name in ("job_id", "attempt", "submit_s", "release_s", "procs", "user")
                },
                "start_s": start_s,
                "end_s": None if start_s is None else start_s + row["runtime_s"],
                "wait_s": None if left_out else wait_s,
                "runtime_s": None if left_out else row["runtime_s"],
                "limit_s": None if left_out else row["requested_runtime_s"],
                "estimate_s": None if left_out else row["requested_runtime_s"],
                "estimate_source": None if left_out else v.EstimateSource.REQUEST,
                "left_out": v.LeftOut.WIDER_THAN_MACHINE if left_out else None,
            }
        )
    return rows(tables.REPLAY_SCHEDULE, content)


def report(**changes: Any) -> pl.DataFrame:
    facts = {
        "format": v.TraceFormat.SWF,
        "files_count": 1,
        "unselected_jobs_count": 0,
        "capacity_unit": v.Unit.PROCS,
        "capacity_step_at_s": [],
        "capacity_step_procs": [],
        "sha256": "a" * 64,
        "lines_count": JOBS + 10,
        "header_lines_count": 4,
        "comment_lines_count": 2,
        "blank_lines_count": 1,
        "job_lines_count": JOBS,
        "rejects_count": 3,
        "jobs_count": JOBS,
        "started_jobs_count": JOBS,
        "computer": "Cray & Sons",
        "installation": "A site",
        "timezone": "Europe/Stockholm",
        "notes": ["first note"],
        "unix_start_s": START_S,
        "first_release_s": START_S,
        "last_end_s": START_S + 90_000,
        "capacity_procs": CAPACITY,
        "capacity_source": v.CapacitySource.HEADER,
        "observed_peak_procs": 9,
        "observed_over_capacity_s": 7200,
        "is_synthetic": False,
    }
    return rows(tables.INGEST_REPORT, [facts | changes])


def rejects(text: str = "1 2 x") -> pl.DataFrame:
    codes = (v.RejectCode.NOT_A_NUMBER, v.RejectCode.NOT_A_NUMBER, v.RejectCode.TOO_FEW_FIELDS)
    return rows(
        tables.TRACE_REJECTS,
        (
            {
                "source_file": "made.swf",
                "source_line": 100 + i,
                "code": code,
                "reason": f"found {text}, a number needed",
                "text": text,
            }
            for i, code in enumerate(codes)
        ),
    )


def judged(criterion: str, verdict: str, reason: str) -> dict[str, Any]:
    assessed = verdict != v.Verdict.NOT_ASSESSED
    return {
        "criterion": criterion,
        "verdict": verdict,
        "measured": 0.51234 if assessed else None,
        "limit": 0.2,
        "unit": "ratio",
        "evidence_count": 12_345 if assessed else 3,
        "reason": reason,
    }


def fidelity(**overall: str) -> pl.DataFrame:
    """Every criterion for every policy; `overall` gives verdicts by policy, FAIL where it says nothing.

    So over the whole trace; in the one quarter there is, nothing could be assessed.
    """
    return rows(
        tables.FIDELITY_VERDICTS,
        (
            {"policy": policy, "period": period}
            | judged(
                criterion,
                verdict,
                f"{criterion} of {policy} is judged so{'' if period == v.WHOLE else f' in {period}'}",
            )
            for policy in FASTER
            for period, said in ((v.WHOLE, overall.get(policy, "FAIL")), (QUARTER, "NOT_ASSESSED"))
            for criterion in v.FidelityCriterion.words()
            for verdict in [_fidelity_verdict(criterion, said)]
        ),
    )


def _fidelity_verdict(criterion: str, overall: str) -> str:
    if criterion == v.FidelityCriterion.OBSERVED_WITHIN_CAPACITY:
        return v.Verdict.NOT_ASSESSED
    return overall if criterion in ("overall", "mean_wait") else v.Verdict.PASS


def claims(policy: str = "fifo_strict", outcome: str | None = "BLOCKED", **verdicts: str) -> pl.DataFrame:
    """Every criterion for one candidate and for the bound; verdicts by criterion, PASS else."""
    given = {
        "confirmation": "NOT_ASSESSED",
        "baseline_fidelity": "FAIL",
        "overall": "NOT_ASSESSED",
    } | verdicts
    content = []
    for who in dict.fromkeys((policy, "easy_clairvoyant")):
        for criterion in v.ClaimCriterion.words():
            verdict = given.get(criterion, "PASS") if who == policy else "NOT_ASSESSED"
            row = judged(criterion, verdict, f"{criterion} reason of {who}")
            is_claim = criterion == "overall" and who == policy
            content.append(
                {"policy": who, "baseline": "easy_backfill", "outcome": outcome if is_claim else None} | row
            )
    return rows(tables.CLAIM_VERDICTS, content)


def invariants() -> pl.DataFrame:
    return rows(
        tables.INVARIANT_REPORT,
        (
            {
                "policy": policy,
                "invariant": invariant,
                "verdict": "PASS",
                "checked_count": JOBS - 1,
                "violations_count": 0,
                "job_id": None,
                "at_s": None,
                "found": None,
                "allowed": None,
            }
            for policy in FASTER
            for invariant in v.Invariant.words()
        ),
    )


def raw_trace() -> pl.DataFrame:
    file = {"source_file": "made.swf", "format": v.TraceFormat.SWF, "sha256": "c" * 64, "size_bytes": 1234}
    return rows(tables.RAW_TRACE, [file | {"entry": "{}"}])


def robustness(policy: str = "fifo_strict", **changes: Any) -> pl.DataFrame:
    """Every window and measure of one candidate: a gain that both intervals show, unless told otherwise."""
    content = {
        "policy": policy,
        "baseline": "easy_backfill",
        "jobs_count": JOBS,
        "baseline_value": 4.0,
        "policy_value": 3.0,
        "difference": -1.0,
        "replicas_count": 200,
        "shaken_baseline_value": 5.0,
        "mean_difference": -1.25,
        "p25_difference": -1.5,
        "p50_difference": -1.25,
        "p75_difference": -1.1,
        "improved_ratio": 0.995,
        "met_ratio": 0.97,
        "is_artefact": False,
        "blocks_count": 12,
        "confidence": 0.95,
        "candidates_count": None,
        "lower": -2.0,
        "upper": -0.5,
        "block_lower": -3.0,
        "block_upper": -0.2,
    } | changes
    return rows(
        ROBUSTNESS,
        (content | {"time_window": window, "measure": measure} for window in WINDOWS for measure in BETTER),
    )


def recommendation(**changes: Any) -> pl.DataFrame:
    """The baseline, and one candidate that is blocked."""
    shared = {
        "outcome": None,
        "is_baseline": False,
        "is_recommended": False,
        "rank": None,
        "shaken_gain_ratio": None,
        "p95_bsld": 4.0,
        "utilisation_ratio": 0.7,
        "mean_wait_s": 1200.0,
        "jain_service": 0.5,
        "starved_ratio": 0.01,
        "is_on_front": True,
        "dominated_by": None,
        "failed": None,
        "open": None,
        "improved": None,
        "worsened": None,
        "reason": "No candidate passes everything: none is recommended.",
    }
    candidate = {
        "policy": "fifo_strict",
        "outcome": "BLOCKED",
        "shaken_gain_ratio": 0.25,
        "is_on_front": False,
        "dominated_by": "easy_backfill",
        "failed": "fairness",
        "open": "confirmation",
        "improved": "p95_bsld 4 -> 3 (-25 %)",
        "worsened": "jain_service 0.5 -> 0.4 (-20 %)",
        "reason": "Not recommended: it does not meet fairness.",
    }
    baseline = shared | {"policy": "easy_backfill", "is_baseline": True}
    return rows(RECOMMENDATION, [baseline, shared | candidate | changes])


def forecasts() -> dict[str, pl.DataFrame]:
    """Splits, models, importance, scores and accounts of a log on which one fold could be made."""
    window = {name: START_S + 1000 * i for i, name in enumerate(SPLIT_TIMES)}
    counts = {"fit_jobs_count": 30, "calibrate_jobs_count": 10, "score_jobs_count": 20}
    splits = [
        window | counts | {"fold": 1, "is_made": True, "note": None},
        window | counts | {"fold": 2, "is_made": False, "note": "3 jobs had ended, 1,000 needed"},
    ]
    model = {
        "fold": 1,
        "inputs": "replay",
        "quantile": "p50",
        "rounds_count": 40,
        "fit_jobs_count": 30,
        "stopping_loss": 0.25,
        "parity_ratio": 1e-7,
        "sha256": "d" * 64,
        "features": ["procs", "limit_s"],
        "onnx": b"onnx",
    }
    importance = [
        {"fold": 1, "quantile": "p50", "feature": name, "gain_ratio": gain, "permutation_loss_s": loss}
        for name, gain, loss in (("limit_s", 0.7, 321.5), ("procs", 0.3, 12.5))
    ]
    return {
        "splits": rows(FEATURE_SPLITS, splits),
        "model": rows(RUNTIME_MODEL, [model]),
        "importance": rows(RUNTIME_IMPORTANCE, importance),
        "scores": rows(FORECAST_SCORES, _scores()),
        "accounting": ESTIMATE_ACCOUNTING.empty(),
    }


SPLIT_TIMES = ("stopping_from_s", "cutoff_s", "score_from_s", "score_until_s")


def _scores() -> Iterable[dict[str, Any]]:
    shared = {
        "fold": 0, "band": "all", "weighting": "job", "versus": None, "unit": "s",
        "lower": None, "upper": None, "jobs_count": 20, "note": None,
    }  # fmt: skip
    for predictor, error in (("model", 1800.0), ("request", 7200.0), ("user_request", 3600.0)):
        yield shared | {"predictor": predictor, "measure": "mae", "value": error}
    yield shared | {
        "predictor": "model", "measure": "coverage_capped", "value": 0.8125, "unit": "ratio",
    }  # fmt: skip
    yield shared | {
        "predictor": "model", "measure": "pinball_p50", "versus": "request",
        "value": -2700.0, "lower": -3000.0, "upper": -2000.0, "note": "largest: a day",
    }  # fmt: skip


def judged_by_demand(verdict: str) -> dict[str, str]:
    return {demand.value: verdict for demand in v.DEMANDS} | {"verdict": verdict}


def sensitivity(verdict: str = "PASS", *, has_flipped: bool | None = True) -> pl.DataFrame:
    """One decision as configured and taken otherwise."""
    shared = {
        "policy": "fifo_strict",
        "baseline": "easy_backfill",
        "varied": "tau_s",
        "jobs_count": JOBS,
        "excluded_count": 0,
        "baseline_value": 4.0,
        "policy_value": 3.0,
        "gain_ratio": 0.25,
        "default_verdict": "FAIL",
        "reason": "as it is",
    }
    default = shared | {"setting": "10", "is_default": True, "has_flipped": False}
    other = shared | {"setting": "60", "is_default": False, "has_flipped": has_flipped}
    return rows(SENSITIVITY, [default | judged_by_demand("FAIL"), other | judged_by_demand(verdict)])


def stress(**changes: Any) -> pl.DataFrame:
    """One policy under one scenario; null where nothing is told."""
    row: dict[str, Any] = dict.fromkeys(STRESS_REPLAYS.names) | {
        "policy": "fifo_strict",
        "baseline": "easy_backfill",
        "scenario": "burst_shock",
        "severity": 2,
        "statistic": "arrival_peak",
        "asked_factor": 2.0,
        "reached_factor": 1.98,
        "jobs_count": JOBS,
        "stressed_p95_bsld": 9.0,
        "p95_bsld_times": 3.0,
        "mean_wait_times": 1.5,
        "unstressed_gain_ratio": 0.25,
        "stressed_gain_ratio": -0.125,
        "unstressed_verdict": "PASS",
        "violations_count": 0,
        "invariants": "PASS",
        "reason": "primary_gain",
    }
    verdicts = judged_by_demand("PASS") | {"verdict": "FAIL", "primary_gain": "FAIL"}
    del row["trace_id"]
    return rows(STRESS_REPLAYS, [row | verdicts | changes])


def closeness() -> pl.DataFrame:
    content = []
    for period in (v.WHOLE, QUARTER):
        for rank, policy in enumerate(("easy_backfill", "fifo_strict"), start=1):
            content.append(
                {
                    "period": period,
                    "policy": policy,
                    "rank": rank,
                    "distance": 1.5 + rank,
                    "jobs_count": JOBS - 1,
                    "fidelity": "FAIL",
                    "reason": f"{policy} is number {rank} in {period}",
                }
            )
    return rows(tables.POLICY_CLOSENESS, content)


def lineage() -> tuple[Materialization, ...]:
    def made(record_id: int, asset: str, *read: tuple[int, str, str]) -> Materialization:
        inputs = tuple(InputVersion(asset, record, version) for record, asset, version in read)
        return Materialization(
            asset=asset,
            partition=TRACE_ID,
            record_id=record_id,
            at_s=1_700_000_000.25 + record_id,
            run_id="0f7c2a10-run",
            code_version=f"code{record_id}" + "0" * 20,
            data_version=f"data{record_id}" + "0" * 20,
            rows_count=JOBS,
            inputs=inputs,
        )

    raw = made(7, "raw_trace")
    table = made(11, "trace_jobs", (7, "raw_trace", "data7" + "0" * 20))
    return raw, table, made(15, "replay/easy_backfill", (11, "trace_jobs", "data11" + "0" * 20))


NAMED = {
    "raw": "raw_trace",
    "report": "ingest_report",
    "rejects": "trace_rejects",
    "jobs": "trace_jobs",
    "measures": "replay_measures",
    "invariants": "invariant_report",
    "fidelity": "fidelity_verdicts",
    "closeness": "policy_closeness",
    "robustness": "robustness",
    "claims": "claim_verdicts",
    "recommendation": "recommendation",
    "splits": "feature_splits",
    "model": "runtime_model",
    "importance": "runtime_importance",
    "scores": "forecast_scores",
    "accounting": "estimate_accounting",
    "sensitivity": "sensitivity",
    "stress": "stress_replays",
}
# What tests call a table, and its asset.


def evidence(**changes: Any) -> TraceEvidence:
    """Valid evidence; a table (by a name of `NAMED`, or `schedules`), else a field, replaces what is here."""
    observed = changes.get("jobs", jobs())
    objective = config("objective", ObjectiveConfig)
    schedules = {policy: schedule(policy, jobs(), faster) for policy, faster in FASTER.items()}
    made: dict[str, Any] = {
        "raw": raw_trace(),
        "report": report(),
        "rejects": rejects(),
        "jobs": observed,
        "measures": measure_all(
            trace_id=TRACE_ID,
            trace_jobs=observed,
            schedules=schedules,
            capacity=Capacity(CAPACITY),
            config=objective.measures,
        ),
        "invariants": invariants(),
        "fidelity": fidelity(),
        "closeness": closeness(),
        "robustness": robustness(),
        "claims": claims(),
        "recommendation": recommendation(),
        **forecasts(),
        "sensitivity": sensitivity(),
        "stress": stress(),
        "schedules": schedules,
    }
    fields: dict[str, Any] = {
        "trace_id": TRACE_ID,
        "errors": (),
        "policies": policies(),
        "objective": objective,
        "fidelity": config("fidelity", FidelityConfig),
        "robustness": config("robustness", RobustnessConfig),
        "forecast": config("forecast", ForecastConfig),
        "stress": config("stress", StressConfig),
        "sensitivity": config("sensitivity", SensitivityConfig),
        "lineage": lineage(),
        "environment": {"python": "3.11.2", "polars": "2.1.0"},
        "generated_at": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    }
    made |= {name: value for name, value in changes.items() if name in made}
    fields |= {name: value for name, value in changes.items() if name in fields.keys() - made.keys()}
    return TraceEvidence(tables=by_asset(made), **fields)


def by_asset(made: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """Tables by the names that tests use -> by asset; a table that is None is not there."""
    schedules = made.get("schedules", {})
    found = {NAMED[name]: frame for name, frame in made.items() if name in NAMED and frame is not None}
    return found | {f"replay/{policy}": frame for policy, frame in schedules.items()}


def changed(found: TraceEvidence, **made: Any) -> TraceEvidence:
    """The evidence with some of its tables replaced."""
    return replace(found, tables={**found.tables, **by_asset(made)})


@cache
def standard() -> Dossier:
    """The dossier of evidence without changes, made once."""
    return build_trace_dossier(evidence())
