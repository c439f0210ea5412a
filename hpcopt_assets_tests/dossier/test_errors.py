"""Evidence that is not what was recorded: an error by name, in its place, and never the end of the rest."""

import pytest

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.lineage import ArtefactError
from hpcopt_assets.dossier.evidence import READ
from hpcopt_assets.dossier.markdown import markdown
from hpcopt_assets.dossier.summary import summary
from hpcopt_assets.dossier.trace import CHAPTERS, build_trace_dossier
from hpcopt_assets_tests.dossier.helpers import evidence
from hpcopt_assets_tests.dossier.made import FASTER, TRACE_ID

ASSETS = [*(table.name for table in READ), *(f"replay/{policy}" for policy in FASTER)]


def without(asset: str):
    """The evidence, one artefact of which has another hash than was recorded."""
    whole = evidence()
    error = ArtefactError(asset, TRACE_ID, "a file of SHA-256 0bad", "the file of data version 600d")
    tables = {name: frame for name, frame in whole.tables.items() if name != asset}
    return type(whole)(**{**vars_of(whole), "tables": tables, "errors": (error,)})


def vars_of(found):
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


@pytest.mark.parametrize("asset", ASSETS)
def test_a_broken_artefact_is_named_and_the_rest_is_told(asset):
    found = without(asset)
    with pytest.raises(EvidenceError, match=f"{asset}: a file of SHA-256 0bad"):
        found.table(asset)
    dossier = build_trace_dossier(found)
    opening = dossier.markdown.split("\n## ")[1]
    assert opening.startswith("Errors in the evidence\n")
    assert "> **ERROR: 1 artefact behind this dossier" in opening
    assert f"| {asset} | made | a file of SHA-256 0bad | the file of data version 600d |" in opening
    assert 'class="error"' in dossier.html
    for title in ("What is not modelled", "Configuration", "Lineage"):
        assert f"\n## {title}\n" in dossier.markdown


@pytest.mark.parametrize("asset", [name for name in ASSETS if name != "raw_trace"])
def test_what_rests_on_it_says_so_in_its_place(asset):
    text = build_trace_dossier(without(asset)).markdown
    untold = [part for part in text.split("\n## ") if "ERROR: this chapter cannot be told" in part]
    assert untold
    assert all(f"{asset}: a file of SHA-256 0bad" in part for part in untold)
    assert len(text.split("\n## ")) >= len(CHAPTERS)


@pytest.mark.parametrize("asset", ["ingest_report", "claim_verdicts", "robustness", "replay_measures"])
def test_the_summary_says_which_point_is_missing(asset):
    text = markdown(summary(without(asset)))
    assert f"ERROR: dossier of trace made: {asset}: a file of SHA-256 0bad" in text


def test_sound_evidence_shows_no_error():
    dossier = build_trace_dossier(evidence())
    assert "ERROR" not in dossier.markdown
    assert 'class="error"' not in dossier.html
