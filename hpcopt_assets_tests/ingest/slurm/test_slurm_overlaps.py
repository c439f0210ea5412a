"""For all histories: overlapping dumps with differing columns give the table that one complete dump gives.

Dumps see the history at different times, and leave out or blank User, UID, Cluster, JobID, JobIDRaw or
JobName. The last one is made when all is over; what no dump tells of a user or a name stays unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcopt_assets_tests.ingest.slurm.dumps import read, read_files
from hpcopt_assets_tests.ingest.slurm.test_slurm_properties import FIRST_S, as_pipes, duration, time

DAY_S = 86400
AGE_S = 10 * DAY_S
# A number comes round after so long.
USERS = (("ua", "11"), ("ub", "12"))
IDS = ("JobID", "JobIDRaw")


class Attempt(NamedTuple):
    """One attempt; `run_s` None: it was cancelled in the queue. `is_resubmitted`: with a new submission."""

    wait_s: int
    run_s: int | None
    state: str
    is_resubmitted: bool


@dataclass(frozen=True)
class Held:
    """A number as one user held it once: a job, or an array of so many tasks."""

    cluster: str
    number: int
    age: int
    person: int
    tasks: tuple[tuple[Attempt, ...], ...]
    is_array: bool

    @property
    def key(self) -> str:
        return f"{self.cluster}{self.number}at{self.age}"

    def ids(self, k: int) -> dict[str, str]:
        """The ids of task k; the last task has the array's own number."""
        if not self.is_array:
            return dict.fromkeys(IDS, str(self.number))
        raw = self.number if k == len(self.tasks) - 1 else self.number + 1 + k
        return {"JobID": f"{self.number}_{k}", "JobIDRaw": str(raw)}

    def rows(self, now_s: int, place: int) -> list[dict[str, str]]:
        """What sacct says of it now, tasks that wait in one range."""
        rows: list[dict[str, str]] = []
        waiting: list[int] = []
        first_s = FIRST_S + self.age * AGE_S + 1000 * place
        if now_s < first_s:
            return []
        for k, attempts in enumerate(self.tasks):
            submit_s = ready_s = first_s
            for attempt in attempts:
                if now_s < ready_s:
                    break
                if attempt.is_resubmitted:
                    submit_s = ready_s
                begin_s = ready_s + attempt.wait_s
                end_s = begin_s + (attempt.run_s or 0)
                if now_s < begin_s and self.is_array and ready_s == first_s:
                    waiting.append(k)
                    break
                rows += _attempt(self.ids(k), attempt, now_s, (submit_s, begin_s, end_s))
                ready_s = end_s
        if waiting:
            ids = {"JobID": f"{self.number}_[{','.join(map(str, waiting))}%1]", "JobIDRaw": str(self.number)}
            rows += _attempt(ids, self.tasks[waiting[0]][0], first_s, (first_s, first_s + 1, first_s + 1))
        user, uid = USERS[self.person]
        return [
            {"JobName": self.key}
            | row
            | {"Cluster": self.cluster, "User": user, "UID": uid, "Account": self.key}
            for row in rows
        ]


def _attempt(
    ids: dict[str, str], attempt: Attempt, now_s: int, when: tuple[int, int, int]
) -> list[dict[str, str]]:
    submit_s, begin_s, end_s = when
    has_started = attempt.run_s is not None and begin_s <= now_s
    is_over = end_s <= now_s and begin_s <= now_s
    state = "RUNNING" if has_started else "PENDING"
    if is_over:
        state = attempt.state if has_started else "CANCELLED by 0"
    row = ids | {
        "Submit": time(submit_s),
        "Start": time(begin_s if has_started else None),
        "End": time(end_s if is_over else None),
        "Elapsed": duration((end_s if is_over else now_s) - begin_s if has_started else 0),
        "State": state,
        "MaxRSS": "",
    }
    batch = {name: f"{name_id}.batch" for name, name_id in ids.items()} | {
        "MaxRSS": f"{end_s - begin_s}K",
        "JobName": "batch",
    }
    return [row, row | batch] if is_over and has_started else [row]


