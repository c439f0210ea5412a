"""Lines of a PBS accounting log: which record a line is, and its attributes, still as text.

In:  a block of whole lines.   Out: `Lines`: records of jobs (`SCHEMA`), refused lines, counts of the others.
Not here: what the texts mean (typed.py), what records together tell of a job (attempts.py).
Source: OpenPBS, src/include/acct.h and src/server/accounting.c; Torque Administrator Guide, "Accounting
     records".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import polars as pl

from hpcopt_assets.contracts.vocabulary import RejectCode
from hpcopt_assets.ingest.source import TEXT_CHARS

QUEUED, STARTED, RESTARTED, ENDED, RERUN = "Q", "S", "T", "E", "R"
CHECKPOINTED, DELETED, ABORTED, MOVED, SUSPENDED, RESUMED = "C", "D", "A", "M", "z", "r"
TELLING = frozenset({QUEUED, STARTED, RESTARTED, ENDED, RERUN})
# Records that describe the job; the others have no attributes, or repeat or anticipate these.
OF_JOBS = TELLING | {CHECKPOINTED, DELETED, ABORTED, MOVED, SUSPENDED, RESUMED} | set("aucesPp")
# Besides events: altered; phases of a job that gives nodes back (u, c, e) or prunes them (s); provisioning.
OF_NO_JOB = frozenset("LBFKkUYy")
# Licences (L) and reservations.
RECORD = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([^;]*);([^;]*)(?:;(.*))?", re.ASCII | re.DOTALL)
LOCAL_TIME = "%m/%d/%Y %H:%M:%S"
COMMENT_MARKS = ";#"
REPLACED = "\N{REPLACEMENT CHARACTER}"
NEEDED = "no record, `MM/DD/YYYY HH:MM:SS;type;job id;attributes` needed"

ATTRIBUTES = {
    "user": "user",
    "group": "group",
    "account": "account",
    "project": "project",
    "queue": "queue",
    "name": "jobname",
    "ctime": "ctime",
    "qtime": "qtime",
    "etime": "etime",
    "start": "start",
    "end": "end",
    "exit_status": "Exit_status",
    "run_count": "run_count",
    "exec_host": "exec_host",
    "exec_vnode": "exec_vnode",
    "exec_gpus": "exec_gpus",
    "total_slots": "total_execution_slots",
    "node_count": "unique_node_count",
    "array_indices": "array_indices",
    "walltime": "Resource_List.walltime",
    "select": "Resource_List.select",
    "node_spec": "Resource_List.nodes",
    "nodect": "Resource_List.nodect",
    "ncpus": "Resource_List.ncpus",
    "slots": "Resource_List.procs",
    "ngpus": "Resource_List.ngpus",
    "site_gpus": "Resource_List.gpus",
    "site_gpu": "Resource_List.gpu",
    "memory": "Resource_List.mem",
    "memory_per_proc": "Resource_List.pmem",
    "used_walltime": "resources_used.walltime",
    "used_cput": "resources_used.cput",
    "used_memory": "resources_used.mem",
    "used_ncpus": "resources_used.ncpus",
}
# Column -> attribute.
ATTRIBUTE_NAMES = frozenset(ATTRIBUTES.values())
ATTRIBUTES_SCHEMA = {"is_duplicate": pl.Boolean, **dict.fromkeys(ATTRIBUTES, pl.String)}
SCHEMA = pl.Schema(
    {
        "source_line": pl.Int64,
        "kind": pl.String,
        "job_id": pl.String,
        "local_s": pl.Int64,
        "text_hash": pl.UInt64,
        **ATTRIBUTES_SCHEMA,
    }
)
# `local_s` is the record's local time as if it were UTC; `text_hash` orders records that contradict each
# other, whatever lines they stand in, in the same way for all time.
HEAD_SCHEMA = pl.Schema(
    {
        "source_line": pl.Int64,
        "kind": pl.String,
        "job_id": pl.String,
        "local_time": pl.String,
        "text_hash": pl.UInt64,
        "text": pl.String,
    }
)
HASH_BYTES = 8

PAIR = re.compile(
    r"""(?<![^ \t])([^ \t=]+)=("(?:[^"\\]|\\.)*+"(?![^ \t])|'[^']*+'(?![^ \t])|[^ \t]*)""", re.DOTALL
)
# PBS writes "..." around a value with a space, '...' if it holds a double quote too, and newer versions
# escape quotes by a backslash. A quote that is not closed before a space is part of a bare value.
ESCAPED = re.compile(r"""\\(["\\])""")
INTRICATE = r"""\\|=(?:"[^" \t]*[ \t]|'[^' \t]*[ \t])"""
# A backslash, or a quoted value with a space: not to be split at spaces.
QUOTED = r"""^(?:"(.*)"|'(.*)')$"""
OCCURRENCE = rf"(?:^|[ \t])(?:{'|'.join(map(re.escape, ATTRIBUTES.values()))})="


class Lost(NamedTuple):
    """A line that is no record of a job; `text` is its first 200 characters."""

    source_line: int
    code: RejectCode
    reason: str
    text: str


@dataclass(frozen=True)
class Lines:
    """What the lines of a block are. `records` has one row per record of a job (`SCHEMA`)."""

    records: pl.DataFrame
    lost: list[Lost]
    count: int
    comment_count: int
    blank_count: int


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1]:
        if value[0] == '"':
            return ESCAPED.sub(r"\1", value[1:-1])
        if value[0] == "'":
            return value[1:-1]
    return value


