"""Closed vocabularies of placement: causes, parts, methods and measures.

In:  vocabulary.py.   Out: `Vocabulary` enums.
Not here: thresholds and the cluster (placement_config.py).
"""

from __future__ import annotations

from hpcopt_assets.contracts.vocabulary import Vocabulary


class Allocation(Vocabulary):
    """Which SUs a job is given servers in."""

    TIGHTEST_FIRST = "tightest_first"
    # The SU with the fewest free servers that holds the whole job, else SUs by ascending free servers.
    ROOMIEST_FIRST = "roomiest_first"
    # The same SU for a job that fits one, else SUs by descending free servers: fewer leaves to join.


class RingOrder(Vocabulary):
    """In which order a job's SUs stand on the ring that joins them."""

    ASCENDING = "ascending"
    # By index.
    ALLOCATION = "allocation"
    # As the allocation chose them.
    INTERLEAVED = "interleaved"
    # By index, first those at even places and then those at odd ones.


class PlacementCause(Vocabulary):
    """Why an attempt to place a job failed."""

    NONE = "none"
    SERVERS = "servers"
    UPLINKS_COUNT = "uplinks_count"
    # A leaf that the ring passes has fewer free uplinks than it needs.
    UPLINKS_MATCHING = "uplinks_matching"
    # Every leaf has enough, and yet no choice of planes joins them all.


class MatchingCause(Vocabulary):
    """What kept a ring from being realised although every leaf has enough free uplinks."""

    PLANES = "planes"
    BUDGET = "budget"
    # Unlimited reconfiguration would have succeeded.


class SnapshotPart(Vocabulary):
    """What a snapshot is used for, in order of time."""

    FIT = "fit"
    STOP = "stop"
    # Decides when no more trees are added.
    CALIBRATE = "calibrate"
    # Calibration and threshold.
    LATER = "later"
    # Scored, and seen by nothing that was chosen.


class Population(Vocabulary):
    """Snapshots that a placement model is scored on."""

    LATER = "later"
    OTHER_SEED = "other_seed"


class PlacementMethod(Vocabulary):
    """What says whether a job can be placed."""

    MODEL = "model"
    VISIBLE_CEILING = "visible_ceiling"
    # Planes drawn at random given the counts that can be seen, each draw decided exactly.
    PLANE_STATE = "plane_state"
    # The same trees, shown which planes are free.
    COUNT_SERVERS = "count_servers"
    COUNT_UPLINKS = "count_uplinks"
    # Enough servers, and on each chosen leaf enough uplinks.


class PlacementMeasure(Vocabulary):
    """How good a method is; a failure is the positive case."""

    ACCURACY = "accuracy"
    PRECISION = "precision"
    RECALL = "recall"
    F1 = "f1"
    BRIER = "brier"
    CALIBRATION_ERROR = "calibration_error"
    RECALL_SERVERS = "recall_servers"
    RECALL_UPLINKS_COUNT = "recall_uplinks_count"
    RECALL_UPLINKS_MATCHING = "recall_uplinks_matching"
    RECALL_BUDGET = "recall_budget"
    CAUSE_ACCURACY = "cause_accuracy"


class Admission(Vocabulary):
    """Who is let through to a placement attempt."""

    ADMIT_ALL = "admit_all"
    COUNTING_RULE = "counting_rule"
    MODEL = "model"
