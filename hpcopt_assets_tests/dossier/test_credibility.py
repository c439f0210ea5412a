"""The dossier over all traces: what survives where, what broke, what is missing, and nothing made up."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import jsonschema
import polars as pl
import pytest

from hpcopt_assets.contracts.lineage import ArtefactError
from hpcopt_assets.contracts.schemas import all_json_schemas
from hpcopt_assets.dossier.across import AcrossEvidence
from hpcopt_assets.dossier.credibility import build_credibility_dossier
from hpcopt_assets_tests.dossier import helpers, made, verdicts
from hpcopt_assets_tests.dossier.across import READ, across, of_trace
from hpcopt_assets_tests.dossier.pages import Page
from hpcopt_assets_tests.dossier.verdicts import claims


def text(evidence: AcrossEvidence | None = None) -> str:
    return build_credibility_dossier(evidence or across()).markdown


def test_the_summary_comes_first_and_says_what_survives_where():
    opening = text().split("\n## ")[0]
    assert (
        "on all of 2 traces that could be told under no candidate; on some under fifo_strict (1 of 2)"
        in opening
    )
    assert "CONDITIONAL: fifo_strict on one. Traces with neither: two." in opening
    assert "ACCEPTED: none." in opening
    assert "The replay of easy_backfill is like the record on 0 of 2 traces." in opening


def test_a_gain_that_survives_everywhere_is_said_so():
    everywhere = across(tables={name: of_trace(name) for name in ("one", "two")})
    assert "on all of 2 traces that could be told under fifo_strict;" in text(everywhere)


def test_each_candidate_has_a_row_on_each_trace_with_both_intervals():
    told = text()
    shared = "97 % (gain) | 3 s (4 s)"
    assert (
        f"| one | -1 | -25 % | -2 to -0.5 | -3 to -0.2 | {shared} | survives both | **CONDITIONAL** |" in told
    )
    assert f"| two | -1 | -25 % | -2 to +0.5 | -3 to +0.5 | {shared} | neither | **BLOCKED** |" in told
    assert "| fifo_strict | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 1 | 1 |" in told


def figures(evidence: AcrossEvidence | None = None) -> dict[str, str]:
    return dict(build_credibility_dossier(evidence or across()).figures)


def test_gains_are_pictured_with_intervals_as_per_cent_of_the_baselines():
    """-1 of 4 is -25 %, from -2 to -0.5, and over weeks from -3 to -0.2."""
    svg = figures(across(tables={"one": across().tables["one"]}))["gains_1.svg"]
    for name in ("fifo_strict", "one", "change (%)"):
        assert f">{name}<" in svg
    assert ">two<" not in svg
    marks = {float(x) for x in re.findall(r">([+-][\d.]+)</text>", svg.replace("\N{MINUS SIGN}", "-"))}
    assert min(marks) in (-80, -75, -60, -50)


def test_many_traces_are_pictured_a_few_at_a_time():
    names = ("a", "b", "c", "d")
    many = across(traces=names, tables={name: of_trace(name) for name in names})
    assert {"gains_1.svg", "gains_2.svg"} <= figures(many).keys()
    assert ">d<" in figures(many)["gains_2.svg"]
    assert ">c<" not in figures(many)["gains_2.svg"]
    assert not any(name.startswith("gains_") for name in figures(across(tables={})))


def test_the_criteria_of_likeness_are_a_grid_with_a_sign_for_what_is_not_known():
    alike = verdicts.fidelity(easy_backfill="PASS", fifo_strict="FAIL")
    svg = figures(across(tables={"one": of_trace("one", fidelity=alike)}))["fidelity.svg"]
    signs = re.findall(r">([PF?\N{EN DASH}])</text>", svg)
    whole = alike.filter(policy="easy_backfill", period="whole")
    assert signs.count("?") == whole.height
    assert signs.count("P") == whole.filter(verdict="PASS").height > 0
    assert "F" not in signs
    assert ">mean wait<" in svg


def test_what_is_recommended_is_told_for_each_trace_or_that_nothing_is():
    told = text(across(tables={"one": across().tables["one"]}))
    part = next(p for p in told.split("\n## ") if p.startswith("What is recommended"))
    rows = across().tables["one"]["recommendation"]
    (said,) = rows.filter("is_baseline")["reason"]
    assert not rows["is_recommended"].any()
    front = ", ".join(rows.filter("is_on_front")["policy"])
    assert f"| one | none | {said} | {front} |" in part
    assert "| two | no evidence | no evidence | no evidence |" in part
    best = rows.with_columns(is_recommended=pl.col("policy") == "fifo_strict")
    chosen = across(tables={"one": across().tables["one"] | {"recommendation": best}})
    assert "| one | fifo_strict | " in text(chosen)


def test_failure_modes_name_who_broke_what_where():
    part = next(p for p in text().split("\n## ") if p.startswith("Failure modes"))
    assert "no candidate's claim is ACCEPTED or CONDITIONAL: two." in part
    assert "| fairness of service over users | demand on the candidate | two | fifo_strict | none |" in part
    assert "fairness of service over users | demand on the candidate | one" not in part
    assert "demand on the evidence | one | fifo_strict | none |" in part
    assert "easy_clairvoyant" not in part


def test_a_trace_without_evidence_is_no_result():
    """Neither a gain, nor a trace without improvement, nor like the record."""
    error = ArtefactError("robustness", "two", "a file of SHA-256 0bad", "the file of data version 600d")
    gone = across(tables={"one": across().tables["one"]}, errors=(error,))
    told = text(gone)
    assert told.index("Errors in the evidence") < told.index("What survives")
    assert "| robustness | two | a file of SHA-256 0bad |" in told
    assert "on all of 1 trace that could be told under fifo_strict" in told
    assert "No evidence on two." in told
    assert "Traces with neither: none." in told
    assert f"| two | {' | '.join(['no evidence'] * 6)} | cannot be told | no evidence |" in told


def test_what_was_never_made_is_listed():
    missing = (ArtefactError("recommendation", "two", "never materialized", "a record in the event log"),)
    part = next(p for p in text(across(missing=missing)).split("\n## ") if p.startswith("What is missing"))
    assert "| recommendation | two |" in part
    assert "What is missing" not in text()


def test_placement_has_its_chapter_or_says_that_it_was_not_made():
    told = text()
    assert "| later | model | not known | not known | not known | 0.919 (0.914 to 0.923) |" in told
    assert "| model | 100 | 10 | 25 | 5 | 50 % | 0.2 |" in told
    assert "Not made: run `hpcopt placement run`" in text(across(placement={})).replace("\\", "")


def test_cards_of_data_and_models():
    told = text()
    machine = "8 processors, stated in the log's header"
    facts = made.report().row(0, named=True)
    started, peak = facts["started_jobs_count"], facts["observed_peak_procs"]
    row = f"| one | A site | 2001-09-09 to 2001-09-10 | 60 | {started} | {machine} | {peak} | 2 h | 3 | 0 |"
    assert row in told
    best = "1 h (the mean of the last two of the same user and request)"
    assert f"| one | 1 of 2 | 30 min | 2 h | {best} | cannot be told | 81.2 % |" in told


@pytest.mark.parametrize(
    ("low", "high", "word"), [(-9.0, -1.0, "surely"), (-9.0, 1.0, "not surely"), (1.0, 9.0, "surely not")]
)
def test_a_model_surely_beats_a_rule_only_where_the_interval_says_so(low, high, word):
    scores = helpers.evidence().table("forecast_scores")
    against = scores.filter(measure="pinball_p50").with_columns(
        versus=pl.lit("user_request"), lower=pl.lit(low), upper=pl.lit(high)
    )
    told = text(across(tables={"one": of_trace("one", scores=pl.concat([scores, against]))}))
    assert f"user and request) | {word} | 81.2 % |" in told


def test_a_queue_that_keeps_growing_is_named_in_the_summary():
    growing = across(
        tables={"one": of_trace("one", claims=claims(saturation="FAIL")), "two": of_trace("two")}
    )
    assert "The queue keeps growing, so that nothing is steady, under fifo_strict (on one)." in text(growing)
    assert "keeps growing" not in text(across(tables={"one": of_trace("one")}))


def test_what_to_do_comes_first():
    assert text().split("\n")[2].startswith("- **What to do.** On this evidence no switch")
    best = verdicts.recommendation(is_recommended=True, outcome="ACCEPTED")
    told = text(across(tables={"one": of_trace("one", recommendation=best)}))
    assert "Recommended in place of easy_backfill: fifo_strict on one." in told


def test_links_lead_to_the_dossiers_beside_it_and_nowhere_else():
    dossier = build_credibility_dossier(across())
    links = [value for name, value in Page(dossier.html).attributes if name == "href" and value[0] != "#"]
    assert links == ["../one/dossier.html", "../two/dossier.html"]
    assert "- [one](../one/dossier.html)" in dossier.markdown
    assert not re.search(r"https?://|@import|url\((?!#)|<script", dossier.html)


def test_no_trace_at_all_is_said():
    told = text(across(traces=(), tables={}, sources={}, lineage=()))
    assert "No trace was taken through the graph: nothing can be told." in told


def test_the_data_keep_their_schema_and_differ_in_provenance_alone():
    found = across()
    one = json.loads(build_credibility_dossier(found).json)
    jsonschema.validate(one, all_json_schemas()["dossier"])
    later = replace(found, generated_at=datetime(2031, 1, 1, tzinfo=UTC), environment={})
    two = json.loads(build_credibility_dossier(later).json)
    assert one.pop("provenance") != two.pop("provenance")
    assert one == two
    assert {table["asset"] for table in one["tables"]} == {
        *(f"{name}/{trace}" for name in READ for trace in ("one", "two")),
        "placement_scores",
        "placement_study",
    }


@pytest.mark.parametrize("name", ["one", "two"])
def test_names_of_people_stand_nowhere(name):
    dossier = build_credibility_dossier(across())
    assert name in dossier.html
    assert "user1" not in dossier.html + dossier.markdown + dossier.json