ATTEMPTS = st.lists(
    st.builds(
        Attempt,
        wait_s=st.integers(1, DAY_S // 2),
        run_s=st.integers(1, 2 * DAY_S),
        state=st.sampled_from(["NODE_FAIL", "PREEMPTED", "COMPLETED"]),
        is_resubmitted=st.booleans(),
    ),
    min_size=1,
    max_size=3,
).flatmap(
    lambda attempts: st.sampled_from([tuple(attempts), (*attempts[:-1], attempts[-1]._replace(run_s=None))])
)
HISTORIES = st.lists(
    st.builds(
        Held,
        cluster=st.sampled_from("ab"),
        number=st.sampled_from([100, 101, 200]),
        age=st.integers(0, 1),
        person=st.integers(0, 1),
        tasks=st.lists(ATTEMPTS, min_size=1, max_size=3).map(tuple),
        is_array=st.booleans(),
    ).map(lambda held: held if held.is_array else Held(**vars(held) | {"tasks": held.tasks[:1]})),
    min_size=1,
    max_size=4,
    unique_by=lambda held: (held.cluster, held.age, held.number // 100),
)


class Shape(NamedTuple):
    """When a dump was made, of what was submitted since, and which columns it has."""

    now_s: int
    since_s: int
    user: str
    has_uid: bool
    cluster: str
    ids: tuple[str, ...]
    name: str


SHAPES = st.builds(
    Shape,
    now_s=st.builds(
        lambda age, since_s: FIRST_S + age * AGE_S + since_s, st.integers(0, 1), st.integers(0, 3 * DAY_S)
    ),
    since_s=st.just(FIRST_S) | st.integers(FIRST_S, FIRST_S + AGE_S),
    user=st.sampled_from(["told", "blank", "uid", "none"]),
    has_uid=st.booleans(),
    cluster=st.sampled_from(["told", "blank", "none"]),
    ids=st.sampled_from([IDS, IDS[:1], IDS[1:]]),
    name=st.sampled_from(["told", "blank", "none"]),
)


def rows_told(history: list[Held], shape: Shape) -> list[dict[str, str]]:
    """The rows of such a dump, with all columns."""
    rows = [row for place, held in enumerate(history) for row in held.rows(shape.now_s, place)]
    return [row for row in rows if row["Submit"] >= time(shape.since_s)]


def shaped(history: list[Held], shape: Shape) -> list[dict[str, str]]:
    """The rows that such a dump has."""
    rows = rows_told(history, shape)
    for row in rows:
        row["User"] = {"told": row["User"], "uid": row["UID"]}.get(shape.user, "")
        row["Cluster"] = row["Cluster"] if shape.cluster == "told" else ""
        row["JobName"] = row["JobName"] if shape.name == "told" else ""
    left_out = {name for name in IDS if name not in shape.ids}
    may_lack = {"User": shape.user, "Cluster": shape.cluster, "JobName": shape.name}
    left_out |= {name for name, is_there in may_lack.items() if is_there == "none"}
    left_out |= set() if shape.has_uid else {"UID"}
    return [{name: value for name, value in row.items() if name not in left_out} for row in rows]


def told_users(dumps: list[list[dict[str, str]]]) -> dict[str, str]:
    """Account -> the user's name where some dump tells it, else the uid."""
    names: dict[str, str] = {}
    uids: dict[str, str] = {}
    for row in (row for rows in dumps for row in rows):
        user = row.get("User", "")
        if user and not user.isdigit():
            names[row["Account"]] = user
        elif uid := row.get("UID") or user:
            uids[row["Account"]] = uid
    return uids | names


def told_names(history: list[Held], shapes: list[Shape]) -> set[tuple[str, str, str]]:
    """Account, id and submission of jobs that some dump names."""
    return {
        (row["Account"], row["JobID"], row["Submit"])
        for shape in shapes
        if shape.name == "told"
        for row in rows_told(history, shape)
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(history=HISTORIES, shapes=st.lists(SHAPES, min_size=2, max_size=4), data=st.data())
def test_overlapping_dumps_give_the_table_of_a_complete_one(
    history: list[Held], shapes: list[Shape], data: st.DataObject, tmp_path: Path
):
    whole = Shape(FIRST_S + 9 * AGE_S, FIRST_S, "told", has_uid=True, cluster="told", ids=IDS, name="told")
    last = whole._replace(user=shapes[0].user, has_uid=shapes[0].has_uid, name=shapes[0].name)
    if len({held.cluster for held in history}) == 1:
        last = last._replace(cluster=shapes[0].cluster)
    dumps = [rows for shape in (last, *shapes[1:]) if (rows := shaped(history, shape))]
    once = shaped(history, whole)
    expected = read(as_pipes(once, list(once[0]), ""), tmp_path)
    texts = {}
    for k, rows in enumerate(data.draw(st.permutations(dumps))):
        lines = data.draw(st.permutations(rows)) + data.draw(st.lists(st.sampled_from(rows), max_size=3))
        texts[f"{k}.log"] = as_pipes(lines, data.draw(st.permutations(list(rows[0]))), "")
    found = read_files(texts, tmp_path)
    users, names = told_users(dumps), told_names(history, [last, *shapes[1:]])
    assert expected.rejects == {}
    assert found.parsed.refused == []
    is_named = [
        (account, job_id.partition("@")[0], time(submit_s)) in names
        for account, job_id, submit_s in expected.of("account", "job_id", "submit_s")
    ]
    wanted = expected.jobs.drop("source_file", "source_line").with_columns(
        user=pl.col("account").replace_strict(users, default=None, return_dtype=pl.String),
        name=pl.when(pl.Series(is_named)).then("account"),
    )
    got = found.jobs.drop("source_file", "source_line").with_columns(pl.col("user").cast(pl.String))
    assert got.select(wanted.columns).to_dicts() == wanted.to_dicts()
