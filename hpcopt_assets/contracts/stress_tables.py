"""The tables of stress and sensitivity, and which measures they hold.

In:  makers.py, stress_words.py.   Out: `STRESS_REPLAYS`, `SENSITIVITY`, `TIMES`, `CHANGES`.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.columns import Column, Rule, Table
from hpcopt_assets.contracts.makers import TRACE_ID, count, flag, real, text, word
from hpcopt_assets.contracts.measure_columns import MEASURES
from hpcopt_assets.contracts.stress_words import StressScenario, Varied, WorkloadStatistic
from hpcopt_assets.contracts.vocabulary import DEMANDS, Verdict

TIMES = {"p95_bsld": "p95_bsld_times", "mean_bsld": "mean_bsld_times", "mean_wait_s": "mean_wait_times"}
# Measures that may grow without bound -> the column of how many times the unstressed value they are.
CHANGES = {
    "utilisation_ratio": "utilisation_change",
    "starved_ratio": "starved_change",
    "jain_service": "jain_service_change",
}
# Shares -> the column of the stressed value less the unstressed one.
SHOWN = (*TIMES, *CHANGES)
POLICY = text("policy", "id of a policy in configs/policies.yaml")
BASELINE = text("baseline", "id of the policy it is held against")


def _measures(prefix: str, when: str) -> tuple[Column, ...]:
    by_name = {column.name: column for column in MEASURES}
    return tuple(
        Column(
            f"{prefix}{name}",
            by_name[name].dtype,
            f"{by_name[name].means}, {when}",
            by_name[name].unit,
            nullable=True,
            lo=by_name[name].lo,
            hi=by_name[name].hi,
        )
        for name in SHOWN
    )


def _verdict(name: str, means: str) -> Column:
    return word(name, means, Verdict.words())


_DEMANDED = tuple(
    _verdict(criterion.value, f"whether the demand `{criterion.value}` is met there") for criterion in DEMANDS
)
_STAYS = "the others it leaves as they were"
_COMMAS = "words of `invariant_report` separated by commas"

STRESS_REPLAYS = Table(
    "stress_replays",
    "One row per policy, scenario and severity: what becomes of the policy on a trace changed in one "
    "statistic, whether it still meets the demands, and whether its schedule keeps the rules.",
    (
        TRACE_ID,
        POLICY,
        BASELINE,
        word("scenario", "how the trace is changed", StressScenario.words()),
        count("severity", "1 mild, 2 strong, 3 severe", unit="ordinal", lo=1, hi=3),
        word("statistic", f"what the scenario moves; {_STAYS}", WorkloadStatistic.words()),
        real("asked_factor", "by what it is multiplied", "ratio", nullable=False),
        real("unstressed_statistic", "the statistic of the trace as it is", "see docs/stress.md"),
        real("stressed_statistic", "the statistic of the trace as replayed here", "see docs/stress.md"),
        real("reached_factor", "the latter over the former", "ratio"),
        real("others_moved_ratio", "how far the one that moved most of the other statistics moved", "ratio"),
        count(
            "jobs_count", "jobs measured: of the steady window, run by it and by the baseline", unit="jobs"
        ),
        *_measures("unstressed_", "under the trace as it is"),
        *_measures("stressed_", "under the stressed trace"),
        *(
            real(times, f"stressed_{name} over unstressed_{name}; null where that is 0", "ratio", lo=None)
            for name, times in TIMES.items()
        ),
        *(
            real(change, f"stressed_{name} less unstressed_{name}", "ratio", lo=None)
            for name, change in CHANGES.items()
        ),
        real("unstressed_gain_ratio", "fall of p95_bsld against the baseline, as it is", "ratio", lo=None),
        real(
            "stressed_gain_ratio", "fall of p95_bsld against the baseline, stressed alike", "ratio", lo=None
        ),
        *_DEMANDED,
        _verdict("unstressed_verdict", "the demands combined, under the trace as it is"),
        _verdict("verdict", "the demands combined, under the stressed trace"),
        count("violations_count", "breaches of rules that bind the policy", nullable=True),
        _verdict("invariants", "whether the stressed schedule keeps the rules that bind the policy"),
        text(
            "rules_kept", f"those of them that it was put to the test by and kept, {_COMMAS}", nullable=True
        ),
        text("rules_broken", f"those of them that it breaks, {_COMMAS}", nullable=True),
        text("reason", "which demands fail, or why nothing was assessed"),
    ),
    key=("trace_id", "policy", "scenario", "severity"),
    rules=(
        Rule(
            "no_demand_passes_on_broken_rules",
            "where the stressed schedule breaks a rule, no verdict is PASS",
            lambda: (
                (pl.col("invariants") != Verdict.FAIL.value)
                | pl.all_horizontal(pl.col("verdict", *(c.value for c in DEMANDS)) != Verdict.PASS.value)
            ),
        ),
        Rule(
            "nothing_is_assessed_on_a_trace_that_cannot_be",
            "where the trace cannot carry the scenario (stressed_p95_bsld is null), no verdict is PASS",
            lambda: (
                pl.col("stressed_p95_bsld").is_not_null()
                | pl.all_horizontal(pl.col("verdict", *(c.value for c in DEMANDS)) != Verdict.PASS.value)
            ),
        ),
    ),
)

SENSITIVITY = Table(
    "sensitivity",
    "One row per policy and setting: the demands on it with one decision taken otherwise, and whether their "
    "verdict flips.",
    (
        TRACE_ID,
        POLICY,
        BASELINE,
        word("varied", "which decision is taken otherwise", Varied.words()),
        text("setting", "to what: a number in the unit of `varied`, or a word"),
        flag("is_default", "whether this is the setting as configured, against which flips are told"),
        count(
            "jobs_count", "jobs measured: of the steady window, run by it and by the baseline", unit="jobs"
        ),
        count("excluded_count", "jobs left out because they do not fit every machine compared", unit="jobs"),
        real("baseline_value", "p95_bsld of the baseline in that setting", "ratio"),
        real("policy_value", "p95_bsld of the policy in that setting", "ratio"),
        real("gain_ratio", "by what share of the baseline's the policy's is lower", "ratio", lo=None),
        *_DEMANDED,
        _verdict("verdict", "the demands combined"),
        _verdict("default_verdict", "the demands combined, as configured"),
        flag(
            "has_flipped",
            "PASS became FAIL or FAIL became PASS; null where either is NOT_ASSESSED",
            nullable=True,
        ),
        text("reason", "which demands fail, or why nothing was assessed"),
    ),
    key=("trace_id", "policy", "varied", "setting"),
)

STRESS_TABLES = (STRESS_REPLAYS, SENSITIVITY)
