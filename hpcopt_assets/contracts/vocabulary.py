"""Closed vocabularies: one definition for Python, parquet and the kernel.

In:  nothing.   Out: `Vocabulary` enums; `.code` is the member's position, the number the kernel sees.
Not here: thresholds and policies (configs/).
"""

from __future__ import annotations

from enum import StrEnum

OBSERVED = "observed"
# Stands where a policy's id would: the schedule that the log itself recorded.


class Vocabulary(StrEnum):
    """A closed set of words. A member's value goes to tables, its `code` to compiled code."""

    @property
    def code(self) -> int:
        """Position in the definition, from 0."""
        return list(type(self)).index(self)

    @classmethod
    def words(cls) -> tuple[str, ...]:
        """All values, in the order of their codes."""
        return tuple(member.value for member in cls)


class JobState(Vocabulary):
    """How a job ended, as far as its log says."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    PREEMPTED = "PREEMPTED"
    REQUEUED = "REQUEUED"
    RUNNING = "RUNNING"
    PENDING = "PENDING"
    UNKNOWN = "UNKNOWN"


class RequestKind(Vocabulary):
    """What the log says in place of a requested runtime."""

    LIMIT = "limit"
    UNLIMITED = "unlimited"
    PARTITION_LIMIT = "partition_limit"
    UNKNOWN = "unknown"


class TraceFormat(Vocabulary):
    """What kind of log a file is, found from its content or given."""

    SWF = "swf"
    SACCT = "sacct"
    PBS = "pbs"
    PM100 = "pm100"
    FDATA = "fdata"


class Dialect(Vocabulary):
    """Whose PBS accounting log a file is, where its records leave that open."""

    PBS_PRO = "pbspro"
    TORQUE = "torque"
    TORQUE_COUNTS = "torque_counts"
    # A later Torque, whose exec_host `node/4` is four slots, not slot 4.


class Unit(Vocabulary):
    """What a job occupies on its machine: processors, or whole nodes."""

    PROCS = "procs"
    NODES = "nodes"


class RejectCode(Vocabulary):
    """Why an input line became no job."""

    TOO_FEW_FIELDS = "too_few_fields"
    NOT_A_NUMBER = "not_a_number"
    OUT_OF_RANGE = "out_of_range"
    NO_JOB_ID = "no_job_id"
    NO_SUBMIT_TIME = "no_submit_time"
    NEGATIVE_WAIT = "negative_wait"
    NEGATIVE_RUNTIME = "negative_runtime"
    NEGATIVE_VALUE = "negative_value"
    DUPLICATE_JOB_ID = "duplicate_job_id"
    UNDECODABLE = "undecodable"
    TOO_MANY_FIELDS = "too_many_fields"
    NO_JOB_OF_STEP = "no_job_of_step"
    PENDING_ARRAY_RANGE = "pending_array_range"
    NOT_A_TIME = "not_a_time"
    NOT_A_RECORD = "not_a_record"
    UNKNOWN_RECORD_TYPE = "unknown_record_type"


class QualityFlag(Vocabulary):
    """What is remarkable about a job row that was kept."""

    EXTRA_FIELDS = "extra_fields"
    FRACTIONAL_TIME = "fractional_time"
    OUT_OF_ORDER = "out_of_order"
    RUNTIME_OVER_REQUEST = "runtime_over_request"
    ZERO_REQUEST = "zero_request"
    ALLOCATED_DIFFERS = "allocated_differs"
    DANGLING_PREDECESSOR = "dangling_predecessor"
    PROCS_FROM_ALLOCATION = "procs_from_allocation"
    UNKNOWN_STATUS = "unknown_status"
    PARTS_SUMMED = "parts_summed"
    RECOVERED_FIELDS = "recovered_fields"
    ELIGIBLE_UNKNOWN = "eligible_unknown"
    ELIGIBLE_NOT_CREDIBLE = "eligible_not_credible"
    INVALID_LIMIT = "invalid_limit"
    MALFORMED_DURATION = "malformed_duration"
    MALFORMED_VALUE = "malformed_value"
    ELAPSED_DIFFERS = "elapsed_differs"
    UNFINISHED = "unfinished"
    TYPED_GPUS_DIFFER = "typed_gpus_differ"
    AMBIGUOUS_LOCAL_TIME = "ambiguous_local_time"
    DUPLICATE_ATTRIBUTE = "duplicate_attribute"
    SUSPENDED = "suspended"
    RERUN = "rerun"
    NO_END_RECORD = "no_end_record"


class CapacitySource(Vocabulary):
    """Where the number of processors of a machine was taken from."""

    CONFIG = "config"
    HEADER = "header"
    OBSERVED_PEAK = "observed_peak"


class ProfileTopic(Vocabulary):
    """What a part of a workload's profile is about."""

    RUNTIMES = "runtimes"
    SIZES = "sizes"
    WORK = "work"
    REQUESTS = "requests"
    ARRIVALS = "arrivals"
    CONGESTION = "congestion"
    USERS = "users"
    FLURRIES = "flurries"


