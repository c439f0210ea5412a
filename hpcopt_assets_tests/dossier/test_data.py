"""dossier.json: what people read, as data, and the tables behind it with every digit."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime

import jsonschema
import polars as pl
import pytest

from hpcopt_assets.contracts.dossier_file import DossierFile, DossierKind, ParagraphPart
from hpcopt_assets.contracts.measure_columns import MEASURE_KEYS
from hpcopt_assets.contracts.schemas import all_json_schemas
from hpcopt_assets.contracts.tables import RAW_TRACE
from hpcopt_assets.dossier.blocks import Bullets, Document, Heading, Paragraph, Table
from hpcopt_assets.dossier.data import Behind, as_data
from hpcopt_assets.dossier.evidence import source_files
from hpcopt_assets.dossier.trace import build_trace_dossier, compose
from hpcopt_assets_tests.dossier import verdicts
from hpcopt_assets_tests.dossier.helpers import changed, evidence, standard
from hpcopt_assets_tests.dossier.made import raw_trace, report


def data(dossier=None):
    return json.loads((dossier or standard()).json)


def table(name, found=None):
    return next(each for each in (found or data())["tables"] if each["asset"] == name)


def test_it_keeps_its_schema():
    jsonschema.validate(data(), all_json_schemas()["dossier"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data() | {"foreign": 1}, all_json_schemas()["dossier"])


def test_it_says_all_that_people_read():
    told = data()["content"]
    blocks = compose(evidence()).substance
    assert len(told) == len(blocks)
    for part, block in zip(told, blocks, strict=True):
        match block:
            case Heading(_, text) | Paragraph(text):
                assert part["text"] == text
            case Bullets(items):
                assert [(p["lead"], p["text"]) for p in part["points"]] == [(i.lead, i.text) for i in items]
            case Table(caption, columns, rows):
                assert part["caption"] == caption
                assert part["columns"] == [column.name for column in columns]
                assert part["rows"] == [list(row) for row in rows]
            case _:
                assert part["kind"] == "figure"
                assert part["file_name"] in standard().figures


def test_numbers_stand_with_every_digit_and_their_unit():
    measures = table("replay_measures")
    names = [column["name"] for column in measures["columns"]]
    units = {column["name"]: column["unit"] for column in measures["columns"]}
    assert set(MEASURE_KEYS) < set(names)
    assert units["p95_wait_s"] == "s"
    assert units["trace_id"] is None
    frame = evidence().table("replay_measures").sort("policy", "time_window")
    for row, found in zip(measures["rows"], frame.iter_rows(named=True), strict=True):
        assert dict(zip(names, row, strict=True)) == found


def test_verdicts_stand_with_their_reasons():
    claims = table("claim_verdicts")
    names = [column["name"] for column in claims["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in claims["rows"]]
    overall = next(r for r in rows if r["policy"] == "fifo_strict" and r["criterion"] == "overall")
    assert overall["outcome"] == "BLOCKED"
    assert overall["reason"] == "overall reason of fifo_strict"


def test_when_and_in_which_run_is_kept_apart():
    found = evidence()
    later = replace(
        found,
        generated_at=datetime(2031, 1, 1, tzinfo=UTC),
        environment={"python": "9"},
        lineage=tuple(
            replace(
                item,
                at_s=item.at_s + 9,
                run_id="another",
                record_id=item.record_id + 40,
                inputs=tuple(replace(i, record_id=i.record_id + 40) for i in item.inputs),
            )
            for item in found.lineage
        ),
    )
    one, two = data(), data(build_trace_dossier(later))
    assert one.pop("provenance") != two.pop("provenance")
    assert one == two


def test_the_order_of_rows_does_not_matter():
    found = evidence()
    shuffled = changed(found, scores=found.table("forecast_scores").sample(fraction=1, shuffle=True, seed=3))
    assert table("forecast_scores", data(build_trace_dossier(shuffled))) == table("forecast_scores")


def test_lineage_leads_to_the_bytes_of_the_raw_file():
    found = data()
    made = {item["asset"]: item for item in found["lineage"]}
    replay = made["replay/easy_backfill"]
    assert replay["inputs"] == [{"asset": "trace_jobs", "data_version": "data11" + "0" * 20}]
    assert made["trace_jobs"]["data_version"] == replay["inputs"][0]["data_version"]
    assert found["sources"] == [{"trace_id": "made", "source_file": "made.swf", "sha256": "c" * 64}]
    assert found["seeds"]["shaken replicas"] == evidence().robustness.shaking.seed
    assert {r["run_id"] for r in found["provenance"]["records"]} == {"0f7c2a10-run"}


def test_every_table_and_figure_says_from_which_asset():
    known = {item["asset"] for item in data()["tables"]} | {"trace_jobs", "trace_rejects", "shaken_measures"}
    for part in data()["content"]:
        if part["kind"] in ("table", "figure") and not part["caption"].startswith("configs/"):
            assert part["assets"], part["caption"]
            assert set(part["assets"]) <= known | {"replay/POLICY"}, part["caption"]


def told_of(*digits: str) -> DossierFile:
    """A document of two paragraphs in which these pseudonyms stand, each by its one digit."""
    users = [f"user_{digit * 16}" for digit in digits]
    text = f"The largest: user {users[0]}, then user {users[1]}; a file_{'5' * 16} of user {users[0]}."
    frame = raw_trace().with_columns(source_file=pl.lit(f"file_{digits[0] * 16}"))
    behind = Behind(
        tables=[("raw_trace", RAW_TRACE, frame)],
        errors=(),
        configuration={},
        seeds={},
        sources={"made": source_files(frame)},
        lineage=(),
        environment={},
        generated_at=datetime(2024, 1, 1, tzinfo=UTC),
    )
    document = Document("t", (Paragraph(text), Paragraph(f"user_{'0' * 15}")), ())
    return as_data(DossierKind.TRACE, "t", document, behind)


def test_pseudonyms_are_numbered_so_that_no_key_changes_the_file():
    one, two = told_of("a", "b"), told_of("7", "c")
    first, second = (part.text for part in one.content if isinstance(part, ParagraphPart))
    assert first == "The largest: user user_1, then user user_2; a file_1 of user user_1."
    assert second == f"user_{'0' * 15}"
    assert one.provenance.pseudonyms == {
        "user_1": f"user_{'a' * 16}",
        "user_2": f"user_{'b' * 16}",
        "file_1": f"file_{'5' * 16}",
        "file_2": f"file_{'a' * 16}",
    }
    assert [source.source_file for source in one.sources] == ["file_2"]
    same = {"provenance": one.provenance}
    assert one == two.model_copy(update=same)
    assert told_of("a", "a").substance_sha256 != one.substance_sha256


def test_the_order_of_files_is_that_of_the_table_whatever_their_pseudonyms():
    rows = [
        raw_trace().with_columns(source_file=pl.lit(f"file_{digit * 16}"), sha256=pl.lit(digit * 64))
        for digit in "91"
    ]
    found = table("raw_trace", data(build_trace_dossier(evidence(raw=pl.concat(rows)))))
    at = [column["name"] for column in found["columns"]].index("sha256")
    assert [row[at] for row in found["rows"]] == ["9" * 64, "1" * 64]


def test_what_is_no_number_is_no_number():
    measures = evidence().table("replay_measures")
    strange = measures.with_columns(mean_bsld=pl.lit(math.inf), max_wait_s=pl.lit(math.nan))
    found = table("replay_measures", data(build_trace_dossier(changed(evidence(), measures=strange))))
    names = [column["name"] for column in found["columns"]]
    assert {row[names.index("mean_bsld")] for row in found["rows"]} == {"infinite"}
    assert {row[names.index("max_wait_s")] for row in found["rows"]} == {None}


def test_a_changed_table_is_another_substance():
    other = build_trace_dossier(changed(evidence(), robustness=verdicts.robustness(p25_difference=-1.75)))
    assert other.markdown == standard().markdown
    assert other.substance_sha256 != standard().substance_sha256
    assert build_trace_dossier(evidence(report=report(notes=["x"]))).json != standard().json
