"""What a reader of a dossier must find in it, and must not be led to believe."""

import re
from collections.abc import Iterator

import polars as pl
import pytest

from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.contracts.measure_columns import MEASURE_KEYS
from hpcopt_assets.contracts.tables import TRACE_REJECTS
from hpcopt_assets.dossier import accounts, comparisons, words
from hpcopt_assets.dossier.blocks import Block, Bullets, Figure, Heading, Paragraph, Table
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.finished import Dossier
from hpcopt_assets.dossier.lineage import lineage
from hpcopt_assets.dossier.markdown import escape, markdown
from hpcopt_assets.dossier.summary import summary
from hpcopt_assets.dossier.trace import behind, build_trace_dossier, compose
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.dossier import made, verdicts
from hpcopt_assets_tests.dossier.helpers import changed, evidence, standard
from hpcopt_assets_tests.dossier.made import FASTER, report
from hpcopt_assets_tests.dossier.pages import Page
from hpcopt_assets_tests.dossier.verdicts import claims, fidelity


def summary_of(found: TraceEvidence) -> str:
    """What stands before the first chapter; drawing no figures saves most of the time."""
    return markdown(summary(found))


def chapter(dossier: Dossier, title: str) -> str:
    return next(part for part in dossier.markdown.split("\n## ") if part.startswith(title))


def test_the_summary_names_the_trace_and_its_machine():
    summary = summary_of(evidence())
    assert "60 jobs on 8 processors (stated in the log's header)" in summary
    assert "first release 2001-09-09, last recorded end 2001-09-10; A site, Cray & Sons." in summary
    assert "uses more processors than that for 2 h (up to 9)" in summary
    assert len(summary.strip().splitlines()) <= 12


def test_a_synthetic_trace_says_so_before_anything_else():
    lines = build_trace_dossier(evidence(report=report(is_synthetic=True))).markdown.splitlines()
    assert lines[2].startswith("> **Synthetic trace: no machine stood behind it.")
    assert "Synthetic" not in summary_of(evidence())


def test_caveats_come_before_the_gain():
    summary = summary_of(evidence(claims=claims(outcome="CONDITIONAL")))
    caveats = (
        "**Caveats of fifo_strict.** Baseline_fidelity reason of fifo_strict; confirmation reason of fifo"
    )
    gain = (
        "**Best candidate.** fifo_strict, CONDITIONAL: better than easy_backfill in this replay, but not all"
    )
    assert summary.index(caveats) < summary.index(gain)
    assert "95th percentile of bounded slowdown 2.28 (baseline 1.64), mean wait 40 min (20 min)" in summary


def test_without_a_gain_the_summary_says_none():
    blocked = claims(outcome="BLOCKED", primary_gain="FAIL", overall="FAIL")
    summary = summary_of(evidence(claims=blocked))
    assert (
        "**Best candidate.** None. Of 1 candidate the one that gains most: fifo_strict, BLOCKED: no better"
        in summary
    )
    assert " FAIL: gain in the primary measure." in summary


def test_an_unjudged_claim_is_no_outcome():
    found = evidence(claims=claims(outcome=None, primary_gain="NOT_ASSESSED"))
    assert "fifo_strict, NOT_ASSESSED: the evidence does not suffice" in summary_of(found)
    assert "### fifo_strict: NOT_ASSESSED" in markdown(comparisons.claims(found))


