"""What the closed vocabularies mean, in words for a reader who has not seen the code.

In:  a word of contracts/vocabulary.py.   Out: words. A test fails when a vocabulary gains a word without any.
"""

from __future__ import annotations

from hpcopt_assets.contracts.forecast_words import EstimateRun, Predictor
from hpcopt_assets.contracts.stress_words import Varied
from hpcopt_assets.contracts.vocabulary import (
    CapacitySource,
    ClaimCriterion,
    EstimateSource,
    FidelityCriterion,
    Invariant,
    LeftOut,
    Outcome,
    QualityFlag,
    RejectCode,
    TraceFormat,
    Unit,
    Verdict,
    Window,
)

FIDELITY: dict[FidelityCriterion, str] = {
    FidelityCriterion.MEAN_WAIT: "mean wait",
    FidelityCriterion.P95_WAIT: "95th percentile of wait",
    FidelityCriterion.THROUGHPUT: "throughput",
    FidelityCriterion.MAKESPAN: "makespan",
    FidelityCriterion.WAIT_KL: "distribution of waits",
    FidelityCriterion.BSLD_KS: "distribution of bounded slowdown",
    FidelityCriterion.QUEUE_CORRELATION: "queue length over time",
    FidelityCriterion.OBSERVED_WITHIN_CAPACITY: "observed schedule within capacity",
    FidelityCriterion.OVERALL: "overall",
}
CLAIM: dict[ClaimCriterion, str] = {
    ClaimCriterion.PRIMARY_GAIN: "gain in the primary measure",
    ClaimCriterion.STARVED: "starved jobs",
    ClaimCriterion.FAIRNESS: "fairness of service over users",
    ClaimCriterion.UTILISATION: "utilisation",
    ClaimCriterion.SATURATION: "saturation",
    ClaimCriterion.BASELINE_FIDELITY: "likeness of the baseline's replay to the record",
    ClaimCriterion.REQUEST_FALLBACK: "jobs without a requested runtime",
    ClaimCriterion.SAME_WORK: "work that the baseline did too",
    ClaimCriterion.MODEL_CREDIT: "share of estimates from the model",
    ClaimCriterion.WITHOUT_HINDSIGHT: "gain without another schedule's future",
    ClaimCriterion.SELECTION: "chosen on the first part",
    ClaimCriterion.SHAKEN_GAIN: "gain over shaken replicas",
    ClaimCriterion.SHAKEN_DEMANDS: "every demand over shaken replicas",
    ClaimCriterion.CONFIRMATION: "confirmed on the rest, shaken and by weeks",
    ClaimCriterion.OVERALL: "overall",
}
INVARIANT: dict[Invariant, str] = {
    Invariant.EVERY_JOB_STARTS_ONCE: "every replayed job starts exactly once",
    Invariant.NO_START_BEFORE_RELEASE: "no job starts before its release",
    Invariant.END_IS_START_PLUS_RUNTIME: "every job ends at its start plus its runtime",
    Invariant.WITHIN_CAPACITY: "processors in use never exceed the machine",
    Invariant.STRICT_QUEUE_ORDER: "no job overtakes another",
    Invariant.HEAD_NEVER_DELAYED: "backfilling never delays the head of the queue",
    Invariant.ESTIMATE_WAS_KNOWN: "every estimate was known when its job started",
}
REJECT: dict[RejectCode, str] = {
    RejectCode.TOO_FEW_FIELDS: "too few fields",
    RejectCode.NOT_A_NUMBER: "not a number where one is needed",
    RejectCode.OUT_OF_RANGE: "a value out of range",
    RejectCode.NO_JOB_ID: "no job id",
    RejectCode.NO_SUBMIT_TIME: "no submit time",
    RejectCode.NEGATIVE_WAIT: "negative wait",
    RejectCode.NEGATIVE_RUNTIME: "negative runtime",
    RejectCode.NEGATIVE_VALUE: "a negative value",
    RejectCode.DUPLICATE_JOB_ID: "job id already taken",
    RejectCode.UNDECODABLE: "bytes that are no text",
    RejectCode.TOO_MANY_FIELDS: "too many fields",
    RejectCode.NO_JOB_OF_STEP: "a step whose job is not in the log",
    RejectCode.PENDING_ARRAY_RANGE: "waiting tasks of an array, told in one line",
    RejectCode.NOT_A_TIME: "no time where one is needed",
    RejectCode.NOT_A_RECORD: "no record of the format",
    RejectCode.UNKNOWN_RECORD_TYPE: "a record of an unknown type",
}
FLAG: dict[QualityFlag, str] = {
    QualityFlag.EXTRA_FIELDS: "more fields than the format has",
    QualityFlag.FRACTIONAL_TIME: "a fractional time, rounded",
    QualityFlag.OUT_OF_ORDER: "submitted before the line above it",
    QualityFlag.RUNTIME_OVER_REQUEST: "ran longer than requested",
    QualityFlag.ZERO_REQUEST: "requested runtime of 0",
    QualityFlag.ALLOCATED_DIFFERS: "given other processors than it asked for",
    QualityFlag.DANGLING_PREDECESSOR: "waits for a job that is not in the log",
    QualityFlag.PROCS_FROM_ALLOCATION: "processors taken from the allocation, the request being unknown",
    QualityFlag.UNKNOWN_STATUS: "status unknown",
    QualityFlag.PARTS_SUMMED: "told in parts only, which were summed",
    QualityFlag.RECOVERED_FIELDS: "fields put right after separators or line ends in free text",
    QualityFlag.ELIGIBLE_UNKNOWN: "eligible time unknown, released at its submission",
    QualityFlag.ELIGIBLE_NOT_CREDIBLE: "eligible before its submission or after its start, set aside",
    QualityFlag.INVALID_LIMIT: "a time limit that is none",
    QualityFlag.MALFORMED_DURATION: "a duration that cannot be read",
    QualityFlag.MALFORMED_VALUE: "another value that cannot be read",
    QualityFlag.ELAPSED_DIFFERS: "elapsed time other than from start to end",
    QualityFlag.UNFINISHED: "still waiting or running when the log was written",
    QualityFlag.TYPED_GPUS_DIFFER: "GPUs by type that do not sum to their total",
    QualityFlag.AMBIGUOUS_LOCAL_TIME: "a local time that occurred twice, when clocks were set back",
    QualityFlag.DUPLICATE_ATTRIBUTE: "an attribute told twice, of which the first was taken",
    QualityFlag.SUSPENDED: "suspended for a while",
    QualityFlag.RERUN: "run again after it was sent back to the queue",
    QualityFlag.NO_END_RECORD: "started, and no record tells of its end",
}
LEFT_OUT: dict[LeftOut, str] = {
    LeftOut.NEVER_STARTED: "never started",
    LeftOut.UNKNOWN_RUNTIME: "runtime unknown",
    LeftOut.UNKNOWN_PROCS: "processors unknown",
    LeftOut.WIDER_THAN_MACHINE: "needs more processors than the machine has",
    LeftOut.OUTSIDE_WINDOW: "outside the part of the record that is replayed",
    LeftOut.BEFORE_WINDOW: "there when that part begins, and not counted",
}
SOURCE: dict[EstimateSource, str] = {
    EstimateSource.MODEL: "a model fitted on jobs that had ended before",
    EstimateSource.HISTORY: "runtimes of the user's last two completed jobs",
    EstimateSource.REQUEST: "the job's own request",
    EstimateSource.FALLBACK: "a fallback, the request being missing",
    EstimateSource.ACTUAL: "the true runtime, which no scheduler knows",
}
UNIT: dict[Unit, str] = {Unit.PROCS: "processors", Unit.NODES: "nodes"}
FORMAT: dict[TraceFormat, str] = {
    TraceFormat.SWF: "Standard Workload Format",
    TraceFormat.SACCT: "Slurm accounting, as sacct prints it",
    TraceFormat.PBS: "PBS accounting log",
    TraceFormat.PM100: "PM100 parquet (Marconi100)",
    TraceFormat.FDATA: "F-DATA parquet (Fugaku)",
}
CAPACITY: dict[CapacitySource, str] = {
    CapacitySource.CONFIG: "stated in configs/traces.yaml",
    CapacitySource.HEADER: "stated in the log's header",
    CapacitySource.OBSERVED_PEAK: "inferred: the most that were ever in use at once",
}
WINDOW: dict[Window, str] = {
    Window.WHOLE: "whole trace",
    Window.STEADY: "steady window",
    Window.SELECTION: "first part of the steady window, which selects",
    Window.CONFIRMATION: "rest of the steady window, which confirms",
}
RESEMBLES: dict[Verdict, str] = {
    Verdict.PASS: "resembles the record",
    Verdict.FAIL: "does not resemble the record",
    Verdict.NOT_ASSESSED: "could not be compared with the record",
}
OUTCOME: dict[Outcome | None, str] = {
    Outcome.ACCEPTED: "better than {baseline}, under every constraint",
    Outcome.CONDITIONAL: "better than {baseline} in this replay, but not all that this rests on was shown",
    Outcome.BLOCKED: "no better than {baseline}, or at the cost of a constraint",
    None: "the evidence does not suffice to compare it with {baseline}",
}
PREDICTOR: dict[Predictor, str] = {
    Predictor.MODEL: "the model",
    Predictor.MODEL_SPLIT_ONLY: "the model, its intervals never updated",
    Predictor.MODEL_QUEUE_STATE: "a model that also sees the queue",
    Predictor.REQUEST: "the user's request",
    Predictor.GLOBAL_MEDIAN: "the median of all ended jobs",
    Predictor.USER_MEDIAN: "the median of the user's ended jobs",
    Predictor.TSAFRIR: "the mean of the user's last two ended jobs",
    Predictor.USER_REQUEST: "the mean of the last two of the same user and request",
}
RUN: dict[EstimateRun, str] = {
    EstimateRun.AS_REPLAYED: "as replayed",
    EstimateRun.HISTORY_HONEST: "without what was not yet known",
}

DEMANDED = {
    "p95_bsld": "gain",
    "starved_ratio": "starvation",
    "jain_service": "fairness",
    "utilisation_ratio": "utilisation",
}
# Measures on which demands are made, in a word.
VARIED: dict[Varied, str] = {
    Varied.GUARD_K: "guard on forecasts (k)",
    Varied.TAU_S: "least runtime in bounded slowdown (s)",
    Varied.CAPACITY: "machine's size (times)",
    Varied.JOBS: "jobs that take part",
    Varied.MIN_GAIN_RATIO: "gain that is asked for (ratio)",
    Varied.MAX_JAIN_SERVICE_DROP: "fall of Jain's index that is allowed",
    Varied.STARVED_AFTER_S: "wait that is starving (s)",
    Varied.OVERRUN: "job that outlives its request",
    Varied.ESTIMATES: "what forecasts may know",
}


def in_words(criteria: str) -> str:
    """Claim criteria, separated by commas, in words."""
    return ", ".join(CLAIM[ClaimCriterion(word)] for word in criteria.split(", "))
