"""The chapter on robustness: which gains survive shaking and other weeks, and which do not.

In:  TraceEvidence.   Out: blocks. Intervals stand in the table robustness; nothing is computed anew.
"""

from __future__ import annotations

from hpcopt_assets.contracts.robustness_tables import BETTER, ROBUSTNESS, SHAKEN_MEASURES
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.vocabulary import ClaimCriterion, Window
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Block, Bullets, Column, Figure, Heading, Item, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row, TraceEvidence
from hpcopt_assets.dossier.numbers import count, real, share, signed, span
from hpcopt_assets.dossier.summary import ranked
from hpcopt_assets.dossier.survival import by_survival, least_met, relative, survival
from hpcopt_assets.plots.forest import Interval, Panel, forest
from hpcopt_assets.plots.forest import Row as Bar

SHOWN = (Window.STEADY, Window.CONFIRMATION)
JUDGED = {Window.STEADY: ClaimCriterion.SELECTION, Window.CONFIRMATION: ClaimCriterion.CONFIRMATION}


def robustness(evidence: TraceEvidence) -> list[Block]:
    """What survives, in words; a figure; a table for the steady window and one for what confirms."""
    heading = Heading(2, "Which gains survive another day?")
    order = ranked(evidence)
    if not order:
        return [heading, Paragraph("No policy was compared with the baseline.")]
    return [
        heading,
        *_in_words(evidence),
        _figure(evidence, order),
        *(_table(evidence, window, order) for window in SHOWN),
    ]


def _in_words(evidence: TraceEvidence) -> list[Block]:
    shaking, intervals = evidence.robustness.shaking, evidence.robustness.intervals
    rows = [evidence.change(policy.id, Window.STEADY) for policy in evidence.candidates]
    replicas = sorted({row["replicas_count"] for row in rows})
    many = " or ".join(count(number) for number in replicas)
    blocks_count = max(row["blocks_count"] for row in rows)
    how = Paragraph(
        "One replay of one log may owe its result to chance, so each comparison was made again, twice. "
        f"Shaken: on {many} copies of the trace in which each job's runtime and request are up to "
        f"{share(shaking.runtime_spread)} longer or shorter, and its release is moved either way by up "
        f"to {share(shaking.release_gap_ratio)} of the median gap between releases, or by up to "
        f"{plural(shaking.min_release_shift_s, 'second')} where that is more. Nobody could have told these "
        f"from the log beforehand. Other weeks: over the {plural(blocks_count, 'week')} of the window drawn "
        "anew, with replacement, as if other weeks of the same kind had come. A gain survives where the "
        "whole interval "
        f"({share(intervals.confidence)}) lies on the better side of zero, which may be less than "
        "the gain that a claim needs. Weeks are drawn as if none hung on the last; where a backlog lasts "
        "over several, the interval is too short. Neither shows another site, nor a site whose users "
        "change what they do."
    )
    found = by_survival(evidence)
    said = tuple(
        Item(f"{word.sentence} ({len(policies)}).", ", ".join(policies) + ".")
        for word, policies in found.items()
        if policies
    )
    return [how, Bullets(said)]


def _figure(evidence: TraceEvidence, order: list[str]) -> Figure:
    panels = [
        Panel(words.WINDOW[window], [_bar(evidence.change(policy, window)) for policy in order])
        for window in SHOWN
    ]
    baseline = evidence.objective.claims.baseline
    drawing = forest(
        panels,
        file_name="robustness.svg",
        title="Change of the 95th percentile of bounded slowdown, with intervals",
        caption=(
            f"Each policy less {baseline}; left of zero is better. Cross: this replay. Bars: the interval "
            "over shaken replicas, and over weeks drawn anew. What lies beyond the axis stands at its edge, "
            "with its number. Right panel: at the levels that the number of candidates asks for."
        ),
        x_label="change of the 95th percentile of bounded slowdown",
        value_label="as replayed",
        interval_labels=("shaken", "other weeks"),
    )
    return Figure.of(drawing, ROBUSTNESS.name)


def _bar(row: Row) -> Bar:
    return Bar(
        row["policy"],
        row["difference"],
        Interval(row["lower"], row["upper"]),
        Interval(row["block_lower"], row["block_upper"]),
    )


def _table(evidence: TraceEvidence, window: Window, order: list[str]) -> Table:
    columns = (
        Column("policy"),
        Column("change as replayed", Kind.NUMBER),
        Column("of the baseline's", Kind.NUMBER),
        Column("shaken", Kind.NUMBER),
        Column("other weeks", Kind.NUMBER),
        Column("better in replicas", Kind.NUMBER),
        Column("is the replay typical?"),
        Column("demands met in replicas, the least"),
        Column("the gain"),
        Column("chosen?" if window is Window.STEADY else "confirmed?", Kind.VERDICT),
    )
    changes = [evidence.change(policy, window) for policy in order]
    levels = sorted({share(row["confidence"]) for row in changes})
    baseline = evidence.objective.claims.baseline
    value = evidence.measured(baseline, window)["p95_bsld"]
    caption = (
        f"95th percentile of bounded slowdown, each policy less {baseline} (as replayed {real(value)}), "
        f"{words.WINDOW[window]}. Intervals at {' and '.join(levels)}. Typical: the change as replayed lies "
        "within the shaken interval. Demands met: of gain, starvation, fairness and utilisation the one that "
        "is met in the fewest replicas. Chosen: meets every demand on the window's first part. Confirmed: "
        "better by both intervals on the rest."
    )
    rows = tuple(_line(evidence, row, window) for row in changes)
    return Table(caption, columns, rows, (ROBUSTNESS.name, SHAKEN_MEASURES.name, CLAIM_VERDICTS.name))


def _line(evidence: TraceEvidence, row: Row, window: Window) -> tuple[str, ...]:
    policy = row["policy"]
    return (
        policy,
        signed(row["difference"]),
        share(relative(row["difference"], row["baseline_value"]), is_change=True),
        span(row["lower"], row["upper"]),
        span(row["block_lower"], row["block_upper"]),
        share(row["improved_ratio"]),
        _typical(row),
        least_met(evidence.changes(policy, window)),
        survival(row).value,
        evidence.claim(policy, JUDGED[window])["verdict"],
    )


def _typical(row: Row) -> str:
    """Whether the change as replayed is one of those that shaken replicas show."""
    if row["is_artefact"] is None or row["mean_difference"] is None:
        return "cannot be told"
    if not row["is_artefact"]:
        return "yes"
    gained_more = BETTER[row["measure"]] * (row["difference"] - row["mean_difference"]) > 0
    return "no: better than its replicas" if gained_more else "no: worse than its replicas"
