"""External policies on the command line: listed, replayed like others, their slips said in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets_tests.cli.command import Hpcopt
from hpcopt_assets_tests.packages import EXAMPLE, install, install_project, on_path

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    site = tmp_path / "site"
    install_project(site, EXAMPLE)
    with on_path(site):
        yield site


def said_last(hpcopt: Hpcopt, log: Path, policy: str) -> str:
    """The sentence that a refused replay ends with."""
    done = hpcopt("replay", log, "--policy", policy, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.usefixtures("site")
def test_policies_lists_and_marks_them(hpcopt: Hpcopt) -> None:
    done = hpcopt("policies")
    line = next(line for line in done.stdout.splitlines() if "example_easy" in line)
    assert line.split()[1] == "external"
    assert "example-easy 1.0" in line
    assert "easy_clairvoyant" in done.stdout


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("more", [[], ["--overrun", "kill"]])
def test_replay_measures_what_easy_does(hpcopt: Hpcopt, log: Path, tmp_path: Path, more: list[str]) -> None:
    told = {}
    for policy in ("example_easy", "easy_backfill"):
        out = tmp_path / f"{policy}.parquet"
        done = hpcopt("replay", log, "--policy", policy, "--json", "--out", out, *more)
        assert done.returncode == 0, done.stderr
        told[policy] = (json.loads(done.stdout) | {"policy": ""}, pl.read_parquet(out).rows())
        assert done.stderr.startswith("hpcopt: example_easy is external") == (policy == "example_easy")
    assert told["example_easy"] == told["easy_backfill"]


@pytest.mark.usefixtures("site")
def test_it_says_that_it_is_slow_and_what_came_of_it(hpcopt: Hpcopt, log: Path) -> None:
    lines = hpcopt("replay", log, "--policy", "example_easy").stderr.strip().splitlines()
    assert "reference loop, which is slow (60 jobs)" in lines[0]
    assert "was asked" in lines[-1]
    assert "reservations it kept" in lines[-1]
    assert len(lines) == 2


def test_what_a_policy_prints_does_not_stand_among_the_measures(
    hpcopt: Hpcopt, log: Path, site: Path
) -> None:
    chatty = (site / "example_easy.py").read_text() + "\nprint('read')\ndef talk(s):\n    print('asked')\n"
    install(site, "chatty", {"chatty": "chatty:talk"}, chatty=f"{chatty}    return decide(s)\n")
    done = hpcopt("replay", log, "--policy", "chatty", "--json")
    assert json.loads(done.stdout)["jobs_count"] == 60
    assert "read" in done.stderr
    assert "asked" in done.stderr


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return {'start': [10 ** 6]}", "start of position 1000000, which no job has"),
        ("return {'start': []}", "60 jobs never started"),
        ("return 7", "the whole answer: 7"),
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_slip_of_the_policy_is_one_sentence(
    hpcopt: Hpcopt, log: Path, site: Path, body: str, words: str
) -> None:
    install(site, "slip", {"slip": "slip:decide"}, slip=f"def decide(_):\n    {body}\n")
    said = said_last(hpcopt, log, "slip")
    assert said.startswith("hpcopt: policy slip")
    assert words in said


def test_a_clash_is_said_where_it_matters(hpcopt: Hpcopt, log: Path, site: Path) -> None:
    install(site, "thief", {"easy_backfill": "thief:decide"})
    assert "configs/policies.yaml and of thief 1.0" in said_last(hpcopt, log, "easy_backfill")
    assert hpcopt("policies").returncode == 2
    assert hpcopt("replay", log, "--policy", "fifo_strict", "--json").returncode == 0