class ProfileMeasure(Vocabulary):
    """What a row of a workload's profile states."""

    RUNTIME = "runtime"
    SIZE = "size"
    WORK = "work"
    TAIL_INDEX = "tail_index"
    TOP_SHARE = "top_share"
    SERIAL_SHARE = "serial_share"
    POWER_OF_TWO_SHARE = "power_of_two_share"
    REQUEST_OVER_RUNTIME = "request_over_runtime"
    AT_REQUEST_SHARE = "at_request_share"
    PAST_REQUEST_SHARE = "past_request_share"
    NO_REQUEST_SHARE = "no_request_share"
    HOUR_OF_DAY = "hour_of_day"
    WEEKDAY = "weekday"
    GAP = "gap"
    GAP_VARIATION = "gap_variation"
    HOURLY_DISPERSION = "hourly_dispersion"
    QUEUE_LENGTH = "queue_length"
    UTILISATION = "utilisation"
    USERS = "users"
    LARGEST_USER_SHARE = "largest_user_share"
    HERFINDAHL = "herfindahl"
    GINI = "gini"
    FLURRIES = "flurries"
    FLURRY_SHARE = "flurry_share"
    FLURRY_SHARE_MEANWHILE = "flurry_share_meanwhile"
    FLURRY_ALIKE_SHARE = "flurry_alike_share"


class Order(Vocabulary):
    """Order of the waiting queue, the head included."""

    SUBMIT = "submit"
    SHORTEST = "shortest"
    LONGEST = "longest"
    FAIRSHARE = "fairshare"
    WFP3 = "wfp3"
    UNICEF = "unicef"
    F1 = "f1"


class Backfill(Vocabulary):
    """What may overtake a head that does not fit."""

    NONE = "none"
    EASY = "easy"
    CONSERVATIVE = "conservative"


class BackfillOrder(Vocabulary):
    """Order in which the jobs behind the head are tried."""

    QUEUE = "queue"
    SHORTEST = "shortest"


class Estimate(Vocabulary):
    """What a job is believed to run for."""

    REQUESTED = "requested"
    USER_HISTORY = "user_history"
    P10 = "p10"
    P50 = "p50"
    P90 = "p90"
    ACTUAL = "actual"


FORECAST = (Estimate.P10, Estimate.P50, Estimate.P90)
# Quantiles of a job's runtime that a model predicted before the job came.


class Overrun(Vocabulary):
    """What happens to a job that reaches its requested runtime."""

    EXTEND = "extend"
    KILL = "kill"


class EstimateSource(Vocabulary):
    """Where the estimate that a replay used for a job came from."""

    MODEL = "model"
    HISTORY = "user_history"
    REQUEST = "request"
    FALLBACK = "fallback"
    ACTUAL = "actual"


class LeftOut(Vocabulary):
    """Why a job of the trace takes no part in a replay."""

    NEVER_STARTED = "never_started"
    UNKNOWN_RUNTIME = "unknown_runtime"
    UNKNOWN_PROCS = "unknown_procs"
    WIDER_THAN_MACHINE = "wider_than_machine"
    OUTSIDE_WINDOW = "outside_window"
    BEFORE_WINDOW = "before_window"
    # Running or queued when the window begins: it is there, and does not count.


class Invariant(Vocabulary):
    """Rules that every finished schedule keeps."""

    EVERY_JOB_STARTS_ONCE = "every_job_starts_once"
    NO_START_BEFORE_RELEASE = "no_start_before_release"
    END_IS_START_PLUS_RUNTIME = "end_is_start_plus_runtime"
    WITHIN_CAPACITY = "within_capacity"
    STRICT_QUEUE_ORDER = "strict_queue_order"
    HEAD_NEVER_DELAYED = "head_never_delayed"
    ESTIMATE_WAS_KNOWN = "estimate_was_known"


class Window(Vocabulary):
    """Which part of a schedule a measure covers."""

    WHOLE = "whole"
    STEADY = "steady"
    SELECTION = "selection"
    CONFIRMATION = "confirmation"


WHOLE = Window.WHOLE.value
# Stands where a quarter's name would: the whole trace.


class Verdict(Vocabulary):
    """Three values: lack of evidence is never a pass."""

    PASS = "PASS"  # noqa: S105 -- a verdict, not a password
    FAIL = "FAIL"
    NOT_ASSESSED = "NOT_ASSESSED"


class Outcome(Vocabulary):
    """What a claim about a candidate policy amounts to."""

    ACCEPTED = "ACCEPTED"
    CONDITIONAL = "CONDITIONAL"
    BLOCKED = "BLOCKED"


class FidelityCriterion(Vocabulary):
    """What is compared between an observed and a replayed schedule."""

    MEAN_WAIT = "mean_wait"
    P95_WAIT = "p95_wait"
    THROUGHPUT = "throughput"
    MAKESPAN = "makespan"
    WAIT_KL = "wait_kl"
    BSLD_KS = "bsld_ks"
    QUEUE_CORRELATION = "queue_correlation"
    OBSERVED_WITHIN_CAPACITY = "observed_within_capacity"
    OVERALL = "overall"


class ClaimCriterion(Vocabulary):
    """What a candidate must show against the baseline."""

    PRIMARY_GAIN = "primary_gain"
    STARVED = "starved"
    FAIRNESS = "fairness"
    UTILISATION = "utilisation"
    SATURATION = "saturation"
    BASELINE_FIDELITY = "baseline_fidelity"
    REQUEST_FALLBACK = "request_fallback"
    SAME_WORK = "same_work"
    MODEL_CREDIT = "model_credit"
    WITHOUT_HINDSIGHT = "without_hindsight"
    SELECTION = "selection"
    SHAKEN_GAIN = "shaken_gain"
    SHAKEN_DEMANDS = "shaken_demands"
    CONFIRMATION = "confirmation"
    OVERALL = "overall"


DEMANDS = (
    ClaimCriterion.PRIMARY_GAIN,
    ClaimCriterion.STARVED,
    ClaimCriterion.FAIRNESS,
    ClaimCriterion.UTILISATION,
)
# What the candidate itself must do; every other criterion is about the evidence.
