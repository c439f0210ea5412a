"""The tables of placement: snapshots of a cluster, predictions and scores of a model, a study of admission.

In:  makers.py, placement_words.py.   Out: one constant a table, and the columns that a model may see.
Not here: the other tables (tables.py, which also registers these).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts import placement_words as pw
from hpcopt_assets.contracts.columns import DType, Rule, Table
from hpcopt_assets.contracts.makers import array, count, flag, real, seconds, text, word

ATTEMPT = count("attempt", "place of the attempt among all of its course, from 0", unit="ordinal")
FAILED = flag("l1_failed", "whether the job could not be placed")
CAUSE = word("failure_cause", "why it could not be placed", pw.PlacementCause.words())

SCALARS = (
    count("requested_servers", "servers asked for, all of their GPUs or some", unit="servers", lo=1),
    count("requested_gpus", "GPUs asked for in each server; also the rails that the job uses", lo=1),
    count("free_servers", "servers without a job", unit="servers"),
    count("max_free_servers", "most free servers of one SU", unit="servers"),
    real("mean_free_servers", "free servers of an SU, on average", "servers", nullable=False),
    count("sus_with_room", "SUs with a free server"),
    real(
        "fragmentation_ratio",
        "1 - most free servers of one SU / free servers",
        "ratio",
        nullable=False,
        hi=1.0,
    ),
    real("uplinks_used_ratio", "share of the uplinks in use or failed", "ratio", nullable=False, hi=1.0),
    real("uplinks_failed_ratio", "share of the uplinks failed", "ratio", nullable=False, hi=1.0),
    real("leaf_entropy_bits", "entropy of the leaves over numbers of free uplinks", "bits", nullable=False),
    count("jobs_running_count", "jobs running"),
    count("circuits_in_use_count", "circuits that jobs have"),
    count("circuits_idle_count", "circuits in place that no job has"),
    real(
        "circuit_age_mean_s",
        "mean time since the circuits in place were made; 0 without any",
        "s",
        nullable=False,
    ),
    count("circuits_made_count", "circuits made in this reconfiguration interval"),
    real(
        "interval_phase_ratio",
        "how much of the reconfiguration interval has passed",
        "ratio",
        nullable=False,
        hi=1.0,
    ),
)
# What is seen before the decision, as numbers.
VECTORS = (
    array(
        "server_bitmap", "1 where a server has a job, by SU and server", DType.UINT8_ARRAY, hi=1, unit="flag"
    ),
    array(
        "leaf_utilization",
        "1 - free uplinks / planes by SU and rail; failed uplinks count as used",
        DType.FLOAT32_ARRAY,
        hi=1.0,
        unit="ratio",
    ),
    array(
        "budget_remaining",
        "circuits that each switch may still make in this interval, by rail and plane",
        DType.UINT8_ARRAY,
        hi=255,
        unit="count",
    ),
)
# ... and as vectors, whose lengths are the cluster's: 1024, 256 and 48 as shipped.

PLACEMENT_SNAPSHOTS = Table(
    "placement_snapshots",
    "One row per attempt to place a job: the state of the cluster before the decision, and the decision.",
    (
        ATTEMPT,
        seconds("at_s", "when the job asked, since the cluster was empty"),
        word("part", "what the row is used for, in order of time", pw.SnapshotPart.words()),
        word("allocation", "which SUs a job is given servers in", pw.Allocation.words()),
        text("ring_orders", "orders of the SUs on a ring that are tried, joined by commas"),
        text("cluster_sha256", "SHA-256 of all that the config says of the cluster"),
        *SCALARS,
        *VECTORS,
        FAILED,
        CAUSE,
        word(
            "matching_cause",
            "what stood in the way where every leaf had enough uplinks",
            pw.MatchingCause.words(),
            nullable=True,
        ),
    ),
    key=("attempt",),
    rules=(
        Rule(
            "a_failure_has_a_cause",
            "l1_failed exactly where failure_cause is not none",
            lambda: pl.col("l1_failed") == (pl.col("failure_cause") != pw.PlacementCause.NONE.value),
        ),
        Rule(
            "only_matching_has_a_second_cause",
            "matching_cause is known exactly where failure_cause is uplinks_matching",
            lambda: (
                pl.col("matching_cause").is_not_null()
                == (pl.col("failure_cause") == pw.PlacementCause.UPLINKS_MATCHING.value)
            ),
        ),
        Rule(
            "the_bitmap_counts_the_servers",
            "zeros of server_bitmap = free_servers",
            lambda: (
                pl.col("server_bitmap").arr.eval(pl.element() == 0).arr.sum().cast(pl.Int64)
                == pl.col("free_servers")
            ),
        ),
        Rule(
            "servers_are_counted",
            "failure_cause is servers exactly where more are asked for than are free",
            lambda: (
                (pl.col("requested_servers") > pl.col("free_servers"))
                == (pl.col("failure_cause") == pw.PlacementCause.SERVERS.value)
            ),
        ),
    ),
)


PLACEMENT_PREDICTIONS = Table(
    "placement_predictions",
    "One row per snapshot: the chance that the job cannot be placed, and why.",
    (
        ATTEMPT,
        word(
            "part",
            "what the model used the snapshot for; null if it was not fitted on these",
            pw.SnapshotPart.words(),
            nullable=True,
        ),
        real("p_failed", "chance that it fails", "probability", nullable=False, hi=1.0),
        real(
            "p_servers",
            "chance that it fails for servers; null if the model tells none",
            "probability",
            hi=1.0,
        ),
        real("p_uplinks_count", "... for too few free uplinks", "probability", hi=1.0),
        real("p_uplinks_matching", "... for uplinks that do not match", "probability", hi=1.0),
        word("likely_cause", "the most likely cause if it fails", pw.PlacementCause.words(), nullable=True),
        flag("is_predicted_failed", "p_failed >= the bundle's threshold"),
        FAILED,
        CAUSE,
    ),
    key=("attempt",),
)

PLACEMENT_SCORES = Table(
    "placement_scores",
    "One row per measure of a method on snapshots that nothing was chosen by.",
    (
        word("population", "later time of the same seed, or another seed", pw.Population.words()),
        word("method", "what says whether a job can be placed", pw.PlacementMethod.words()),
        word("measure", "what is measured; a failure is the positive case", pw.PlacementMeasure.words()),
        word(
            "minus_method",
            "the value is a difference: method minus this one",
            pw.PlacementMethod.words(),
            nullable=True,
        ),
        real("value", "the measure; null where nothing it speaks of occurred", "ratio", lo=-1.0, hi=1.0),
        real(
            "lower", "lower end of its 95 % interval, by resampling blocks of time", "ratio", lo=-1.0, hi=1.0
        ),
        real("upper", "upper end", "ratio", lo=-1.0, hi=1.0),
        count("evidence_count", "snapshots that it rests on"),
    ),
    key=("population", "method", "measure", "minus_method"),
)

PLACEMENT_STUDY = Table(
    "placement_study",
    "One row per admission rule, over the same arrivals and uplink failures: what it avoids and costs.",
    (
        word("admission", "who is let through to an attempt", pw.Admission.words()),
        count("attempts_count", "jobs that came"),
        count("turned_away_count", "jobs that were not let through"),
        count("placed_count", "jobs that ran"),
        count("failed_count", "jobs that were let through and could not be placed"),
        count("failures_avoided_count", "jobs turned away that could not have been placed"),
        count("good_turned_away_count", "jobs turned away that could have been placed"),
        real(
            "utilisation_ratio",
            "server-seconds held by jobs / server-seconds there were",
            "ratio",
            nullable=False,
            hi=1.0,
        ),
        real(
            "cost_per_attempt",
            "failures let through at their configured cost, plus good jobs turned away at 1, per attempt",
            "cost",
            nullable=False,
        ),
    ),
    key=("admission",),
    rules=(
        Rule(
            "every_job_is_accounted_for",
            "attempts = turned away + placed + failed; turned away = failures avoided + good ones",
            lambda: (
                (
                    pl.col("attempts_count")
                    == pl.col("turned_away_count") + pl.col("placed_count") + pl.col("failed_count")
                )
                & (
                    pl.col("turned_away_count")
                    == pl.col("failures_avoided_count") + pl.col("good_turned_away_count")
                )
            ),
        ),
    ),
)

PLACEMENT_TABLES = (PLACEMENT_SNAPSHOTS, PLACEMENT_PREDICTIONS, PLACEMENT_SCORES, PLACEMENT_STUDY)