def attributes(text: str) -> tuple[bool | str | None, ...]:
    """Whether an attribute that is read occurs twice, and the values of `ATTRIBUTES`: the careful way.

    Of two occurrences the first counts. Values may be quoted and then hold spaces and `=`. Words that are no
    `name=value` are passed over.
    """
    pairs = PAIR.findall(text)
    found = {name: _unquoted(value) for name, value in reversed(pairs)}
    values = [found.get(name) for name in ATTRIBUTES.values()]
    occurrences = sum(name in ATTRIBUTE_NAMES for name, _ in pairs)
    return (occurrences > len(values) - values.count(None), *values)


def _plain_attributes(texts: pl.Series) -> pl.DataFrame:
    """`attributes` of texts that can be split at spaces, all together (`ATTRIBUTES_SCHEMA`)."""
    frame = texts.to_frame("text").select(
        pl.col("text").str.count_matches(OCCURRENCE).alias("occurrences"),
        *(
            pl.col("text").str.extract(rf"(?:^|[ \t]){re.escape(attribute)}=([^ \t]*)").alias(name)
            for name, attribute in ATTRIBUTES.items()
        ),
    )
    quoted = [name for name in ATTRIBUTES if frame[name].str.contains(r"""^["']""").any()]
    groups = (pl.col(name).str.extract_groups(QUOTED).struct for name in quoted)
    return frame.with_columns(
        pl.coalesce(group.field("1"), group.field("2"), name).alias(name)
        for name, group in zip(quoted, groups, strict=True)
    ).select(
        (pl.col("occurrences") > pl.sum_horizontal(pl.col(name).is_not_null() for name in ATTRIBUTES)).alias(
            "is_duplicate"
        ),
        *ATTRIBUTES,
    )


def _with_attributes(heads: pl.DataFrame) -> pl.DataFrame:
    """`SCHEMA` of records, in no order; both ways of reading attributes give equal results."""
    tells = pl.col("kind").is_in(TELLING)
    is_intricate = pl.col("text").str.contains(INTRICATE)
    plain = heads.filter(tells & ~is_intricate)
    intricate = heads.filter(tells & is_intricate)
    silent = heads.filter(~tells)
    nothing = pl.DataFrame(schema=ATTRIBUTES_SCHEMA)
    rows = [attributes(text) for text in intricate["text"]]
    return pl.concat(
        [
            plain.hstack(_plain_attributes(plain["text"])),
            intricate.hstack(pl.DataFrame(rows, schema=ATTRIBUTES_SCHEMA, orient="row")),
            silent.hstack(nothing.clear(silent.height)),
        ]
    )


def _dated(heads: pl.DataFrame) -> tuple[pl.DataFrame, list[Lost]]:
    """Records with `local_s`, and those whose date or time of day does not exist."""
    heads = heads.with_columns(
        local_s=pl.col("local_time").str.to_datetime(LOCAL_TIME, strict=False).dt.epoch("s")
    )
    is_dated = pl.col("local_s").is_not_null()
    lost = [
        Lost(
            number,
            RejectCode.NOT_A_TIME,
            f"time {local_time!r}, one that exists needed",
            f"{local_time};{kind};{job_id};{text}"[:TEXT_CHARS],
        )
        for number, kind, job_id, local_time, text in heads.filter(~is_dated)
        .select("source_line", "kind", "job_id", "local_time", "text")
        .iter_rows()
    ]
    return heads.filter(is_dated), lost


def _refusal(kind: str, job_id: str) -> tuple[RejectCode, str] | None:
    """Why a record cannot be taken for one of a job; None if it can."""
    if kind not in OF_JOBS:
        known = "".join(sorted(OF_JOBS | OF_NO_JOB))
        return RejectCode.UNKNOWN_RECORD_TYPE, f"record type {kind[:20]!r}, one of {known} needed"
    if not job_id:
        return RejectCode.NO_JOB_ID, "the job id is empty, one needed"
    if REPLACED in job_id:
        return RejectCode.UNDECODABLE, f"job id {job_id[:40]!r} holds bytes that are no UTF-8, UTF-8 needed"
    return None


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=HASH_BYTES).digest())


def read_lines(block: bytes, first_line: int) -> Lines:
    """Every line of a block (which ends in a newline), numbered from `first_line`.

    Bytes that are no UTF-8 are replaced; they matter only in a job id.
    """
    lines = block.decode("utf-8", "replace").split("\n")
    lines.pop()
    rows: list[tuple[int, str, str, str, int, str]] = []
    lost: list[Lost] = []
    comments = blanks = 0
    for number, raw in enumerate(lines, first_line):
        line = raw.strip()
        record = RECORD.fullmatch(line)
        if record is None:
            if not line:
                blanks += 1
            elif line[0] in COMMENT_MARKS:
                comments += 1
            else:
                lost.append(Lost(number, RejectCode.NOT_A_RECORD, NEEDED, raw[:TEXT_CHARS]))
            continue
        local_time, kind, job_id, text = record.groups("")
        if kind in OF_NO_JOB:
            comments += 1
        elif (refusal := _refusal(kind, job_id)) is not None:
            lost.append(Lost(number, *refusal, raw[:TEXT_CHARS]))
        else:
            rows.append((number, kind, job_id, local_time, _hash(text), text))
    columns = dict(zip(HEAD_SCHEMA, zip(*rows, strict=True), strict=True)) if rows else {}
    heads, undated = _dated(pl.DataFrame(columns, schema=HEAD_SCHEMA))
    records = _with_attributes(heads).select(SCHEMA.names())
    return Lines(records, lost + undated, len(lines), comments, blanks)
