"""A site with people in it: its log, its registry entry, and everything by which anybody could be named.

In:  a project.   Out: a Slurm dump of habitual users with awkward names, taken through the graph.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pyarrow.parquet as pq
import yaml

from hpcopt_assets.orchestration.project import CHECKOUT, HOME_VARIABLE, Project
from hpcopt_assets_tests.forecast.made import habitual_jobs, write_small_config

SITE = "site"
POLICIES = (
    *("fifo_strict", "easy_backfill", "easy_tsafrir", "fairshare_backfill"),
    *("ml_backfill_p50", "easy_clairvoyant"),
)
ORDINARY = ("an", "batch", "user", "p95")
# A part of words, the name of a queue, a word of ours, a measure: they stand everywhere, and for no user.
STRIKING = ("1000345678", "Ö'Çelik ş", "a.b(c)*$", "zz_last_in_the_alphabet")
USERS = (*ORDINARY, *STRIKING)
GROUP, ACCOUNT, JOB_NAME = "grp_Ωmega", "acct_quetzal", "secret merger/model 7.sh"
EXCLUDED, NOTED, REJECTED = "excl_ocelot", "note_narwhal", "rej_platypus"
FILES = ("dump_of_jaguar.log", "später_yak.log")
PROJECT_OF = {
    "url": "https://example.org/~heron/log.gz",
    "licence": "ask licence_lemur",
    "note": f"see {NOTED}",
}
SECRETS = (
    *STRIKING,
    *(GROUP, ACCOUNT, JOB_NAME, EXCLUDED, NOTED, REJECTED, "heron", "licence_lemur"),
    *FILES,
)
COLUMNS = (
    *("JobID", "User", "Group", "Account", "Partition", "JobName", "Submit", "Start", "End", "Elapsed"),
    *("State", "Timelimit", "ReqCPUS", "NCPUS", "NNodes"),
)


def write_site(project: Project, jobs: int = 600) -> None:
    """Two dumps in data/raw/site, its entry in the registry, six policies, small forecasts and shaking."""
    write_small_config(project.configs)
    shipped = yaml.safe_load((CHECKOUT / "configs" / "policies.yaml").read_text(encoding="utf-8"))
    shipped["policies"] = [each for each in shipped["policies"] if each["id"] in POLICIES]
    (project.configs / "policies.yaml").write_text(yaml.safe_dump(shipped), encoding="utf-8")
    few_replicas(project)
    _stress_small_traces(project)
    registry = yaml.safe_load((project.configs / "traces.yaml").read_text(encoding="utf-8"))
    registry["traces"][SITE] = PROJECT_OF | {
        "capacity_procs": 16,
        "timezone": "UTC",
        "exclude": [{"user": EXCLUDED, "since": "2020-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z"}],
    }
    (project.configs / "traces.yaml").write_text(
        yaml.safe_dump(registry, allow_unicode=True), encoding="utf-8"
    )
    rows = [_row(row) for row in habitual_jobs(jobs, users=len(USERS)).iter_rows(named=True)]
    rows.append(_row_of(999_001, EXCLUDED, "2023-11-15T00:00:00"))
    rows.append("|".join([f"999002|{REJECTED}", *["g"] * (len(COLUMNS) - 2)]))
    folder = project.raw / SITE
    folder.mkdir(parents=True)
    half = len(rows) // 2
    for name, part in zip(FILES, (rows[:half], rows[half:]), strict=True):
        (folder / name).write_text("\n".join(["|".join(COLUMNS), *part]) + "\n", encoding="utf-8")


def few_replicas(project: Project) -> None:
    """As few shaken replicas as make an interval."""
    path = project.configs / "robustness.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    few = content["intervals"]["min_replicas"]
    content["shaking"]["replicas"] = dict.fromkeys(content["shaking"]["replicas"], few)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")


def _stress_small_traces(project: Project) -> None:
    """Else a trace of this size is not stressed at all, and nothing would be computed again."""
    path = project.configs / "stress.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["scenarios"]["min_jobs"] = 100
    path.write_text(yaml.safe_dump(content), encoding="utf-8")


def _row(row: dict[str, object]) -> str:
    number = int(str(row["user"]).removeprefix("user"))
    start_s = int(str(row["start_s"]))
    runtime_s = int(str(row["runtime_s"]))
    request = row["requested_runtime_s"]
    fields = (
        *(row["job_id"], USERS[number], GROUP, ACCOUNT, row["queue"], JOB_NAME),
        *(_at(int(str(row["submit_s"]))), _at(start_s), _at(start_s + runtime_s), _lasting(runtime_s)),
        *("COMPLETED", "UNLIMITED" if request is None else _lasting(int(str(request)))),
        *(row["procs"], row["procs"], 1),
    )
    return "|".join(map(str, fields))


def _row_of(job_id: int, user: str, at: str) -> str:
    fields = (
        job_id,
        user,
        GROUP,
        ACCOUNT,
        "batch",
        JOB_NAME,
        at,
        at,
        at,
        "00:00:00",
        "COMPLETED",
        "01:00:00",
        1,
        1,
        1,
    )
    return "|".join(map(str, fields))


def _at(instant_s: int) -> str:
    return datetime.fromtimestamp(instant_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _lasting(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


BASE64 = re.compile(rb"[A-Za-z0-9+/]{16,}={0,2}")


def spellings(name: str) -> set[bytes]:
    """How a name may stand in a file: as it is, and as JSON, HTML, YAML, an address or UTF-16 write it."""
    texts = {
        text
        for case in (name, name.lower(), name.upper())
        for text in (
            case,
            json.dumps(case)[1:-1],
            html.escape(case),
            quote(case),
            yaml.safe_dump(case).strip().strip("'\""),
            repr(case)[1:-1],
        )
    }
    spelt = {text.encode(code) for text in texts for code in ("utf-8", "utf-16-le", "utf-16-be")}
    return spelt | {text.lower() for text in spelt}


def texts_of(path: Path) -> Iterator[bytes]:
    """Everything that a file says: its bytes, what stands there in base64 and, of parquet, what is packed.

    That is every cell, statistic, word of metadata and entry of a dictionary, whether a cell has it or not.
    """
    content = path.read_bytes()
    yield content
    for run in BASE64.findall(content):
        yield b64decode(run[: len(run) // 4 * 4])
    if path.suffix != ".parquet":
        return
    frame = pl.read_parquet(path, hive_partitioning=False)
    for column in frame.columns:
        for value in (
            frame[column].drop_nulls().unique(maintain_order=True)
            if frame[column].dtype == pl.String
            else frame[column]
        ):
            plain = value.to_list() if isinstance(value, pl.Series) else value
            yield plain if isinstance(plain, bytes) else str(plain).encode()
    texts = [column for column in frame.columns if frame[column].dtype == pl.String]
    for column in pq.read_table(path, columns=texts, read_dictionary=texts, partitioning=None).columns:
        for chunk in column.chunks:
            yield "\0".join(str(each) for each in chunk.dictionary.to_pylist()).encode()
    with pq.ParquetFile(path) as file:
        yield str(file.metadata.metadata).encode()
        yield str(file.schema_arrow).encode()
        for group in range(file.num_row_groups):
            for column in range(file.metadata.num_columns):
                yield str(file.metadata.row_group(group).column(column)).encode()


def tell_tales(folder: Path, secrets: tuple[str, ...]) -> list[str]:
    """`file: secret` for every secret that stands anywhere in a folder, in whatever spelling."""
    found = []
    for path in sorted(folder.rglob("*")):
        said = b"\0".join([path.name.encode(), *(texts_of(path) if path.is_file() else ())])
        said += said.lower()
        found += [
            f"{path}: {secret}" for secret in secrets if any(word in said for word in spellings(secret))
        ]
    return found


def command(
    home: Path | None, *arguments: str | Path, preamble: str = "pass"
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, of this checkout, with or without a project."""
    environment = {name: value for name, value in os.environ.items() if name != HOME_VARIABLE}
    environment |= {"PYTHONPATH": str(CHECKOUT)} | ({HOME_VARIABLE: str(home)} if home else {})
    code = f"import sys; {preamble}; from hpcopt_assets.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
    )


def stored(project: Project, *asset: str) -> Path:
    return project.store.joinpath(*asset) / f"trace={SITE}" / "part.parquet"
