"""Chapters that compare: policies at a glance, claims, fidelity, invariants, every measure.

In:  TraceEvidence.   Out: blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from hpcopt_assets.contracts.columns import DType
from hpcopt_assets.contracts.measure_columns import MEASURE_KEYS
from hpcopt_assets.contracts.tables import (
    CLAIM_VERDICTS,
    FIDELITY_VERDICTS,
    INVARIANT_REPORT,
    REPLAY_MEASURES,
)
from hpcopt_assets.contracts.vocabulary import (
    OBSERVED,
    ClaimCriterion,
    FidelityCriterion,
    Invariant,
    Verdict,
    Window,
)
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Block, Bullets, Column, Heading, Item, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row, TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, count, duration, instant, real, share
from hpcopt_assets.dossier.summary import ABOUT_ALL, ranked

GLANCE = (REPLAY_MEASURES.name, FIDELITY_VERDICTS.name, CLAIM_VERDICTS.name)
POLICIES_ABREAST = 5
# More columns than these (and the observed one) do not fit an A4 page.
OVERALL = ClaimCriterion.OVERALL.value  # the same word as in fidelity
JUDGED = (
    Column("verdict", Kind.VERDICT),
    Column("measured", Kind.NUMBER),
    Column("limit", Kind.NUMBER),
    Column("unit"),
    Column("rests on (count)", Kind.NUMBER),
    Column("reason"),
)


def at_a_glance(evidence: TraceEvidence) -> list[Block]:
    """One row a policy, with the two verdicts about it, and what each policy means."""
    candidates = {policy.id for policy in evidence.candidates}
    rows = [(OBSERVED, *_headline(evidence, OBSERVED), "the record itself", "")]
    for policy in evidence.policies.policies:
        if policy.id in candidates:
            claim = str(evidence.outcome(policy.id) or Verdict.NOT_ASSESSED)
        else:
            claim = "bound, no candidate" if policy.is_bound else "the baseline"
        rows.append((policy.id, *_headline(evidence, policy.id), evidence.likeness(policy.id).value, claim))
    span = evidence.measured(evidence.objective.claims.baseline, Window.STEADY)
    columns = (
        Column("policy"),
        Column("p95 bounded slowdown (ratio)", Kind.NUMBER),
        Column("mean wait", Kind.NUMBER),
        Column("utilisation", Kind.NUMBER),
        Column("Jain's index of service (0 to 1)", Kind.NUMBER),
        Column("starved jobs", Kind.NUMBER),
        Column("like the record?", Kind.VERDICT),
        Column(f"better than {evidence.objective.claims.baseline}?", Kind.VERDICT),
    )
    caption = (
        f"Observed: the log itself. Steady window, from {instant(span['window_start_s'])} to "
        f"{instant(span['window_end_s'])}: the start-up on an empty machine and the drain after the last "
        "release are left out. Starved: waited longer than "
        f"{duration(evidence.objective.measures.starved_after_s)}."
    )
    meanings = tuple(Item(f"{policy.id}:", policy.means) for policy in evidence.policies.policies)
    return [
        Heading(2, "Policies at a glance"),
        _terms(evidence),
        Table(caption, columns, tuple(rows), GLANCE),
        Bullets(meanings),
    ]


def _terms(evidence: TraceEvidence) -> Paragraph:
    measures = evidence.objective.measures
    return Paragraph(
        f"A job's bounded slowdown is (wait + runtime) / max(runtime, {measures.tau_s} s), at least 1: by "
        "what factor waiting stretched it. Nineteen of twenty jobs do not exceed its 95th percentile "
        "(p95_bsld). Jain's index of service (jain_service) is over users' mean bounded slowdowns: 1 where "
        "all fare alike, near 0 where few bear it all; it falls, too, where many come to fare better and "
        "some fare as before. A candidate is a policy that a site could run instead of "
        f"{evidence.objective.claims.baseline}, the baseline; a bound knows what no scheduler can know."
    )


def _headline(evidence: TraceEvidence, policy: str) -> tuple[str, ...]:
    measured = evidence.measured(policy, Window.STEADY)
    return (
        real(measured["p95_bsld"]),
        duration(measured["mean_wait_s"]),
        share(measured["utilisation_ratio"]),
        real(measured["jain_service"]),
        share(measured["starved_ratio"]),
    )


def claims(evidence: TraceEvidence) -> list[Block]:
    """Each candidate against the baseline, best first, with every criterion and its reason."""
    rules = evidence.objective.claims
    blocks: list[Block] = [
        Heading(2, f"Is another policy better than {rules.baseline}?"),
        Paragraph(
            f"A candidate must lower the 95th percentile of bounded slowdown by at least "
            f"{share(rules.min_gain_ratio)} and keep every constraint. ACCEPTED: it does, and the gain is "
            "confirmed on shaken replicas and on other weeks. CONDITIONAL: it gains in this replay, but not "
            "all that this rests on was shown. "
            "BLOCKED: it does not gain enough, or breaks a constraint. NOT_ASSESSED: the evidence does not "
            "suffice; that is never a pass."
        ),
    ]
    order = ranked(evidence)
    bounds = [
        policy
        for policy in evidence.table(CLAIM_VERDICTS.name)["policy"].unique(maintain_order=True)
        if policy not in order
    ]
    for policy in (*order, *bounds):
        rows = evidence.claim_rows(policy)
        judged = _judged(
            f"{policy} against {rules.baseline}, steady window.",
            [(words.CLAIM[ClaimCriterion(row["criterion"])], row) for row in rows],
            CLAIM_VERDICTS.name,
        )
        said = (
            "a bound, no candidate" if policy in bounds else evidence.outcome(policy) or Verdict.NOT_ASSESSED
        )
        blocks += [Heading(3, f"{policy}: {said}"), *judged]
    return blocks


def fidelity(evidence: TraceEvidence) -> list[Block]:
    """Each policy's replay against the record, every criterion, over the whole trace."""
    blocks: list[Block] = [
        Heading(2, "Is a replay like what was observed?"),
        Paragraph(
            "A site's own scheduler has priorities, drains and partitions that a replay does not have, so "
            "many logs fail here. A failure does not make the replay wrong; it says that a gain found in the "
            "replay is not yet a gain at the site. Unless the machine is overfull, throughput and makespan "
            "follow from when jobs arrive: they tell little."
        ),
        _likeness_at_a_glance(evidence),
    ]
    for policy in (*evidence.policies.fidelity_baselines, OBSERVED):
        rows = evidence.likeness_rows(policy)
        overall = next(
            (row["verdict"] for row in rows if row["criterion"] == FidelityCriterion.OVERALL), None
        )
        judged = _judged(
            f"Replay of {policy} against the record." if policy != OBSERVED else "The record by itself.",
            [(words.FIDELITY[FidelityCriterion(row["criterion"])], row) for row in rows],
            FIDELITY_VERDICTS.name,
        )
        blocks += [Heading(3, f"{policy}: {overall}" if overall else policy), *judged]
    return blocks


