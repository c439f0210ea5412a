"""Cards across traces: likeness to the record, data, models, placement.

In:  AcrossEvidence.   Out: blocks.
"""

from __future__ import annotations

from hpcopt_assets.contracts.forecast_tables import FEATURE_SPLITS, FORECAST_SCORES
from hpcopt_assets.contracts.forecast_words import ForecastMeasure, Predictor, Weighting
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SCORES, PLACEMENT_STUDY
from hpcopt_assets.contracts.placement_words import PlacementMeasure, PlacementMethod
from hpcopt_assets.contracts.tables import (
    FIDELITY_VERDICTS,
    INGEST_REPORT,
    POLICY_CLOSENESS,
    RAW_TRACE,
)
from hpcopt_assets.contracts.vocabulary import WHOLE, FidelityCriterion, Verdict
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.across import AcrossEvidence
from hpcopt_assets.dossier.blocks import Block, Column, Figure, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row
from hpcopt_assets.dossier.numbers import UNKNOWN, count, date, duration, real, share
from hpcopt_assets.dossier.periods import LOOKS
from hpcopt_assets.dossier.survivors import NO_EVIDENCE
from hpcopt_assets.plots.verdicts import verdict_grid

ALL_FOLDS, ALL_SIZES = 0, "all"
SHOWN = (
    PlacementMeasure.ACCURACY,
    PlacementMeasure.PRECISION,
    PlacementMeasure.RECALL,
    PlacementMeasure.F1,
    PlacementMeasure.BRIER,
    PlacementMeasure.CALIBRATION_ERROR,
)


def likeness(evidence: AcrossEvidence) -> list[Block]:
    """Whether the baseline's replay is like the record, trace by trace, and whose is closest."""
    baseline = evidence.objective.claims.baseline
    rows = []
    for trace in evidence.traces:
        overall = evidence.rows(
            trace, FIDELITY_VERDICTS.name, policy=baseline, criterion=FidelityCriterion.OVERALL
        )
        whole = next((row["verdict"] for row in overall if row["period"] == WHOLE), NO_EVIDENCE)
        quarters = [row["verdict"] for row in overall if row["period"] != WHOLE]
        passed = f"{quarters.count(Verdict.PASS.value)} of {len(quarters)}"
        near = [row for row in evidence.rows(trace, POLICY_CLOSENESS.name, period=WHOLE) if row["rank"] == 1]
        closest = ", ".join(f"{row['policy']} ({real(row['distance'])})" for row in near)
        rows.append((trace, whole, passed if quarters else NO_EVIDENCE, closest or UNKNOWN))
    columns = (
        Column("trace"),
        Column(f"replay of {baseline}", Kind.VERDICT),
        Column("quarters that pass"),
        Column("closest policy (distance in nats)"),
    )
    caption = "Whole trace, all criteria together. Closest is not alike."
    return [
        Heading(2, "Is the replay like the record?"),
        Paragraph(
            "Where the baseline's replay is not like the record, a gain found in replays is not yet a gain "
            "at the site: nothing can be ACCEPTED there."
        ),
        *_criteria(evidence),
        Table(caption, columns, tuple(rows), (FIDELITY_VERDICTS.name, POLICY_CLOSENESS.name)),
    ]


def _criteria(evidence: AcrossEvidence) -> list[Block]:
    """By which criteria the baseline's replay is like the record, as a grid."""
    baseline = evidence.objective.claims.baseline
    found = {
        (row["criterion"], trace): row["verdict"]
        for trace in evidence.traces
        for row in evidence.rows(trace, FIDELITY_VERDICTS.name, policy=baseline, period=WHOLE)
    }
    shown = [each for each in FidelityCriterion if any(criterion == each for criterion, _ in found)]
    if not shown:
        return []
    drawing = verdict_grid(
        [[found.get((each.value, trace), NO_EVIDENCE) for trace in evidence.traces] for each in shown],
        rows=[words.FIDELITY[each] for each in shown],
        columns=evidence.traces,
        looks=LOOKS | {NO_EVIDENCE: ("?", "#ffffff")},
        file_name="fidelity.svg",
        title=f"By which criteria the replay of {baseline} is like the record",
        caption="P: PASS, F: FAIL, dash: NOT_ASSESSED, ?: no evidence. Whole trace.",
        x_label="trace",
    )
    return [Figure.of(drawing, FIDELITY_VERDICTS.name)]