def two_candidates(fifo: tuple[str, float], other: tuple[str, float]) -> TraceEvidence:
    """A second candidate beside fifo_strict; each with its outcome and its gain."""

    def doubled(frame: pl.DataFrame) -> pl.DataFrame:
        mine = frame.filter(pl.col("policy") == "fifo_strict")
        return pl.concat([frame, mine.with_columns(policy=pl.lit("other"))])

    def claim(policy: str, outcome: str, gain: float) -> pl.DataFrame:
        rows = claims(policy, outcome).filter(pl.col("policy") == policy)
        is_gain = pl.col("criterion") == "primary_gain"
        return rows.with_columns(measured=pl.when(is_gain).then(gain).otherwise("measured"))

    policies = made.policies()
    second = policies.policies[0].model_copy(update={"id": "other"})
    observed = made.jobs()
    return evidence(
        policies=policies.model_copy(update={"policies": (*policies.policies, second)}),
        schedules={p: made.schedule(p, observed, f) for p, f in (FASTER | {"other": 0.4}).items()},
        measures=doubled(evidence().table("replay_measures")),
        invariants=doubled(verdicts.invariants()),
        fidelity=doubled(fidelity()),
        robustness=doubled(verdicts.robustness()),
        claims=pl.concat([claim("fifo_strict", *fifo), claim("other", *other)]),
    )


@pytest.mark.parametrize(
    ("fifo", "other", "best"),
    [
        (("BLOCKED", 0.9), ("CONDITIONAL", 0.1), ["other: CONDITIONAL", "fifo_strict: BLOCKED"]),
        (("CONDITIONAL", 0.1), ("ACCEPTED", 0.1), ["other: ACCEPTED", "fifo_strict: CONDITIONAL"]),
        (("CONDITIONAL", 0.2), ("CONDITIONAL", 0.1), ["fifo_strict: CONDITIONAL", "other: CONDITIONAL"]),
        (("CONDITIONAL", 0.1), ("CONDITIONAL", 0.2), ["other: CONDITIONAL", "fifo_strict: CONDITIONAL"]),
    ],
)
def test_candidates_stand_best_first(fifo, other, best):
    found = two_candidates(fifo, other)
    assert re.findall(r"^### (.*)$", markdown(comparisons.claims(found)), re.MULTILINE) == best
    assert f"**Best candidate.** {best[0].replace(':', ',')}: better than" in summary_of(found)


def test_a_log_without_dates_says_so():
    assert "The log states no date" in summary_of(evidence(report=report(unix_start_s=None)))
    assert "The log states no date" not in summary_of(evidence())


def test_a_log_beyond_the_calendar_is_told_in_seconds():
    late = report(first_release_s=2**38, last_end_s=2**39)
    assert f"first release {2**38} s after 1970" in summary_of(evidence(report=late))


def test_policies_found_alike_are_told_together():
    told = "FAIL: the replay of fifo_strict and of easy_backfill does not resemble the record, by mean wait."
    assert told in summary_of(evidence())


@pytest.mark.parametrize("verdict", v.Verdict)
def test_likeness_is_told_with_its_verdict(verdict):
    evident = evidence(fidelity=fidelity(easy_backfill=verdict, fifo_strict="NOT_ASSESSED"))
    why = {
        "PASS": "",
        "FAIL": ", by mean wait",
        "NOT_ASSESSED": " (mean_wait of easy_backfill is judged so)",
    }
    told = f"the replay of easy_backfill {words.RESEMBLES[verdict]}{why[verdict]}."
    assert f"{verdict}: {told}" in summary_of(evident)
    assert f"### easy_backfill: {verdict}\n" in markdown(comparisons.fidelity(evident))


@pytest.mark.parametrize("verdict", v.Verdict)
def test_an_impossible_record_does_not_explain_whether_the_replay_is_like_it(verdict):
    frame = fidelity(easy_backfill=verdict, fifo_strict=verdict)
    is_capacity = pl.col("criterion") == v.FidelityCriterion.OBSERVED_WITHIN_CAPACITY.value
    impossible = frame.with_columns(
        verdict=pl.when(is_capacity).then(pl.lit("FAIL")).otherwise(pl.col("verdict"))
    )
    assert summary_of(evidence(fidelity=impossible)) == summary_of(evidence(fidelity=frame))