def _likeness_at_a_glance(evidence: TraceEvidence) -> Table:
    """Every policy's distance from the record, criterion by criterion; those that fail are marked."""
    shown = [each for each in FidelityCriterion if each not in ABOUT_ALL]
    lines = []
    for policy in evidence.policies.ids:
        found = {row["criterion"]: row for row in evidence.likeness_rows(policy)}
        cells = (_distance(found.get(each.value)) for each in shown)
        lines.append((policy, evidence.likeness(policy).value, *cells))
    columns = (
        Column("policy"),
        Column("overall", Kind.VERDICT),
        *(Column(f"{words.FIDELITY[each]} ({_unit(evidence, each)})", Kind.NUMBER) for each in shown),
    )
    caption = (
        "Distance from the record, whole trace; an asterisk: beyond its limit, which stands below. Reasons "
        "of every policy are in dossier.json."
    )
    return Table(caption, columns, tuple(lines), (FIDELITY_VERDICTS.name,))


def _distance(row: Row | None) -> str:
    if row is None or row["measured"] is None:
        return UNKNOWN
    return real(row["measured"]) + ("*" if row["verdict"] == Verdict.FAIL.value else "")


def _unit(evidence: TraceEvidence, criterion: FidelityCriterion) -> str:
    units = evidence.table(FIDELITY_VERDICTS.name).filter(criterion=criterion.value)["unit"]
    return str(units.first() or "")


