"""`hpcopt fidelity`: verdicts and ranking of one log, without the graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcopt_assets.contracts.vocabulary import FidelityCriterion
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.pipeline.conftest import swf

pytestmark = pytest.mark.usefixtures("project")

START_S = 1_700_000_000
LAST_S = START_S + 59 * 90


def asked(hpcopt: Hpcopt, path: Path, *options: str) -> dict[str, Any]:
    done = hpcopt("fidelity", path, "--json", *options)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def overall(found: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [row for row in found["verdicts"] if row["criterion"] == "overall"]
    return {(row["policy"], row["period"]): row for row in rows}


def test_every_policy_is_judged_over_every_period_and_those_that_are_no_bound_are_ranked(
    hpcopt: Hpcopt, log: Path
) -> None:
    found = asked(hpcopt, log)
    policies = ("fifo_strict", "easy_backfill", "easy_clairvoyant")
    assert list(overall(found)) == [(policy, at) for policy in policies for at in ("whole", "2023-Q4")]
    assert len(found["verdicts"]) == 6 * len(FidelityCriterion)
    ranked = [(row["period"], row["policy"]) for row in found["closeness"]]
    assert sorted(ranked) == sorted((at, policy) for at in ("whole", "2023-Q4") for policy in policies[:2])
    assert [row["rank"] for row in found["closeness"] if row["period"] == "whole"] == [1, 2]
    assert (found["capacity"], found["capacity_source"]) == ({"procs": 8, "steps": []}, "header")


def test_what_is_said_names_the_closest_and_that_it_is_not_alike(hpcopt: Hpcopt, log: Path) -> None:
    done = hpcopt("fidelity", log, "--policy", "easy_backfill", "--policy", "fifo_strict")
    assert done.returncode == 0, done.stderr
    for said in (
        "small.swf on 8 processors (header), tau 10 s",
        "Record within the machine: FAIL: the record cannot have happened on 8 processors",
        "easy_backfill: FAIL over the 60 of 60 jobs that ran in both.",
        "the closest of 2 policies: waits differ by a factor of ",
        "not like the record (fidelity FAIL)",
        "2023-Q4",
        "2 FAIL",
    ):
        assert said in done.stdout


def test_a_bound_alone_is_judged_and_not_ranked(hpcopt: Hpcopt, log: Path) -> None:
    found = asked(hpcopt, log, "--policy", "easy_clairvoyant")
    assert found["closeness"] == []
    assert overall(found)["easy_clairvoyant", "whole"]["verdict"] == "FAIL"
    assert hpcopt("fidelity", log, "--policy", "easy_clairvoyant").returncode == 0


def test_a_window_counts_the_jobs_released_in_it(hpcopt: Hpcopt, log: Path) -> None:
    middle_s = START_S + 20 * 90
    options = (
        "--capacity",
        "64",
        "--policy",
        "easy_backfill",
    )  # what is recorded fits: it can begin anywhere
    late = overall(asked(hpcopt, log, *options, "--since", str(middle_s)))
    assert late["easy_backfill", "whole"]["evidence_count"] == 40
    assert "over the 40 of 40 jobs" in late["easy_backfill", "whole"]["reason"]
    early = overall(asked(hpcopt, log, *options, "--until", str(middle_s)))
    assert early["easy_backfill", "whole"]["evidence_count"] == 20
    assert early["easy_backfill", "whole"]["verdict"] == "NOT_ASSESSED"
    both = asked(hpcopt, log, *options, "--since", str(LAST_S + 1), "--until", str(LAST_S + 9))
    assert overall(both)["easy_backfill", "whole"]["verdict"] == "NOT_ASSESSED"
    assert [row["rank"] for row in both["closeness"]] == [None]
    said = hpcopt("fidelity", log, *options, "--since", str(middle_s)).stdout
    assert "the window asked for" in said


def test_the_time_zone_decides_the_quarter(hpcopt: Hpcopt, tmp_path: Path) -> None:
    """All of it on the last evening of March, UTC."""
    path = tmp_path / "march.swf"
    lines = [f"{i + 1} {i} 0 60 1 -1 -1 1 60 -1 1 1 1 -1 1 1 -1 -1" for i in range(40)]
    path.write_text("; MaxProcs: 64\n; UnixStartTime: 1711926000\n" + "\n".join(lines) + "\n")
    for zone, quarter in (("UTC", "2024-Q1"), ("Europe/Stockholm", "2024-Q2")):
        found = asked(hpcopt, path, "--policy", "easy_backfill", "--timezone", zone)
        assert set(overall(found)) == {("easy_backfill", "whole"), ("easy_backfill", quarter)}
        assert found["timezone"] == zone


def test_seeded_quarters_are_asked_for_in_the_config(
    hpcopt: Hpcopt, tmp_path: Path, project: Project
) -> None:
    """A record that uses more than the machine when its second quarter begins, at 45 minutes."""
    log = tmp_path / "april.swf"
    log.write_text(swf().replace("1700000000", str(1_711_929_600 - 2700)))
    before = asked(hpcopt, log)
    limits = project.configs / "fidelity.yaml"
    text = limits.read_text()
    assert text.count("seeded_start: false") == 1
    limits.write_text(text.replace("seeded_start: false", "seeded_start: true"))
    after = asked(hpcopt, log)
    lacking = "cannot begin as observed: "
    second = [overall(found)["easy_backfill", "2024-Q2"]["reason"] for found in (before, after)]
    assert [lacking in reason for reason in second] == [False, True]
    (unranked,) = [
        row["reason"]
        for row in after["closeness"]
        if row["period"] == "2024-Q2" and row["policy"] == "easy_backfill"
    ]
    assert lacking in unranked
    for period in ("whole", "2024-Q1"):
        verdicts = [overall(found)["easy_backfill", period]["measured"] for found in (before, after)]
        assert verdicts[0] == verdicts[1]


def test_a_window_that_cannot_begin_is_an_error(hpcopt: Hpcopt, log: Path) -> None:
    since = ["--since", str(START_S + 2700)]
    assert "held by jobs that run" in mistake(hpcopt("fidelity", log, *since), code=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--policy", "none_such"], "none_such"),
        (["--since", "9", "--until", "5"], "a window from 9 to 5"),
        (["--since", "2024-01-01T00:00:00"], "with its offset"),
        (["--capacity-step", "soon=4"], "--capacity-step: 'soon'"),
        (["--timezone", "Mars/Olympus"], "no IANA name"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    hpcopt: Hpcopt, log: Path, options: list[str], words: str
) -> None:
    assert words in mistake(hpcopt("fidelity", log, *options))


def test_a_run_says_the_verdict_over_everything_not_of_the_last_quarter(
    hpcopt: Hpcopt, tmp_path: Path
) -> None:
    """The last ten of sixty jobs lie in another quarter, of which nothing can be said."""
    log = tmp_path / "april.swf"
    log.write_text(swf().replace("1700000000", str(1_711_929_600 - 50 * 90)))
    done = hpcopt("run", log)
    assert done.returncode == 0, done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.strip().startswith("easy_backfill ")]
    assert "FAIL" in row
    assert "NOT_ASSESSED" not in row
