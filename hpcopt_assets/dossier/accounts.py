"""Chapters that account: what was read, what was left out and why, what is not modelled, what was configured.

In:  TraceEvidence.   Out: blocks.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from hpcopt_assets.contracts.sentences import NOT_MODELLED
from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.contracts.vocabulary import EstimateSource, LeftOut, QualityFlag, RejectCode
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Block, Bullets, Column, Heading, Item, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import REPLAY, TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, count, duration, instant, share

LINES = (
    ("lines read", "lines_count"),
    ("of these: stating a header field", "header_lines_count"),
    ("of these: other comments", "comment_lines_count"),
    ("of these: blank", "blank_lines_count"),
    ("of these: merged into jobs", "job_lines_count"),
    ("of these: rejected", "rejects_count"),
    ("jobs", "jobs_count"),
    ("jobs that the registry does not select", "unselected_jobs_count"),
    ("jobs with a known start", "started_jobs_count"),
)
SCHEDULES = f"{REPLAY}POLICY"
FACT = (Column("fact"), Column("value"))


def what_was_read(evidence: TraceEvidence) -> list[Block]:
    """The trace's own facts, and an account of every line."""
    facts = evidence.facts
    source = facts["capacity_source"]
    rows = (
        ("trace", evidence.trace_id),
        ("format", words.FORMAT[facts["format"]]),
        ("files", count(facts["files_count"])),
        ("SHA-256 of the source", facts["sha256"]),
        ("machine, as the header names it", facts["computer"] or UNKNOWN),
        ("site, as the header names it", facts["installation"] or UNKNOWN),
        ("time zone", facts["timezone"] or UNKNOWN),
        ("first release", instant(facts["first_release_s"])),
        ("last end", instant(facts["last_end_s"])),
        (
            f"capacity in {words.UNIT[facts['capacity_unit']]}",
            f"{count(facts['capacity_procs'])} ({words.CAPACITY[source] if source else 'source not known'})",
        ),
        (
            f"most {words.UNIT[facts['capacity_unit']]} in use at once, as recorded",
            count(facts["observed_peak_procs"]),
        ),
        ("time the record exceeds the capacity", duration(facts["observed_over_capacity_s"])),
        ("synthetic", "yes: no machine stood behind this trace" if facts["is_synthetic"] else "no"),
    )
    lines = tuple((name, count(facts[key])) for name, key in LINES)
    blocks: list[Block] = [
        Heading(2, "What was read"),
        Table("The trace.", FACT, rows, (INGEST_REPORT.name,)),
        Table(
            "Every line is accounted for.",
            (Column("lines and jobs"), Column("count", Kind.NUMBER)),
            lines,
            (INGEST_REPORT.name,),
        ),
    ]
    if facts["notes"]:
        blocks += [
            Paragraph("What the log says of itself:"),
            Bullets(tuple(Item("", note) for note in facts["notes"])),
        ]
    return blocks


def left_out(evidence: TraceEvidence) -> list[Block]:
    """Rejected lines by code, jobs left out by reason, requests replaced, remarkable rows."""
    return [
        Heading(2, "What was left out, and why"),
        _rejects(evidence),
        _jobs_left_out(evidence),
        _estimates(evidence),
        _flags(evidence),
    ]


def not_modelled(_: TraceEvidence) -> list[Block]:
    """What no replay here has, whatever its verdict."""
    return [
        Heading(2, "What is not modelled"),
        Bullets(tuple(Item(f"{lead}:", text) for lead, text in NOT_MODELLED)),
    ]


def configuration(evidence: TraceEvidence) -> list[Block]:
    """Every decision behind the numbers, key by key."""
    names = ("id", "order", "backfill", "backfill_order", "estimate", "hold", "overrun", "is_bound")
    policies = tuple(
        tuple(_plain(getattr(policy, name)) for name in names) for policy in evidence.policies.policies
    )
    baselines = ", ".join(evidence.policies.fidelity_baselines)
    return [
        Heading(2, "Configuration"),
        Table(
            f"configs/policies.yaml. Held against the record first: {baselines}.",
            tuple(Column(name) for name in names),
            policies,
        ),
        *(
            _settings(f"configs/{name}.yaml", content)
            for name, content in evidence.decisions.items()
            if name != "policies"
        ),
    ]


