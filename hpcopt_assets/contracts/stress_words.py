"""Words of stress and sensitivity: scenarios, the statistic that each moves, what is varied.

In:  vocabulary.py.   Out: closed vocabularies, `MOVED_BY`.
Not here: by what factor (configs/stress.yaml) and to which values (configs/sensitivity.yaml).
"""

from __future__ import annotations

from hpcopt_assets.contracts.vocabulary import Vocabulary


class StressScenario(Vocabulary):
    """In which way a trace is made harder, or easier, than it was."""

    HEAVY_TAIL = "heavy_tail"
    LOW_CONGESTION = "low_congestion"
    USER_SKEW = "user_skew"
    BURST_SHOCK = "burst_shock"
    ESTIMATE_NOISE = "estimate_noise"


class WorkloadStatistic(Vocabulary):
    """A number that says one thing of a trace, and that one scenario moves while the others stay."""

    RUNTIME_TAIL = "runtime_tail"
    OFFERED_LOAD = "offered_load"
    LARGEST_USER_SHARE = "largest_user_share"
    ARRIVAL_PEAK = "arrival_peak"
    OVERESTIMATION = "overestimation"


MOVED_BY = {
    StressScenario.HEAVY_TAIL: WorkloadStatistic.RUNTIME_TAIL,
    StressScenario.LOW_CONGESTION: WorkloadStatistic.OFFERED_LOAD,
    StressScenario.USER_SKEW: WorkloadStatistic.LARGEST_USER_SHARE,
    StressScenario.BURST_SHOCK: WorkloadStatistic.ARRIVAL_PEAK,
    StressScenario.ESTIMATE_NOISE: WorkloadStatistic.OVERESTIMATION,
}


class Varied(Vocabulary):
    """What is set otherwise to see whether a verdict hangs on it."""

    GUARD_K = "guard_k"
    TAU_S = "tau_s"
    CAPACITY = "capacity"
    JOBS = "jobs"
    STARVED_AFTER_S = "starved_after_s"
    MIN_GAIN_RATIO = "min_gain_ratio"
    MAX_JAIN_SERVICE_DROP = "max_jain_service_drop"
    OVERRUN = "overrun"
    ESTIMATES = "estimates"
