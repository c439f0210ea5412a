"""Both formats: untrusted text stays text, the page needs nothing else, same evidence gives same bytes."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.dossier.blocks import (
    Bullets,
    Column,
    Document,
    Heading,
    Item,
    Kind,
    Paragraph,
    Table,
    Tone,
)
from hpcopt_assets.dossier.html import page
from hpcopt_assets.dossier.markdown import markdown
from hpcopt_assets.dossier.trace import build_trace_dossier
from hpcopt_assets_tests.dossier.helpers import changed, evidence, standard
from hpcopt_assets_tests.dossier.made import rejects, report
from hpcopt_assets_tests.dossier.pages import Page
from hpcopt_assets_tests.dossier.verdicts import claims

EVIL = (
    '<script>alert("x")</script><img src=x onerror=y> | `a` **b** [c](javascript:d) &lt; $e$ \x1b[31m\u202e'
)


def poisoned():
    return evidence(
        rejects=rejects(EVIL),
        report=report(notes=[EVIL, "- # 1. x"], computer=EVIL, installation=EVIL),
        claims=claims().with_columns(reason=pl.lit(EVIL)),
        environment={EVIL: EVIL},
    )


def test_untrusted_text_is_shown_and_never_run():
    seen = Page(build_trace_dossier(poisoned()).html)
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert '<script>alert("x")</script><img src=x onerror=y>' in seen.text
    assert "\x1b" not in seen.text
    assert "\u202e" not in seen.text


def test_untrusted_text_makes_no_markup_in_markdown():
    text = build_trace_dossier(poisoned()).markdown
    assert "<" not in text
    assert "\x1b" not in text
    assert "[c](" not in text
    assert "**b**" not in text.replace(r"\*\*b\*\*", "")
    tables = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.endswith(" |") for line in tables)


def test_a_text_that_begins_like_a_quotation_is_none():
    assert markdown([Paragraph("> all of it")]) == "\\> all of it\n"
    assert markdown([Paragraph("4 -> 3")]) == "4 -> 3\n"


def test_a_trace_may_have_any_name():
    found = evidence()
    named = {name: frame.with_columns(trace_id=pl.lit("<b>$x")) for name, frame in found.tables.items()}
    dossier = build_trace_dossier(replace(found, trace_id="<b>$x", tables=named))
    assert "<b>" not in dossier.html
    assert "<title>Trace dossier: &lt;b&gt;$x</title>" in dossier.html
    assert dossier.markdown.startswith("# Trace dossier: &lt;b>\\$x\n")


def test_the_page_asks_for_nothing():
    html = standard().html
    assert not re.search(r"https?://|//\w|@import|url\((?!#)", html)
    seen = Page(html)
    assert not seen.tags & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "img",
        "form",
        "a",
        "base",
        "audio",
        "video",
    }
    references = [
        value for name, value in seen.attributes if name in {"src", "href", "srcset", "data", "action"}
    ]
    assert references
    assert all(value.startswith("#") for value in references)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in seen.attributes


def test_same_evidence_same_bytes():
    assert build_trace_dossier(evidence()) == standard()


def test_when_and_where_it_was_made_is_no_substance():
    found = evidence()
    first = build_trace_dossier(found)
    later = build_trace_dossier(
        replace(found, generated_at=datetime(2031, 1, 1, tzinfo=UTC), environment={}, lineage=())
    )
    assert later.markdown != first.markdown
    assert later.substance_sha256 == first.substance_sha256


@pytest.mark.parametrize(
    "change",
    [{"report": report(notes=["another"])}, {"claims": claims().head(0).vstack(claims(confirmation="FAIL"))}],
)
def test_what_was_found_is_substance(change):
    assert build_trace_dossier(evidence(**change)).substance_sha256 != standard().substance_sha256


def test_a_changed_figure_is_substance():
    found = evidence()
    moved = found.schedules["easy_backfill"].with_columns(wait_s=0, start_s="release_s")
    other = changed(found, schedules={**found.schedules, "easy_backfill": moved})
    first, second = build_trace_dossier(found), build_trace_dossier(other)
    assert first.markdown == second.markdown
    assert first.substance_sha256 != second.substance_sha256


@given(text=st.text(min_size=1), other=st.text())
def test_any_text_keeps_the_shape_of_a_table(text, other):
    table = Table(text, (Column(text), Column("n", Kind.NUMBER)), ((text, other), (other, text)))
    lines = [line for line in markdown([table]).splitlines() if line.startswith("|")]
    assert len(lines) == 4
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
    seen = Page(page("t", [table]))
    assert seen.tags & {"script", "b", "svg"} == set()


@given(text=st.text())
def test_any_paragraph_stays_one_paragraph(text):
    blocks = [Paragraph(text), Heading(2, "end")]
    lines = markdown(blocks).splitlines()
    assert lines[-1] == "## end"
    assert len(lines) == 3
    assert not re.match(r"[#>+=-]|\d+[.)]|~~~|```", lines[0])


def test_bullets_and_caveats():
    blocks = [Bullets((Item("A.", "b"), Item("", "1. c"))), Paragraph("d", Tone.CAVEAT)]
    assert markdown(blocks) == "- **A.** b\n- 1\\. c\n\n> **d**\n"
    html = page("t", blocks)
    assert "<li><strong>A.</strong> b</li>" in html
    assert '<p class="caveat">d</p>' in html


def test_verdicts_are_words_in_both_formats():
    table = Table("t", (Column("v", Kind.VERDICT),), (("FAIL",), ("the baseline",)))
    assert '<td class="verdict"><span class="word bad">FAIL</span></td>' in page("t", [table])
    assert '<td class="verdict">the baseline</td>' in page("t", [table])
    assert "| **FAIL** |\n| the baseline |" in markdown([table])


def test_a_row_of_another_width_is_refused():
    with pytest.raises(ValueError, match="1 columns"):
        Table("t", (Column("a"),), (("x", "y"),))


def test_a_document_knows_its_figures():
    assert Document("t", (), ()).figures == {}