def test_what_was_not_assessed_is_never_shown_as_a_pass():
    nothing = dict.fromkeys(FASTER, "NOT_ASSESSED")
    frame = fidelity(**nothing).with_columns(verdict=pl.lit("NOT_ASSESSED"))
    document = compose(evidence(fidelity=frame))
    start = next(
        i for i, b in enumerate(document.substance) if b == Heading(2, "Is a replay like what was observed?")
    )
    tables = [b for b in document.substance[start : start + 9] if isinstance(b, Table)]
    assert {row[1] for table in tables for row in table.rows} == {"NOT_ASSESSED"}
    untried = verdicts.stress(
        **verdicts.judged_by_demand("NOT_ASSESSED"),
        stressed_p95_bsld=None,
        unstressed_verdict="NOT_ASSESSED",
        invariants="NOT_ASSESSED",
    )
    html = build_trace_dossier(evidence(fidelity=frame, claims=_all_unassessed(), stress=untried)).html
    told = html[: html.index("<h2>Did the replays keep the rules?")]
    assert '<span class="word good">' not in told
    assert ">PASS<" not in told


def _all_unassessed() -> pl.DataFrame:
    words_ = dict.fromkeys(v.ClaimCriterion.words(), "NOT_ASSESSED")
    return claims(outcome=None, **words_)


def test_every_policy_and_every_criterion_appears():
    dossier = standard()
    for text in (chapter(dossier, "Is a replay like"), chapter(dossier, "Is another policy better")):
        meanings = words.FIDELITY if text.startswith("Is a replay") else words.CLAIM
        for meaning in meanings.values():
            assert f"| {meaning} |" in text
    assert "### easy_clairvoyant: a bound, no candidate\n" in dossier.markdown
    for title in ("Policies at a glance", "Is a replay like", "Did the replays keep", "Configuration"):
        for policy in FASTER:
            assert policy in chapter(dossier, title)


def test_distances_of_every_policy_stand_side_by_side_and_what_fails_is_marked():
    text = chapter(standard(), "Is a replay like")
    row = next(line for line in text.splitlines() if line.startswith("| easy_clairvoyant |"))
    assert row.startswith("| easy_clairvoyant | **FAIL** | 0.512")
    found = evidence().table("fidelity_verdicts").filter(policy="easy_clairvoyant", period="whole")
    failed = found.filter(
        pl.col("verdict") == "FAIL", ~pl.col("criterion").is_in(["overall", "observed_within_capacity"])
    )
    assert row.count("\\*") - 0 == failed.height


def test_what_was_not_asked_is_no_pass():
    rows = claims(outcome="CONDITIONAL").with_columns(
        measured=pl.when(pl.col("criterion") != "model_credit").then("measured"),
        verdict=pl.when(pl.col("criterion") == "model_credit").then(pl.lit("PASS")).otherwise("verdict"),
    )
    text = chapter(build_trace_dossier(evidence(claims=rows)), "Is another policy better")
    assert "| share of estimates from the model | does not apply | not measured |" in text


def test_reasons_limits_units_and_counts_stand_beside_each_verdict():
    text = chapter(standard(), "Is a replay like")
    assert (
        "| mean wait | **FAIL** | 0.512 | 0.2 | ratio | 12,345 | mean_wait of easy_backfill is judged so |"
        in text
    )
    assert "| observed schedule within capacity | **NOT_ASSESSED** | not measured | 0.2 | ratio | 3 |" in text


def test_every_measure_of_both_windows_appears_with_its_unit():
    text = chapter(standard(), "Every measure")
    whole, steady = text.index("whole trace"), text.index("steady window")
    assert steady < whole
    for key in MEASURE_KEYS:
        assert text.count(f"| {key} |") == 2
    assert "| p95_wait_s | s | 6,606 | 6,384 | 3,192 | 1,596 |" in text[whole:]


def test_the_glance_shows_the_steady_window():
    found = evidence()
    text = markdown(comparisons.at_a_glance(found))
    assert "| easy_backfill | 1.64 | 20 min | 158 % | 0.973 | 0 % | **FAIL** | the baseline |" in text
    assert "- **easy_backfill:** EASY backfilling; later jobs may overtake" in text
    assert found.measured("easy_backfill", v.Window.STEADY)["p95_bsld"] == pytest.approx(1.6403, abs=1e-4)


