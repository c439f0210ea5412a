"""Evidence that is missing, foreign or contradicts the event log is an error, never a gap."""

from dataclasses import replace
from datetime import datetime

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.lineage import InputVersion
from hpcopt_assets_tests.dossier.helpers import evidence
from hpcopt_assets_tests.dossier.made import lineage, report
from hpcopt_assets_tests.dossier.verdicts import claims, fidelity, invariants


def without(frame: pl.DataFrame, **values: str) -> pl.DataFrame:
    return frame.filter(~pl.all_horizontal(pl.col(name) == value for name, value in values.items()))


def test_evidence_as_made_is_accepted():
    assert [policy.id for policy in evidence().candidates] == ["fifo_strict"]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"fidelity": without(fidelity(), policy="easy_backfill", criterion="overall")}, "overall"),
        ({"claims": without(claims(), policy="fifo_strict", criterion="overall")}, "overall"),
        ({"claims": pl.concat([claims(), claims()])}, "2 rows"),
        ({"measures": without(evidence().table("replay_measures"), policy="fifo_strict")}, "fifo_strict"),
        (
            {
                "measures": without(
                    evidence().table("replay_measures"), policy="observed", time_window="steady"
                )
            },
            "observed, steady",
        ),
        ({"measures": without(evidence().table("replay_measures"), policy="observed")}, "observed"),
        ({"invariants": without(invariants(), policy="fifo_strict")}, "fifo_strict"),
        ({"schedules": {"fifo_strict": evidence().schedules["fifo_strict"]}}, "easy_backfill"),
        ({"report": report().head(0)}, "0 rows"),
        ({"report": report().with_columns(trace_id=pl.lit("another"))}, "ingest_report of another"),
        (
            {"schedules": evidence().schedules | {"surprise": evidence().schedules["fifo_strict"]}},
            "not in the configuration \\['surprise'\\]",
        ),
    ],
)
def test_gaps_and_strangers_are_errors(change, found):
    with pytest.raises(EvidenceError, match=found) as raised:
        evidence(**change)
    assert "dossier of trace made" in str(raised.value)
    assert "Materialize trace made again" in str(raised.value)


def test_an_input_that_differs_from_its_record_is_an_error():
    *rest, last = lineage()
    forged = replace(last, inputs=(InputVersion("trace_jobs", 11, "0123"),))
    with pytest.raises(EvidenceError, match="read trace_jobs at version 0123, but record 11 holds data11"):
        evidence(lineage=(*rest, forged))


def test_an_input_whose_version_is_not_recorded_is_no_error():
    *rest, last = lineage()
    silent = replace(last, inputs=(InputVersion("trace_jobs", 11, None), InputVersion("other", None, "1")))
    assert evidence(lineage=(*rest, silent)).lineage[-1] == silent


def test_a_clock_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        evidence(generated_at=datetime(2024, 1, 1))
