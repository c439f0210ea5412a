"""The tables of robustness, which of the measures they hold, and which way each is better.

In:  makers.py.   Out: `SHAKEN_MEASURES`, `ROBUSTNESS`, `BETTER`, `WINDOWS`.
"""

from __future__ import annotations

from hpcopt_assets.contracts.columns import Column, Table
from hpcopt_assets.contracts.makers import POLICY, TRACE_ID, count, flag, real, text, word
from hpcopt_assets.contracts.measure_columns import MEASURES
from hpcopt_assets.contracts.vocabulary import Window

BETTER = {
    "p95_bsld": -1,
    "mean_bsld": -1,
    "p95_wait_s": -1,
    "mean_wait_s": -1,
    "utilisation_ratio": 1,
    "starved_ratio": -1,
    "jain_service": 1,
    "worst_user_bsld": -1,
}
# Measure -> +1 where more of it is better, -1 where less is.
WINDOWS = (Window.STEADY, Window.SELECTION, Window.CONFIRMATION)
# Over the whole of a trace, utilisation and throughput say little of a policy.

TIME_WINDOW = word("time_window", "the steady window, or one of its two parts", tuple(WINDOWS))

SHAKEN_MEASURES = Table(
    "shaken_measures",
    "One row per policy, window and shaken replica of the trace; a replica's number says which replica, the "
    "same for every policy.",
    (
        TRACE_ID,
        POLICY,
        TIME_WINDOW,
        count("replica", "which shaken replica, from 0", unit="ordinal"),
        *(column for column in MEASURES if column.name in ("left_out_count", *BETTER)),
    ),
    key=("trace_id", "policy", "time_window", "replica"),
)


def _change(name: str, means: str) -> Column:
    return real(name, means, "see measure", lo=None)


ROBUSTNESS = Table(
    "robustness",
    "One row per policy, window and measure: its difference to the baseline as replayed, over shaken "
    "replicas of the trace, and over its weeks drawn anew.",
    (
        TRACE_ID,
        POLICY,
        text("baseline", "id of the policy it is compared with"),
        TIME_WINDOW,
        word("measure", "what is compared", tuple(BETTER)),
        count("jobs_count", "jobs of the window that ran under both", unit="jobs"),
        _change("baseline_value", "the baseline's, as replayed"),
        _change("policy_value", "the policy's, as replayed"),
        _change("difference", "the policy's less the baseline's, as replayed"),
        count(
            "replicas_count",
            "shaken replicas in which both have a value and started as many jobs",
            unit="replicas",
        ),
        _change("shaken_baseline_value", "mean of the baseline's over them"),
        _change("mean_difference", "mean difference over them"),
        _change("p25_difference", "lower quartile of the difference over them"),
        _change("p50_difference", "median of the difference over them"),
        _change("p75_difference", "upper quartile of the difference over them"),
        real("improved_ratio", "share of them in which the policy is better", "ratio", hi=1.0),
        real(
            "met_ratio",
            "share of them in which the demand on this measure is met, beside the baseline's there; null "
            "where none is made, or with too few replicas or jobs",
            "ratio",
            hi=1.0,
        ),
        flag("is_artefact", "whether the difference as replayed lies outside their interval", nullable=True),
        count("blocks_count", "weeks of the window in which jobs were released", unit="weeks"),
        real(
            "confidence",
            "of both intervals in this row; where their values tell no tail so fine, they are ranges",
            "ratio",
            nullable=False,
            hi=1.0,
        ),
        count(
            "candidates_count",
            "candidates chosen, for which the confidence is adjusted; null where it is not",
            unit="policies",
            nullable=True,
        ),
        _change("lower", "lower end of the interval over shaken replicas; null with too few"),
        _change("upper", "upper end of that interval"),
        _change("block_lower", "lower end of the interval over weeks drawn anew; null with too few"),
        _change("block_upper", "upper end of that interval"),
    ),
    key=("trace_id", "policy", "time_window", "measure"),
)
