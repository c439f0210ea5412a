"""The tables: every column of every table, once.

In:  columns.py, vocabulary.py.   Out: `TABLES` and one constant a table.
Not here: how a table is made (its room) or stored (orchestration/).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.contracts.columns import PROCS_MAX, TIME_MAX_S, Column, DType, Rule, Table
from hpcopt_assets.contracts.forecast_tables import FORECAST_TABLES
from hpcopt_assets.contracts.makers import (
    ATTEMPT,
    JOB_ID,
    PERIOD,
    POLICY,
    PROCS,
    RELEASE_S,
    SUBMIT_S,
    TRACE_ID,
    USER,
    count,
    flag,
    instant,
    procs,
    real,
    seconds,
    size_bytes,
    text,
    word,
)
from hpcopt_assets.contracts.measure_columns import MEASURES
from hpcopt_assets.contracts.placement_tables import PLACEMENT_TABLES
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS, SHAKEN_MEASURES
from hpcopt_assets.contracts.stress_tables import STRESS_TABLES

WAIT_RULE = Rule(
    "wait_is_start_minus_release",
    "wait_s = start_s - release_s",
    lambda: pl.col("wait_s") == pl.col("start_s") - pl.col("release_s"),
)
END_RULE = Rule(
    "end_is_start_plus_runtime",
    "end_s = start_s + runtime_s",
    lambda: pl.col("end_s") == pl.col("start_s") + pl.col("runtime_s"),
)

# --- ingest -----------------------------------------------------------------------------------------

RAW_TRACE = Table(
    "raw_trace",
    "One row per source file of a trace: what was found in data/raw and what the registry says of the trace.",
    (
        TRACE_ID,
        text("source_file", "path of the file, relative to data/raw"),
        word("format", "format, found from the content or given by the registry", v.TraceFormat.words()),
        text("sha256", "SHA-256 of the file's bytes"),
        size_bytes("size_bytes", "size of the file", nullable=False),
        text("entry", "the trace's entry of configs/traces.yaml, as JSON"),
    ),
    key=("trace_id", "source_file"),
)

TRACE_JOBS = Table(
    "trace_jobs",
    "One row per job of a trace, in the order (release_s, submit_s, job order).",
    (
        TRACE_ID,
        JOB_ID,
        text("source_file", "file the job was read from, relative to data/raw"),
        count("source_line", "line of that file, from 1", unit="line", lo=1),
        SUBMIT_S,
        instant("eligible_s", "when dependencies and holds were over, as the log says", nullable=True),
        instant("start_s", "when the job started", nullable=True),
        instant("end_s", "when the job ended", nullable=True),
        seconds(
            "wait_s", "start minus release; null for a job that never started", nullable=True, lo=-TIME_MAX_S
        ),
        seconds("runtime_s", "how long the job ran; null where unknown", nullable=True),
        RELEASE_S,
        seconds("hold_s", "release minus submit"),
        seconds("requested_runtime_s", "requested runtime (walltime) where it is a time", nullable=True),
        word("requested_runtime_kind", "what the log says as a requested runtime", v.RequestKind.words()),
        seconds(
            "partition_limit_s", "longest runtime of its partition, by the registry", nullable=True, lo=1
        ),
        PROCS,
        procs("requested_procs", "processors asked for", nullable=True),
        procs("allocated_procs", "processors given", nullable=True),
        count("nodes", "nodes given or asked for", unit="nodes", nullable=True, hi=PROCS_MAX),
        count("gpus", "GPUs given or asked for", unit="GPUs", nullable=True, hi=PROCS_MAX),
        size_bytes("requested_memory_bytes", "memory asked for, whole job"),
        size_bytes("used_memory_bytes", "memory used, whole job"),
        real("cpu_used_s", "processor time used, whole job", "s", hi=2.0**64),
        word("state", "how the job ended", v.JobState.words()),
        ATTEMPT,
        count("attempt_count", "attempts the job had", unit="attempts", lo=1),
        USER,
        text("group", "group of the user", nullable=True),
        text("account", "account or project charged", nullable=True),
        text("queue", "queue the job was submitted to", nullable=True),
        text("partition", "partition the job ran in", nullable=True),
        text("name", "the job's name, or the number of its executable, as the log writes it", nullable=True),
        text("array_job_id", "array the job belongs to", nullable=True),
        text("het_group_id", "heterogeneous job the row is a component of", nullable=True),
        text("preceding_job_id", "job that had to end first", nullable=True),
        seconds(
            "think_time_s", "seconds between the end of the preceding job and the submission", nullable=True
        ),
        Column(
            "quality_flags", DType.STRINGS, "what is remarkable about this row", words=v.QualityFlag.words()
        ),
    ),
    key=("trace_id", "job_id", "attempt"),
    rules=(
        WAIT_RULE,
        END_RULE,
        Rule(
            "hold_is_release_minus_submit",
            "hold_s = release_s - submit_s",
            lambda: pl.col("hold_s") == pl.col("release_s") - pl.col("submit_s"),
        ),
        Rule(
            "procs_is_requested_else_allocated",
            "procs = requested_procs where known, else allocated_procs",
            lambda: pl.col("procs").eq_missing(pl.coalesce("requested_procs", "allocated_procs")),
        ),
        Rule(
            "request_has_its_kind",
            "requested_runtime_s is known exactly where its kind is `limit`",
            lambda: (
                pl.col("requested_runtime_s").is_not_null()
                == (pl.col("requested_runtime_kind") == v.RequestKind.LIMIT.value)
            ),
        ),
    ),
)

TRACE_REJECTS = Table(
    "trace_rejects",
    "One row per input line that became no job.",
    (
        TRACE_ID,
        text("source_file", "file the line stands in, relative to data/raw"),
        count("source_line", "line of that file, from 1", unit="line", lo=1),
        word("code", "why, as a word of a closed vocabulary", v.RejectCode.words()),
        text("reason", "what was found and what was needed"),
        text("text", "the line's first 200 characters"),
    ),
    key=("trace_id", "source_file", "source_line"),
)

INGEST_REPORT = Table(
    "ingest_report",
    "One row per trace: what was read, what became of each line, and what machine it speaks of.",
    (
        TRACE_ID,
        word("format", "format of the log", v.TraceFormat.words()),
        count("files_count", "source files", unit="files", lo=1),
        text("sha256", "SHA-256 of the source; of several files, of their names and hashes"),
        count("lines_count", "lines (rows, in parquet) read", unit="lines"),
        count("header_lines_count", "lines that state a header field", unit="lines"),
        count("comment_lines_count", "other comment lines", unit="lines"),
        count("blank_lines_count", "blank lines", unit="lines"),
        count("job_lines_count", "lines merged into jobs", unit="lines"),
        count("rejects_count", "lines that became no job", unit="lines"),
        count("jobs_count", "jobs (rows of trace_jobs)", unit="jobs"),
        count("unselected_jobs_count", "jobs of the log that the registry leaves out", unit="jobs"),
        count("started_jobs_count", "jobs with a known start", unit="jobs"),
        text("computer", "machine, as the header names it", nullable=True),
        text("installation", "site, as the header names it", nullable=True),
        text("timezone", "time zone, from the config or the header", nullable=True),
        Column("notes", DType.STRINGS, "the header's notes"),
        instant("unix_start_s", "the header's UnixStartTime, to which its offsets were added", nullable=True),
        instant("first_release_s", "first release of a job", nullable=True),
        instant("last_end_s", "last known end of a job", nullable=True),
        procs("capacity_procs", "size of the machine, in `capacity_unit`", nullable=True),
        word("capacity_unit", "what a job occupies: processors or whole nodes", v.Unit.words()),
        word("capacity_source", "where the capacity was taken from", v.CapacitySource.words(), nullable=True),
        Column(
            "capacity_step_at_s",
            DType.INT64S,
            "from when on it has another size",
            unit="s since 1970-01-01 UTC",
        ),
        Column("capacity_step_procs", DType.INT64S, "that size, in `capacity_unit`", unit="processors"),
        procs("observed_peak_procs", "most processors in use at once, as recorded", nullable=True),
        seconds("observed_over_capacity_s", "how long the record exceeds the capacity", nullable=True),
        flag("is_synthetic", "no machine stood behind this trace"),
    ),
    key=("trace_id",),
    rules=(
        Rule(
            "lines_are_conserved",
            "lines read = header + comment + blank + merged into jobs + rejects",
            lambda: (
                pl.col("lines_count")
                == pl.sum_horizontal(
                    "header_lines_count",
                    "comment_lines_count",
                    "blank_lines_count",
                    "job_lines_count",
                    "rejects_count",
                )
            ),
        ),
    ),
)

# --- profile ----------------------------------------------------------------------------------------

TRACE_PROFILE = Table(
    "trace_profile",
    "One row per measure of a trace's workload and item (quantile, hour, week, user's burst): one number.",
    (
        TRACE_ID,
        word("topic", "what the measure is about", v.ProfileTopic.words()),
        word("measure", "what is stated", v.ProfileMeasure.words()),
        text("item", "of what: `p50`, `hour 13`, `week 2024-01-01`, `flurry 1`, `all` ..."),
        count("position", "place of the item among those of its measure, from 1", unit="ordinal", lo=1),
        real(
            "value", "the number; null where it is not known, and `note` then says why", "see unit", lo=None
        ),
        text("unit", "unit of value, lower and upper"),
        real("lower", "lower end of the 95 % interval, where there is one", "see unit", lo=None),
        real("upper", "upper end of the 95 % interval, where there is one", "see unit", lo=None),
        count("evidence_count", "jobs (gaps, hours, users) that the value rests on"),
        text("user", "the user that the row is about", nullable=True),
        instant("start_s", "start of the stretch of time that the row is about", nullable=True),
        instant("end_s", "end of that stretch (excluded)", nullable=True),
        text("note", "why the value is null, or what else there is to know", nullable=True),
    ),
    key=("trace_id", "topic", "measure", "item"),
    rules=(
        Rule(
            "null_has_its_reason",
            "value is known, or note says why it is not",
            lambda: pl.col("value").is_not_null() | pl.col("note").is_not_null(),
        ),
        Rule(
            "numbers_are_finite",
            "value, lower and upper are finite where they are known",
            lambda: pl.all_horizontal(pl.col("value", "lower", "upper").is_finite().fill_null(True)),
        ),
        Rule(
            "interval_holds_its_value",
            "lower <= value <= upper",
            lambda: pl.col("value").is_between("lower", "upper"),
        ),
    ),
)

# --- replay -----------------------------------------------------------------------------------------

REPLAY_SCHEDULE = Table(
    "replay_schedule",
    "One row per job of the trace under one policy; a job left out has its reason and no start.",
    (
        TRACE_ID,
        POLICY,
        JOB_ID,
        ATTEMPT,
        SUBMIT_S,
        RELEASE_S,
        instant("start_s", "when the replay started the job", nullable=True),
        instant("end_s", "start plus replayed runtime", nullable=True),
        seconds("wait_s", "start minus release", nullable=True),
        seconds("runtime_s", "replayed runtime", nullable=True),
        PROCS,
        seconds("limit_s", "requested runtime, or what stands in for a missing one", nullable=True, lo=1),
        seconds("estimate_s", "what the policy believed the job would run for", nullable=True, lo=1),
        word("estimate_source", "where the estimate came from", v.EstimateSource.words(), nullable=True),
        word("left_out", "why the job takes no part in the replay", v.LeftOut.words(), nullable=True),
        USER,
    ),
    key=("trace_id", "policy", "job_id", "attempt"),
    rules=(
        Rule(
            "started_or_left_out",
            "a job has a start exactly where it has no reason to be left out",
            lambda: pl.col("start_s").is_not_null() == pl.col("left_out").is_null(),
        ),
        WAIT_RULE,
        END_RULE,
    ),
)

INVARIANT_REPORT = Table(
    "invariant_report",
    "One row per policy and rule that every schedule must keep, checked on the finished schedule.",
    (
        TRACE_ID,
        POLICY,
        word("invariant", "the rule", v.Invariant.words()),
        word("verdict", "whether it was kept", v.Verdict.words()),
        count("checked_count", "jobs or instants checked"),
        count("violations_count", "how many break the rule"),
        text("job_id", "first job that breaks it", nullable=True),
        instant("at_s", "when it is first broken", nullable=True),
        text("found", "what was found there", nullable=True),
        text("allowed", "what was allowed there", nullable=True),
    ),
    key=("trace_id", "policy", "invariant"),
)

REPLAY_MEASURES = Table(
    "replay_measures",
    "One row per policy (and `observed`) and window: every measure of the schedule.",
    (
        TRACE_ID,
        POLICY,
        word(
            "time_window", "the whole schedule, its steady part, or that part's two parts", v.Window.words()
        ),
        instant("window_start_s", "start of the window", nullable=True),
        instant("window_end_s", "end of the window (excluded)", nullable=True),
        *MEASURES,
    ),
    key=("trace_id", "policy", "time_window"),
)

# --- verdicts ---------------------------------------------------------------------------------------

_MEASURED = (
    word("verdict", "PASS, FAIL or NOT_ASSESSED", v.Verdict.words()),
    real("measured", "what was measured", "see unit", lo=None),
    real("limit", "what it is judged against", "see unit", lo=None),
    text("unit", "unit of measured and limit"),
    count("evidence_count", "jobs, bins or samples the value rests on"),
    text("reason", "the verdict in a sentence"),
)

FIDELITY_VERDICTS = Table(
    "fidelity_verdicts",
    "One row per policy, period and criterion: is its replay like what was observed?",
    (
        TRACE_ID,
        POLICY,
        PERIOD,
        word("criterion", "what is compared", v.FidelityCriterion.words()),
        *_MEASURED,
    ),
    key=("trace_id", "policy", "period", "criterion"),
)

POLICY_CLOSENESS = Table(
    "policy_closeness",
    "One row per period and policy that is no bound: how close its waits are to the record's.",
    (
        TRACE_ID,
        PERIOD,
        POLICY,
        count(
            "rank",
            "place among the policies, the closest is 1; as close share one; null where too few jobs ran",
            unit="ordinal",
            nullable=True,
            lo=1,
        ),
        real("distance", "mean over jobs of |ln((replayed wait + floor) / (observed wait + floor))|", "nats"),
        count("jobs_count", "jobs that ran in the record and in every replay", unit="jobs"),
        word("fidelity", "`overall` in fidelity_verdicts: the closest need not be alike", v.Verdict.words()),
        text("reason", "the rank in a sentence, or why there is none"),
    ),
    key=("trace_id", "period", "policy"),
    rules=(
        Rule(
            "ranked_by_distance",
            "a policy has a rank exactly where it has a distance",
            lambda: pl.col("rank").is_not_null() == pl.col("distance").is_not_null(),
        ),
    ),
)

CLAIM_VERDICTS = Table(
    "claim_verdicts",
    "One row per candidate and criterion: is the candidate better than the baseline?",
    (
        TRACE_ID,
        POLICY,
        text("baseline", "id of the policy it is compared with"),
        word("criterion", "what is judged", v.ClaimCriterion.words()),
        *_MEASURED,
        word("outcome", "what the claim amounts to (row `overall` only)", v.Outcome.words(), nullable=True),
        real(
            "weighted_score",
            "fall of p95_bsld, gain of utilisation and loss of jain_service, weighed (row `overall` only); "
            "for diagnosis, no verdict reads it",
            "ratio",
            lo=None,
        ),
    ),
    key=("trace_id", "policy", "criterion"),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        RAW_TRACE,
        TRACE_JOBS,
        TRACE_REJECTS,
        INGEST_REPORT,
        TRACE_PROFILE,
        REPLAY_SCHEDULE,
        INVARIANT_REPORT,
        REPLAY_MEASURES,
        FIDELITY_VERDICTS,
        POLICY_CLOSENESS,
        CLAIM_VERDICTS,
        *PLACEMENT_TABLES,
        *FORECAST_TABLES,
        SHAKEN_MEASURES,
        ROBUSTNESS,
        RECOMMENDATION,
        *STRESS_TABLES,
    )
}