def _rejects(evidence: TraceEvidence) -> Block:
    rejects = evidence.table(TRACE_REJECTS.name)
    if rejects.is_empty():
        return Paragraph("No line of the log was rejected.")
    by_code = rejects.group_by("code", maintain_order=True).agg(
        pl.len(), pl.col("source_file", "source_line", "reason", "text").first()
    )
    rows = tuple(
        (
            words.REJECT[RejectCode(row["code"])],
            count(row["len"]),
            f"{row['source_file']}, line {row['source_line']}",
            row["reason"],
            row["text"],
        )
        for row in by_code.sort("len", "code", descending=[True, False]).iter_rows(named=True)
    )
    columns = (
        Column("reason"),
        Column("lines (count)", Kind.NUMBER),
        Column("first such line"),
        Column("found and needed"),
        Column("its text", Kind.CODE),
    )
    return Table("Lines that became no job.", columns, rows, (TRACE_REJECTS.name,))


def _jobs_left_out(evidence: TraceEvidence) -> Block:
    policies_by_count: dict[tuple[str, int], list[str]] = {}
    schedules = evidence.schedules
    for policy, schedule in schedules.items():
        found = (
            schedule["left_out"]
            .drop_nulls()
            .value_counts()
            .sort("count", "left_out", descending=[True, False])
        )
        for word, number in found.iter_rows():
            policies_by_count.setdefault((word, number), []).append(policy)
    if not policies_by_count:
        return Paragraph("Every job of the trace took part in every replay.")
    everywhere = len(schedules)
    rows = tuple(
        (
            words.LEFT_OUT[LeftOut(word)],
            count(number),
            share(number / evidence.jobs.height),
            "all" if len(policies) == everywhere else ", ".join(policies),
        )
        for (word, number), policies in policies_by_count.items()
    )
    columns = (
        Column("reason"),
        Column("jobs (count)", Kind.NUMBER),
        Column("share of jobs", Kind.NUMBER),
        Column("in replays of"),
    )
    return Table("Jobs that took no part in a replay.", columns, rows, (SCHEDULES,))


def _estimates(evidence: TraceEvidence) -> Table:
    """What each replay believed; that nothing was made up is said once, in the caption."""
    rows, made_up = [], 0
    for policy, schedule in evidence.schedules.items():
        sources = schedule["estimate_source"].drop_nulls()
        for source in EstimateSource:
            number = int((sources == source.value).sum())
            made_up += number if source is EstimateSource.FALLBACK else 0
            if number:
                rows.append(
                    (policy, words.SOURCE[source], count(number), share(number / max(1, len(sources))))
                )
    columns = (
        Column("policy"),
        Column("runtime believed"),
        Column("jobs (count)", Kind.NUMBER),
        Column("share of replayed jobs", Kind.NUMBER),
    )
    caption = "What the replays believed jobs would run for."
    if not made_up:
        caption += " No replay needed a stand-in for a missing request."
    return Table(caption, columns, tuple(rows), (SCHEDULES,))


def _flags(evidence: TraceEvidence) -> Block:
    found = evidence.jobs["quality_flags"].explode().drop_nulls().value_counts(sort=True, name="jobs")
    if found.is_empty():
        return Paragraph("No job row is remarkable.")
    rows = tuple(
        (words.FLAG[QualityFlag(flag)], count(number), share(number / evidence.jobs.height))
        for flag, number in found.sort("jobs", "quality_flags", descending=[True, False]).iter_rows()
    )
    columns = (Column("remark"), Column("jobs (count)", Kind.NUMBER), Column("share of jobs", Kind.NUMBER))
    return Table("Jobs that were kept, but are remarkable.", columns, rows, (TRACE_JOBS.name,))


def _settings(name: str, content: dict[str, Any]) -> Table:
    columns = (Column("key", Kind.CODE), Column("value"))
    return Table(f"{name}.", columns, tuple((key, _plain(value)) for key, value in _leaves(content)))


def _leaves(content: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(content, dict):
        inner = ((f"{path}.{key}".lstrip("."), value) for key, value in content.items())
    elif isinstance(content, list):
        inner = ((f"{path}[{i}]", value) for i, value in enumerate(content))
    else:
        return [(path, content)]
    return [leaf for key, value in inner for leaf in _leaves(value, key)]


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
