"""Logs of the Parallel Workloads Archive (Feitelson, Tsafrir and Krakov, JPDC 2014): the figures of the docs.

Run where HPCOPT_TEST_DATA names a folder with traces/swf.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets.cli.reading import capacity_of, known_of, stated_entry
from hpcopt_assets.contracts.vocabulary import CapacitySource, Verdict
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets_tests.fidelity.made import CONFIGS, ranked

DOCS = Path(__file__).parents[2] / "docs" / "verdicts.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "log", "quarters"),
    [
        ("CTC-SP2-1996-3.1-cln", "CTC-SP2", 5),
        ("SDSC-SP2-1998-4.2-cln", "SDSC-SP2", 9),
        ("KTH-SP2-1996-2.1-cln", "KTH-SP2", 5),
        ("HPC2N-2002-2.2-cln", "HPC2N", 15),
    ],
)
def test_the_closest_policy_is_the_one_in_the_docs_and_fails(
    test_data: Path, name: str, log: str, quarters: int
) -> None:
    path = test_data / "traces" / "swf" / f"{name}.swf.gz"
    known = known_of(path, CONFIGS, stated_entry())
    capacity, source = capacity_of(path, known, None, ())
    policies = [each for each in CONFIGS.policies.policies if not (each.is_bound or each.is_forecasting)]
    schedules = {each.id: replay(known.jobs, each, capacity.procs).schedule for each in policies}
    verdicts, found = ranked(
        known.jobs,
        schedules=schedules,
        capacity=capacity,
        capacity_source=CapacitySource(source),
        timezone=known.timezone,
    )
    whole = found.filter(period="whole")
    closest, easy = whole.row(0, named=True), whole.filter(policy="easy_backfill").row(0, named=True)
    told = (
        f"| {log} | `{closest['policy']}`, {closest['fidelity']} | {closest['distance']:.2f} | "
        f"{easy['rank']} of {whole.height}, {easy['fidelity']} | {easy['distance']:.2f} |"
    )
    assert told in DOCS.read_text(encoding="utf-8").splitlines()
    overall = verdicts.filter(criterion="overall", policy="easy_backfill")
    assert overall.height == 1 + quarters
    assert Verdict.PASS.value not in set(overall["verdict"])
    of_quarters = overall["evidence_count"][1:].sum()
    assert of_quarters == overall["evidence_count"][0] == closest["jobs_count"]
