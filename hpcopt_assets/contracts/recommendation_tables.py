"""The table of recommendations, and the measures between which a choice is a trade.

In:  makers.py.   Out: `RECOMMENDATION`, `TRADED`.
"""

from __future__ import annotations

from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.makers import POLICY, TRACE_ID, count, flag, real, text, word
from hpcopt_assets.contracts.measure_columns import MEASURES

TRADED = ("p95_bsld", "utilisation_ratio", "mean_wait_s", "jain_service", "starved_ratio")
# Of these, which way is better stands in robustness_tables.BETTER.

RECOMMENDATION = Table(
    "recommendation",
    "One row per policy that a site could run, the baseline among them: whether it is recommended, what it "
    "trades for what, and why.",
    (
        TRACE_ID,
        POLICY,
        word(
            "outcome",
            "what its claim amounts to; null where none can be made",
            v.Outcome.words(),
            nullable=True,
        ),
        flag("is_baseline", "whether the others are compared with it"),
        flag("is_recommended", "whether it is the best candidate that passes everything"),
        count(
            "rank",
            "place among those that pass everything, by their gain over shaken replicas",
            nullable=True,
            lo=1,
        ),
        real("shaken_gain_ratio", "mean gain in the primary measure over shaken replicas", "ratio", lo=None),
        *(column for column in MEASURES if column.name in TRADED),
        flag("is_on_front", "whether no policy is as good in all of these and better in one", nullable=True),
        text("dominated_by", "policies that are, separated by commas", nullable=True),
        text("failed", "demands that it does not meet, separated by commas", nullable=True),
        text("open", "what was not shown, separated by commas", nullable=True),
        text("improved", "what improved against the baseline", nullable=True),
        text("worsened", "what became worse, and for whom", nullable=True),
        text("reason", "the recommendation in sentences"),
    ),
    key=("trace_id", "policy"),
)