def invariants(evidence: TraceEvidence) -> list[Block]:
    """Rules that every schedule keeps, checked on the finished ones."""
    rows = []
    for row in evidence.table(INVARIANT_REPORT.name).iter_rows(named=True):
        first = "" if row["job_id"] is None else f"job {row['job_id']} at {instant(row['at_s'])}: "
        found = "" if row["found"] is None else f"found {row['found']}, allowed {row['allowed']}"
        rows.append(
            (
                row["policy"],
                words.INVARIANT[Invariant(row["invariant"])],
                row["verdict"],
                count(row["checked_count"]),
                count(row["violations_count"]),
                first + found or "no violation",
            )
        )
    columns = (
        Column("policy"),
        Column("rule"),
        Column("verdict", Kind.VERDICT),
        Column("checked (count)", Kind.NUMBER),
        Column("violations (count)", Kind.NUMBER),
        Column("what was found"),
    )
    caption = "Rules that no schedule may break, checked on the finished schedules."
    return [
        Heading(2, "Did the replays keep the rules?"),
        Table(caption, columns, tuple(rows), (INVARIANT_REPORT.name,)),
    ]


def every_measure(evidence: TraceEvidence) -> list[Block]:
    """All measures of all policies over both windows."""
    tau = evidence.objective.measures.tau_s
    blocks: list[Block] = [
        Heading(2, "Every measure"),
        Paragraph(
            f"Bounded slowdown is (wait + runtime) / max(runtime, {tau} s), at least 1. Two indices are over "
            "users' processor-seconds, which no complete schedule can change (fairness_dev, jain): they are "
            "shown for comparison with other tables and enter no verdict."
        ),
    ]
    ids = evidence.policies.ids
    for window in (Window.STEADY, Window.WHOLE):
        blocks += [
            _measures(evidence, window, ids[first : first + POLICIES_ABREAST])
            for first in range(0, len(ids), POLICIES_ABREAST)
        ]
    return blocks


def _measures(evidence: TraceEvidence, window: Window, policies: Sequence[str]) -> Table:
    shown = (OBSERVED, *policies)
    measured = {policy: evidence.measured(policy, window) for policy in shown}
    rows = []
    for column in (column for column in REPLAY_MEASURES.columns if column.name in MEASURE_KEYS):
        name, write = column.name, count if column.dtype is DType.INT64 else _five_digits
        values = (write(measured[policy][name]) for policy in shown)
        rows.append((column.means, name, column.unit or "", *values))
    named = (Column("measure"), Column("key"), Column("unit"))
    columns = named + tuple(Column(policy, Kind.NUMBER) for policy in shown)
    return Table(f"All measures, {words.WINDOW[window]}.", columns, tuple(rows), (REPLAY_MEASURES.name,))


def _five_digits(value: float | None) -> str:
    return real(value, 5)


def _verdict(row: Row) -> str:
    """The verdict; where it passes with nothing measured, there was nothing to ask."""
    is_moot = row["verdict"] == Verdict.PASS.value and row["measured"] is None
    return "does not apply" if is_moot and row["criterion"] != OVERALL else Verdict(row["verdict"]).value


def _measured(row: Row) -> tuple[str, ...]:
    return (
        "not measured" if row["measured"] is None else real(row["measured"]),
        "none" if row["limit"] is None else real(row["limit"]),
        row["unit"],
        count(row["evidence_count"]),
        row["reason"],
    )


def _judged(caption: str, rows: list[tuple[str, Row]], asset: str) -> list[Block]:
    """What all criteria amount to, as running text, for that reason is long; then the table of all."""
    overall = [row for _, row in rows if row["criterion"] == OVERALL]
    cells = tuple(
        (
            name,
            _verdict(row),
            # Of all together nothing was measured: the number that the row has is that of one criterion.
            *(("", "", "", "", "as said above") if row["criterion"] == OVERALL else _measured(row)),
        )
        for name, row in rows
    )
    return [
        *(Paragraph(row["reason"]) for row in overall),
        Table(caption, (Column("criterion"), *JUDGED), cells, (asset,)),
    ]