def test_what_was_left_out_is_told_by_reason():
    text = chapter(standard(), "What was left out")
    assert "| not a number where one is needed | 2 | made.swf, line 100 |" in text
    assert "| too few fields | 1 | made.swf, line 102 |" in text
    assert "| needs more processors than the machine has | 1 | 1.67 % | all |" in text
    assert "No replay needed a stand-in for a missing request." in text
    assert "a fallback, the request being missing" not in text
    assert "| requested runtime of 0 | 1 | 1.67 % |" in text


def test_fallbacks_are_counted():
    found = evidence()
    blind = found.schedules["easy_backfill"].with_columns(
        estimate_source=pl.when(pl.col("left_out").is_null()).then(pl.lit("fallback"))
    )
    found = changed(found, schedules={**found.schedules, "easy_backfill": blind})
    assert "59 replayed jobs had no requested runtime" in summary_of(found)
    told = markdown(accounts.left_out(found))
    assert "| easy_backfill | a fallback, the request being missing | 59 | 100 % |" in told


def test_nothing_left_out_is_said_in_words():
    found = evidence(rejects=TRACE_REJECTS.empty(), report=report(rejects_count=0, lines_count=67))
    assert "No line of the log was rejected." in markdown(accounts.left_out(found))


def test_every_line_is_accounted_for():
    text = chapter(standard(), "What was read")
    for row in ("lines read | 70", "merged into jobs | 60", "rejected | 3", "blank | 1"):
        assert row in text
    assert "a" * 64 in text
    assert "- first note" in text


def test_what_is_not_modelled_is_listed():
    text = chapter(standard(), "What is not modelled")
    for word in ("Drains", "Reservations", "Dependencies", "Priorities", "Partitions", "Node boundaries"):
        assert f"- **{word}" in text


def test_lineage_is_told_row_by_row():
    text = chapter(standard(), "Lineage")
    assert (
        "| 11 | trace_jobs | made | 2023-11-14 22:13:31 UTC | 60 | code11000000 | data11000000 | 0f7c2a10-run"
        in text
    )
    assert "| 15 | replay/easy_backfill | trace_jobs | 11 | data11000000 |" in text
    assert "| polars | 2.1.0 |" in text
    assert "This document was made at 2024-01-02 03:04:05 UTC." in text


def test_missing_lineage_is_said_aloud():
    text = markdown(lineage(behind(evidence(lineage=()))))
    assert "> **No lineage was recorded" in text


def test_the_figures_are_named_and_given():
    dossier = standard()
    assert set(re.findall(r"\(figures/([^)]+)\)", dossier.markdown)) == set(dossier.figures)
    assert set(dossier.figures) == {
        "queue_length.svg",
        "waits.svg",
        "bounded_slowdowns.svg",
        "robustness.svg",
        "quarters.svg",
        "burst_shock.svg",
    }
    assert dossier.html.count("<svg") == len(dossier.figures)


def test_both_formats_say_all_there_is():
    dossier = standard()
    seen = Page(dossier.html).text
    for text in _texts(compose(evidence()).blocks):
        assert text in seen
        assert escape(text) in dossier.markdown
    assert dossier.html.count("<tr>") == len(re.findall(r"^\|(?! ---)", dossier.markdown, re.MULTILINE))


def _texts(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Heading(_, text) | Paragraph(text):
                yield text
            case Bullets(items):
                yield from (part for item in items for part in (item.lead, item.text))
            case Table(caption, columns, rows):
                yield from (
                    caption,
                    *(column.name for column in columns),
                    *(cell for row in rows for cell in row),
                )
            case Figure(_, _, title, caption):
                yield from (title, caption)


def test_a_log_without_starts_shows_the_replays_alone():
    unseen = trace(job(i, made.START_S + 600 * i, 1 + i % 4, 1800 + 60 * i, 7200) for i in range(made.JOBS))
    dossier = build_trace_dossier(evidence(jobs=unseen))
    assert "The log records no starts" in dossier.markdown
    assert ">observed<" not in dossier.figures["waits.svg"]
    assert "| observed | not known | not known |" in dossier.markdown