def data_cards(evidence: AcrossEvidence) -> list[Block]:
    """What each trace is, and how much of it became no job."""
    rows = []
    for trace in evidence.traces:
        facts = evidence.row(trace, INGEST_REPORT.name)
        if facts is None:
            rows.append((trace, *[NO_EVIDENCE] * 9))
            continue
        unit = words.UNIT[facts["capacity_unit"]]
        source = facts["capacity_source"]
        rows.append(
            (
                trace,
                "none: synthetic" if facts["is_synthetic"] else facts["installation"] or UNKNOWN,
                f"{date(facts['first_release_s'])} to {date(facts['last_end_s'])}",
                count(facts["jobs_count"]),
                count(facts["started_jobs_count"]),
                f"{count(facts['capacity_procs'])} {unit}, {words.CAPACITY[source] if source else UNKNOWN}",
                count(facts["observed_peak_procs"]),
                duration(facts["observed_over_capacity_s"]),
                count(facts["rejects_count"]),
                count(facts["unselected_jobs_count"]),
            )
        )
    columns = (
        Column("trace"),
        Column("site"),
        Column("from ... to"),
        Column("jobs (count)", Kind.NUMBER),
        Column("with a known start (count)", Kind.NUMBER),
        Column("machine"),
        Column("most in use at once", Kind.NUMBER),
        Column("time above the machine", Kind.NUMBER),
        Column("lines rejected (count)", Kind.NUMBER),
        Column("jobs not selected (count)", Kind.NUMBER),
    )
    caption = "Every line is accounted for; each trace's dossier says which were left out and why."
    return [
        Heading(2, "Data cards"),
        Table(caption, columns, tuple(rows), (RAW_TRACE.name, INGEST_REPORT.name)),
    ]


def model_cards(evidence: AcrossEvidence) -> list[Block]:
    """The forecasts of each trace beside the request and the best simple rule."""
    rows = []
    for trace in evidence.traces:
        folds = evidence.rows(trace, FEATURE_SPLITS.name)
        made = sum(row["is_made"] for row in folds)
        scores = [
            row
            for row in evidence.rows(trace, FORECAST_SCORES.name, band=ALL_SIZES, weighting=Weighting.JOB)
            if row["fold"] == ALL_FOLDS
        ]
        mae = {
            Predictor(row["predictor"]): row["value"]
            for row in scores
            if row["measure"] == ForecastMeasure.MAE and row["versus"] is None and row["value"] is not None
        }
        rules = [rule for rule in mae if rule.is_baseline]
        best = min(rules, key=lambda rule: mae[rule], default=None)
        coverage = next(
            (
                row["value"]
                for row in scores
                if (row["predictor"], row["measure"])
                == (Predictor.MODEL.value, ForecastMeasure.COVERAGE_CAPPED.value)
            ),
            None,
        )
        rows.append(
            (
                trace,
                f"{made} of {len(folds)}" if folds else NO_EVIDENCE,
                duration(mae.get(Predictor.MODEL)),
                duration(mae.get(Predictor.REQUEST)),
                UNKNOWN if best is None else f"{duration(mae[best])} ({words.PREDICTOR[best]})",
                _surely(scores, best),
                share(coverage),
            )
        )
    columns = (
        Column("trace"),
        Column("folds made"),
        Column("model's mean absolute error", Kind.NUMBER),
        Column("request's", Kind.NUMBER),
        Column("best simple rule's"),
        Column("does the model beat it?"),
        Column("runtimes within p10 to p90", Kind.NUMBER),
    )
    return [
        Heading(2, "Model cards: forecasts of runtimes"),
        Paragraph(
            "One model a trace, fitted on what had ended before and scored on what came later; none is "
            "carried from one site to another. Of p10 to p90, 80 % should lie within. Each dossier has "
            "the features, folds and limits of its trace."
        ),
        Table("Each job weighs one.", columns, tuple(rows), (FEATURE_SPLITS.name, FORECAST_SCORES.name)),
    ]


