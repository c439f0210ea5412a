"""The first ten lines: what a reader with one minute must know, caveats before gains.

In:  TraceEvidence.   Out: blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.sentences import SYNTHETIC, plural
from hpcopt_assets.contracts.vocabulary import (
    DEMANDS,
    OBSERVED,
    ClaimCriterion,
    EstimateSource,
    FidelityCriterion,
    LeftOut,
    Outcome,
    TraceFormat,
    Verdict,
    Window,
)
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Block, Bullets, Item, Paragraph, Tone
from hpcopt_assets.dossier.evidence import Row, TraceEvidence
from hpcopt_assets.dossier.numbers import count, date, duration, real, share
from hpcopt_assets.dossier.survival import Survival, by_survival

RANK = (Outcome.ACCEPTED, Outcome.CONDITIONAL, Outcome.BLOCKED, None)
GAINS = (Survival.BOTH, Survival.SHAKING_ONLY, Survival.WEEKS_ONLY, Survival.NEITHER)
ABOUT_ALL = (FidelityCriterion.OVERALL, FidelityCriterion.OBSERVED_WITHIN_CAPACITY)
# Not ways in which a replay can differ: the sum of them, and a fact about the record alone.


def summary(evidence: TraceEvidence) -> list[Block]:
    """Caveat for a synthetic trace, then the points."""
    items = [item for lead, make in POINTS for item in _point(lead, make, evidence)]
    return [*_caveat(evidence), Bullets(tuple(items))]


def _caveat(evidence: TraceEvidence) -> list[Block]:
    try:
        is_synthetic = evidence.facts["is_synthetic"]
    except EvidenceError:  # the first point says it
        return []
    caveat = f"{SYNTHETIC} Every verdict below speaks of a workload model, not of a site."
    return [Paragraph(caveat, Tone.CAVEAT)] if is_synthetic else []


def _point(lead: str, make: Callable[[TraceEvidence], list[Item]], evidence: TraceEvidence) -> list[Item]:
    try:
        return make(evidence)
    except EvidenceError as error:
        return [Item(lead, f"ERROR: {error}")]


def ranked(evidence: TraceEvidence) -> list[str]:
    """Candidates, best first: by outcome, then by gain in the primary measure (unknown last)."""

    def place(policy: str) -> tuple[int, float]:
        gain = evidence.claim(policy, ClaimCriterion.PRIMARY_GAIN)["measured"]
        return RANK.index(evidence.outcome(policy)), float("inf") if gain is None else -gain

    return sorted((policy.id for policy in evidence.candidates), key=place)


def _survival(evidence: TraceEvidence) -> list[Item]:
    """Which gains would be there on another day, before any number."""
    if not evidence.candidates:
        return []
    found = by_survival(evidence)
    gains = [policy for word in GAINS for policy in found[word]]
    text = (
        f"{plural(len(gains), 'candidate')} of {len(evidence.candidates)} "
        f"{'lowers' if len(gains) == 1 else 'lower'} the 95th percentile of bounded slowdown in this replay"
        f"{'' if gains else ': there is no gain to survive'}."
    )
    told = [
        f"{word.sentence}: {', '.join(found[word])}."
        for word in Survival
        if found[word] and word is not Survival.NO_GAIN
    ]
    confirmed = [
        policy.id
        for policy in evidence.candidates
        if evidence.claim(policy.id, ClaimCriterion.CONFIRMATION)["verdict"] == Verdict.PASS.value
    ]
    accepted = [
        policy.id for policy in evidence.candidates if evidence.outcome(policy.id) is Outcome.ACCEPTED
    ]
    last = (
        f"Chosen on the first part, confirmed on the rest of the record: {', '.join(confirmed) or 'none'}. "
        f"Accepted, with every constraint kept: {', '.join(accepted) or 'none'}."
    )
    return [Item("What survives.", " ".join([text, *told, last]))]


def _trace(evidence: TraceEvidence) -> list[Item]:
    facts = evidence.facts
    place = ", ".join(facts[key] for key in ("installation", "computer") if facts[key])
    one = words.UNIT[facts["capacity_unit"]].removesuffix("s")
    machine = (
        f"{plural(facts['capacity_procs'], one)} ({words.CAPACITY[facts['capacity_source']]})"
        if facts["capacity_procs"] is not None
        else "a machine of unknown size"
    )
    text = (
        f"{plural(facts['jobs_count'], 'job')} on {machine}, first release {date(facts['first_release_s'])}, "
        f"last recorded end {date(facts['last_end_s'])}" + (f"; {place}." if place else ".")
    )
    if facts["format"] == TraceFormat.SWF and facts["unix_start_s"] is None:
        text += " The log states no date: its times are counted from 1970-01-01."
    if facts["observed_over_capacity_s"]:
        text += (
            f" The log itself uses more {one}s than that for "
            f"{duration(facts['observed_over_capacity_s'])} (up to {count(facts['observed_peak_procs'])})."
        )
    return [Item("Trace.", text)]


def _likeness(evidence: TraceEvidence) -> list[Item]:
    policies_by_finding: dict[tuple[Verdict, str], list[str]] = {}
    for policy in evidence.policies.fidelity_baselines:
        verdict = evidence.likeness(policy)
        policies_by_finding.setdefault((verdict, _why(evidence, policy, verdict)), []).append(policy)
    said = [
        f"{verdict}: the replay of {' and of '.join(policies)} {words.RESEMBLES[verdict]}{why}."
        for (verdict, why), policies in policies_by_finding.items()
    ]
    baseline = evidence.objective.claims.baseline
    replayed, observed = (evidence.measured(policy, Window.STEADY) for policy in (baseline, OBSERVED))
    said.append(
        f"Under {baseline} the mean wait is {duration(replayed['mean_wait_s'])} and the 95th percentile of "
        f"bounded slowdown {real(replayed['p95_bsld'])}; in the record they are "
        f"{duration(observed['mean_wait_s'])} and {real(observed['p95_bsld'])}."
    )
    return [Item("Is the replay like the record?", " ".join(said))]


def _why(evidence: TraceEvidence, policy: str, verdict: Verdict) -> str:
    """The criteria that fail, or the first reason for which nothing could be said."""
    rows = evidence.likeness_rows(policy)
    if verdict is Verdict.FAIL:
        failed = [row["criterion"] for row in rows if row["verdict"] == verdict.value]
        names = [words.FIDELITY[FidelityCriterion(word)] for word in failed if word not in ABOUT_ALL]
        return f", by {', '.join(names)}" if names else ""
    first = [row for row in _open(rows) if row["criterion"] not in ABOUT_ALL][:1]
    return "".join(f" ({row['reason']})" for row in first)


def _best(evidence: TraceEvidence) -> list[Item]:
    baseline = evidence.objective.claims.baseline
    order = ranked(evidence)
    if not order:
        return [Item("Best candidate.", f"No policy was compared with {baseline}.")]
    best = order[0]
    outcome = evidence.outcome(best)
    new, old = (evidence.measured(policy, Window.STEADY) for policy in (best, baseline))
    rows = evidence.claim_rows(best)
    is_gain = outcome in (Outcome.ACCEPTED, Outcome.CONDITIONAL)
    opening = "" if is_gain else f"None. Of {plural(len(order), 'candidate')} the one that gains most: "
    text = (
        f"{opening}{best}, {outcome or Verdict.NOT_ASSESSED}: "
        f"{_meaning(evidence, best, outcome)}. 95th percentile of bounded slowdown "
        f"{real(new['p95_bsld'])} (baseline {real(old['p95_bsld'])}), mean wait "
        f"{duration(new['mean_wait_s'])} ({duration(old['mean_wait_s'])}), utilisation "
        f"{share(new['utilisation_ratio'])} ({share(old['utilisation_ratio'])}), over the steady window."
    )
    for verdict in (Verdict.FAIL, Verdict.NOT_ASSESSED):
        lacking = [row["criterion"] for row in rows if row["verdict"] == verdict.value]
        names = [words.CLAIM[ClaimCriterion(word)] for word in lacking if word in DEMANDS]
        text += f" {verdict}: {', '.join(names)}." if names else ""
    caveats = [row["reason"] for row in _open(rows) if row["criterion"] not in DEMANDS]
    first = [Item(f"Caveats of {best}.", _sentence("; ".join(caveats)))] if caveats else []
    return [*first, Item("Best candidate.", text)]


def _meaning(evidence: TraceEvidence, policy: str, outcome: Outcome | None) -> str:
    baseline = evidence.objective.claims.baseline
    gains = evidence.claim(policy, ClaimCriterion.PRIMARY_GAIN)["verdict"] == Verdict.PASS.value
    if outcome is Outcome.BLOCKED:
        return (
            f"better than {baseline}, at the cost of a constraint" if gains else f"no better than {baseline}"
        )
    return words.OUTCOME[outcome].format(baseline=baseline)


def _open(rows: list[Row]) -> list[Row]:
    """Criteria that did not pass, failures first; without the row that combines them."""
    rest = [
        row
        for row in rows
        if row["verdict"] != Verdict.PASS.value and row["criterion"] != ClaimCriterion.OVERALL.value
    ]
    return sorted(rest, key=lambda row: row["verdict"] != Verdict.FAIL.value)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _bounds(evidence: TraceEvidence) -> list[Item]:
    found = []
    for policy in evidence.policies.policies:
        if policy.is_bound:
            measured = evidence.measured(policy.id, Window.STEADY)
            found.append(
                f"{policy.id} reaches a 95th percentile of bounded slowdown of {real(measured['p95_bsld'])} "
                f"and a mean wait of {duration(measured['mean_wait_s'])}; it knows true runtimes, which no "
                "scheduler can, and is no candidate. It shows what better estimates could bring under the "
                "same rules; another order of the queue may well bring more."
            )
    return [Item("With true runtimes.", " ".join(found))] if found else []


def _left_out(evidence: TraceEvidence) -> list[Item]:
    baseline = evidence.objective.claims.baseline
    schedule = evidence.schedule(baseline)
    observed = evidence.measured(OBSERVED, Window.WHOLE)
    left_out = schedule["left_out"].drop_nulls()
    counts = left_out.value_counts().sort("count", "left_out", descending=[True, False]).iter_rows()
    why = ", ".join(f"{words.LEFT_OUT[LeftOut(word)]}: {count(jobs)}" for word, jobs in counts)
    fallbacks = schedule.filter(pl.col("estimate_source") == EstimateSource.FALLBACK.value).height
    text = (
        f"{plural(evidence.facts['rejects_count'], 'line')} of the log rejected; "
        f"{plural(left_out.len(), 'job')} took no part in the replays{f' ({why})' if why else ''}; "
        f"{plural(fallbacks, 'replayed job')} had no requested runtime and got a stand-in; "
        f"{plural(observed['left_out_count'], 'job')} could not be measured as observed. What is not "
        "modelled is listed below."
    )
    return [Item("Left out.", text)]


POINTS: tuple[tuple[str, Callable[[TraceEvidence], list[Item]]], ...] = (
    ("What survives.", _survival),
    ("Trace.", _trace),
    ("Is the replay like the record?", _likeness),
    ("Best candidate.", _best),
    ("With true runtimes.", _bounds),
    ("Left out.", _left_out),
)
