"""The table of robustness, and which way each of its measures is better.

In:  makers.py.   Out: `ROBUSTNESS`, `BETTER`.
"""

from __future__ import annotations

from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.makers import POLICY, TRACE_ID, count, flag, real, text, word

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

ROBUSTNESS = Table(
    "robustness",
    "One row per policy and measure: its difference to the baseline as replayed, over shaken replicas of the "
    "trace, and over its weeks drawn anew.",
    (
        TRACE_ID,
        POLICY,
        text("baseline", "id of the policy it is compared with"),
        word("measure", "a measure of the steady window", tuple(BETTER)),
        real("baseline_value", "the baseline's, as replayed", "see measure", lo=None),
        real("policy_value", "the policy's, as replayed", "see measure", lo=None),
        real("difference", "the policy's less the baseline's, as replayed", "see measure", lo=None),
        count("replicas_count", "shaken replicas", unit="replicas"),
        real("mean_difference", "mean difference over them", "see measure", lo=None),
        real("lower", "lower end of the 95 % interval over them", "see measure", lo=None),
        real("upper", "upper end of that interval", "see measure", lo=None),
        real("improved_ratio", "share of them in which the policy is better", "ratio", hi=1.0),
        flag("is_artefact", "whether the difference as replayed lies outside that interval", nullable=True),
        count("blocks_count", "weeks of the steady window", unit="weeks"),
        real("block_lower", "lower end of the 95 % interval over weeks drawn anew", "see measure", lo=None),
        real("block_upper", "upper end of that interval; null with too few weeks", "see measure", lo=None),
    ),
    key=("trace_id", "policy", "measure"),
)