def _surely(scores: list[Row], rule: Predictor | None) -> str:
    """Whether the interval of the difference to the best rule says that the model's error is smaller."""
    found = [
        row
        for row in scores
        if (row["predictor"], row["measure"], row["versus"])
        == (Predictor.MODEL.value, ForecastMeasure.PINBALL_P50.value, None if rule is None else rule.value)
    ]
    if rule is None or not found or found[0]["upper"] is None:
        return "cannot be told"
    low, high = found[0]["lower"], found[0]["upper"]
    return "surely" if high < 0 else "surely not" if low > 0 else "not surely"


def placement(evidence: AcrossEvidence) -> list[Block]:
    """What the model of placement failure is worth, and what admission by it would cost."""
    heading = Heading(2, "Placement on a reconfigurable network")
    if not evidence.placement:
        return [heading, Paragraph("Not made: run `hpcopt placement run`.")]
    return [
        heading,
        Paragraph(
            "On a simulated cluster whose leaf switches are joined by optical circuits: can it be told "
            "before an attempt that a job cannot be placed? A failure is the positive case. The visible "
            "ceiling draws what is hidden at random (the model may pass it, for the counts that it sees tell "
            "something of what is hidden); the plane state is shown what an operator does not see. "
            "No network of a real site stood behind this."
        ),
        *_scores(evidence),
        *_study(evidence),
    ]


def _scores(evidence: AcrossEvidence) -> list[Block]:
    frame = evidence.placement.get(PLACEMENT_SCORES.name)
    if frame is None:
        return [Paragraph("There are no scores of it.")]
    found = {
        (row["population"], row["method"], row["measure"]): row
        for row in frame.iter_rows(named=True)
        if row["minus_method"] is None
    }
    rows = []
    for population in frame["population"].unique(maintain_order=True):
        for method in PlacementMethod:
            cells = [_with_interval(found.get((population, method.value, each.value))) for each in SHOWN]
            if any(cell != UNKNOWN for cell in cells):
                rows.append((population.replace("_", " "), method.value.replace("_", " "), *cells))
    columns = (
        Column("scored on"),
        Column("method"),
        *(Column(f"{each.value.replace('_', ' ')} (0 to 1)", Kind.NUMBER) for each in SHOWN),
    )
    caption = "In brackets: 95 % intervals, by resampling blocks of time."
    return [Table(caption, columns, tuple(rows), (PLACEMENT_SCORES.name,))]


def _with_interval(row: dict[str, float | None] | None) -> str:
    if row is None or row["value"] is None:
        return UNKNOWN
    ends = "" if row["lower"] is None else f" ({real(row['lower'])} to {real(row['upper'])})"
    return f"{real(row['value'])}{ends}"


def _study(evidence: AcrossEvidence) -> list[Block]:
    frame = evidence.placement.get(PLACEMENT_STUDY.name)
    if frame is None:
        return [Paragraph("There is no study of admission by it.")]
    rows = tuple(
        (
            row["admission"].replace("_", " "),
            count(row["attempts_count"]),
            count(row["failed_count"]),
            count(row["failures_avoided_count"]),
            count(row["good_turned_away_count"]),
            share(row["utilisation_ratio"]),
            real(row["cost_per_attempt"]),
        )
        for row in frame.iter_rows(named=True)
    )
    columns = (
        Column("admission"),
        Column("jobs that came (count)", Kind.NUMBER),
        Column("let through and failed (count)", Kind.NUMBER),
        Column("failures avoided (count)", Kind.NUMBER),
        Column("good jobs turned away (count)", Kind.NUMBER),
        Column("utilisation", Kind.NUMBER),
        Column("cost an attempt (good jobs)", Kind.NUMBER),
    )
    caption = (
        "The same arrivals under each rule; what is let through changes what later jobs find, so failures "
        "let through and avoided need not add up. What a failure costs is set in configs/placement.yaml."
    )
    return [Table(caption, columns, rows, (PLACEMENT_STUDY.name,))]
