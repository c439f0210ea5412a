"""What a person sees: the UI starts without load errors and shows the graph and an asset's page."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcopt_assets.orchestration.instance import prepare_dagster_home
from hpcopt_assets.orchestration.project import CHECKOUT, Project

pytestmark = [pytest.mark.slow, pytest.mark.browser]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
LOADED = """
{ workspaceOrError { __typename ... on Workspace { locationEntries { name
    locationOrLoadError { __typename ... on PythonError { message } } } } } }
"""
DEADLINE_S = 120


def ask(url: str, query: str) -> dict[str, object]:
    request = urllib.request.Request(  # noqa: S310 -- our own server on the loopback
        f"{url}/graphql", json.dumps({"query": query}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return dict(json.load(answer)["data"])


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`dagster dev` as `make ui` starts it, on a project of its own and a free port."""
    home = tmp_path_factory.mktemp("ui")
    shutil.copytree(CHECKOUT / "configs", home / "configs")
    (home / "data" / "raw").mkdir(parents=True)
    project = Project(home)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "HPCOPT_HOME": str(home),
        "DAGSTER_HOME": str(prepare_dagster_home(project)),
    }
    log = (home / "dagster.log").open("w")
    dagster = str(Path(sys.executable).with_name("dagster"))
    server = subprocess.Popen(
        [
            "/usr/bin/env", "--default-signal=INT,TERM,QUIT", dagster, "dev", "--host", "127.0.0.1",
            "--port", str(port), "--workspace", str(CHECKOUT / "workspace.yaml"),
        ],
        cwd=CHECKOUT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_loaded(url, server)
        yield url
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
        log.close()


def wait_until_loaded(url: str, server: subprocess.Popen[bytes]) -> None:
    """The page stays up when the code location fails to load, so ask for load errors."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        assert server.poll() is None, "dagster dev ended"
        try:
            entries = ask(url, LOADED)["workspaceOrError"]["locationEntries"]  # type: ignore[index]
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(1)
            continue
        found = [entry["locationOrLoadError"] for entry in entries if entry["locationOrLoadError"]]
        if found:
            assert [item["__typename"] for item in found] == ["RepositoryLocation"], found
            return
        time.sleep(1)
    raise AssertionError(f"not loaded within {DEADLINE_S} s")


def page(url: str, tmp_path: Path) -> str:
    """The text of a page after its scripts ran."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: install Debian's package to run browser tests")
    done = subprocess.run(
        [CHROMIUM, *QUIET, f"--user-data-dir={tmp_path / 'browser'}", "--virtual-time-budget=20000",
         "--window-size=1600,1000", "--dump-dom", url],
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return done.stdout


def test_the_graph_shows_its_groups(ui: str, tmp_path: Path) -> None:
    shown = page(f"{ui}/asset-groups", tmp_path)
    for word in ("Global asset lineage", "ingest", "replay", "verdicts", "dossier", "publish"):
        assert word in shown


def test_an_asset_page_shows_what_it_is_and_its_columns(ui: str, tmp_path: Path) -> None:
    shown = page(f"{ui}/assets/replay_measures?view=overview", tmp_path)
    for word in ("every measure of the schedule", "p95_bsld", "trace_to_dossier"):
        assert word in shown


def test_sensors_and_schedule_are_on(ui: str) -> None:
    query = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
        sensors { name sensorState { status } } schedules { name scheduleState { status } } } } } }"""
    node = ask(ui, query)["repositoriesOrError"]["nodes"][0]  # type: ignore[index]
    states = {item["name"]: item["sensorState"]["status"] for item in node["sensors"]}
    states |= {item["name"]: item["scheduleState"]["status"] for item in node["schedules"]}
    assert states == dict.fromkeys(["arrivals", "publish_when_settled", "nightly_repair"], "RUNNING")
