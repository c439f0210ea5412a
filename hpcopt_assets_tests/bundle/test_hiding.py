"""Names become pseudonyms in every kind of column; text that may hold names goes, and is said to be gone."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.bundle.hiding import LEFT_OUT, Hider, keyed
from hpcopt_assets.bundle.key import Pseudonyms
from hpcopt_assets.contracts.columns import Column, DType, Table
from hpcopt_assets.contracts.identities import Holds
from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.contracts.makers import count, text
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import RAW_TRACE, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets_tests.builders import job, trace

KEY = Pseudonyms(b"\7" * 32)


def hider(*users: str) -> Hider:
    return Hider(KEY, frozenset(users))


def hidden(name: str) -> str:
    return KEY.of(Holds.USER, name)


def test_jobs_keep_everything_but_names() -> None:
    jobs = trace(
        [
            job(1, 0, 1, 10, user="batch", group="g", account="batch", name="run.sh", queue="batch"),
            job(2, 5, 1, 10, user=None, queue="batch"),
        ]
    )
    made = hider("batch").table(TRACE_JOBS, jobs)
    validate(TRACE_JOBS, made)
    named = ["user", "group", "account", "name", "source_file"]
    assert made.drop(named).equals(jobs.drop(named))
    assert made["queue"].to_list() == ["batch", "batch"]
    assert made["user"].to_list() == [hidden("batch"), None]
    assert made["account"][0] == KEY.of(Holds.ACCOUNT, "batch")
    assert made["name"].to_list() == [KEY.of(Holds.JOB_NAME, "run.sh"), None]
    assert all(path.startswith("file_") for path in made["source_file"])


def test_rejects_keep_their_code_and_lose_what_was_quoted() -> None:
    rows = [("made", "a.swf", 3, "negative_wait", "wait of bob is -3", "bob 1 2 3")]
    frame = pl.DataFrame(rows, schema=TRACE_REJECTS.polars_schema(), orient="row")
    one = hider("bob")
    made = one.table(TRACE_REJECTS, frame)
    assert made.select("code", "reason", "text").row(0) == ("negative_wait", LEFT_OUT, LEFT_OUT)
    assert one.left_out == {"trace_rejects.reason", "trace_rejects.text"}
    assert made["source_line"].to_list() == [3]


def test_a_trace_s_users_are_those_of_its_jobs_and_of_its_entry() -> None:
    jobs = trace([job(1, 0, 1, 10, user="ann b"), job(2, 5, 1, 10, user=None)])
    entry = json.dumps({"exclude": [{"user": "bob", "since": "2020", "until": "2021"}]})
    raw = pl.DataFrame({"entry": [entry, entry]})
    one = Hider.of_trace(KEY, {TRACE_JOBS.name: jobs, RAW_TRACE.name: raw})
    assert one.users == {"ann b", "bob"}
    assert one.sentence("user ann b waits") == f"user {hidden('ann b')} waits"


@pytest.mark.parametrize("there", [TRACE_JOBS.name, RAW_TRACE.name])
def test_where_users_are_not_known_a_sentence_that_names_one_is_left_out(there: str) -> None:
    """Half a name that looks hidden would be worse than none."""
    tables = {
        TRACE_JOBS.name: trace([job(1, 0, 1, 10, user="ann")]),
        RAW_TRACE.name: pl.DataFrame({"entry": ["{}"]}),
    }
    one = Hider.of_trace(KEY, {there: tables[there]})
    assert one.sentence("largest share: user ann b on 2 days") == LEFT_OUT
    assert one.sentence("no user-wise figure") == "no user-wise figure"


def test_nothing_is_said_to_be_left_out_of_an_empty_table() -> None:
    one = hider("bob")
    assert one.table(TRACE_REJECTS, TRACE_REJECTS.empty()).is_empty()
    assert one.left_out == set()


def test_an_entry_keeps_facts_and_loses_prose_and_excluded_users() -> None:
    entry = {
        "url": "https://example.org/~bob/log.gz",
        "note": "ask bob",
        "licence": "bob's",
        "capacity_procs": 8,
        "exclude": [{"user": "bob", "since": "2024-01-01T00:00:00Z", "until": "2024-02-01T00:00:00Z"}],
    }
    frame = pl.DataFrame(
        [("made", "bob.swf", "swf", "0" * 64, 3, json.dumps(entry))],
        schema=RAW_TRACE.polars_schema(),
        orient="row",
    )
    one = hider("bob")
    made = one.table(RAW_TRACE, frame)
    kept = json.loads(made["entry"][0])
    assert kept == {"capacity_procs": 8, "exclude": [entry["exclude"][0] | {"user": hidden("bob")}]}
    assert one.left_out == {"raw_trace.entry.url", "raw_trace.entry.note", "raw_trace.entry.licence"}
    assert "bob" not in str(made.rows())


def test_hashes_of_what_names_people_are_keyed_wherever_they_stand() -> None:
    named, plain = "a" * 64, "b" * 64
    inputs = (
        InputVersion("trace_jobs", 1, named),
        InputVersion("report", 2, plain),
        InputVersion("x", 3, None),
    )
    records = tuple(
        Materialization(asset, "made", number, 0.0, "run", "code", version, 1, inputs)
        for number, (asset, version) in enumerate((("trace_jobs", named), ("report", plain), ("x", None)))
    )
    made = keyed(records, {plain}, KEY.version)
    hidden_version = KEY.version(named)
    assert [record.data_version for record in made] == [hidden_version, plain, None]
    assert all([each.data_version for each in one.inputs] == [hidden_version, plain, None] for one in made)
    assert [(one.asset, one.record_id) for one in made] == [(one.asset, one.record_id) for one in records]


@pytest.mark.parametrize(
    ("users", "said", "shown"),
    [
        (["bob"], "share: user bob on 2024-01-01, 3 jobs", "share: user {bob} on 2024-01-01, 3 jobs"),
        (["an", "3"], "answer: user 3 on 3 days; user an, is", "answer: user {3} on 3 days; user {an}, is"),
        (["a", "a b"], "user a b on", "user {a b} on"),
        (["bo"], "user bob on", "user bob on"),
        (["bo"], "user bo_b on", "user bo_b on"),
        (["é(.*)"], "user é(.*) on", "user {é(.*)} on"),
        (["user", "user user"], "user user user on", "user {user user} on"),
        (["x"], "no user here", "no user here"),
        (["x"], "user x", "user {x}"),
    ],
)  # fmt: skip
def test_sentences_name_a_user_after_the_word_user_alone(users: list[str], said: str, shown: str) -> None:
    for user in users:
        shown = shown.replace(f"{{{user}}}", hidden(user))
    assert hider(*users).sentence(said) == shown


def test_every_sentence_of_a_column_is_looked_at() -> None:
    said = ["user bob waits", None, "nobody waits", "user eve waits", "user bob waits"]
    table = Table("made", "made", (count("n", "x"), text("note", "made", nullable=True)), key=("n",))
    frame = pl.DataFrame(list(enumerate(said)), schema=table.polars_schema(), orient="row")
    one = hider("bob", "eve")
    bob, eve = (f"user {hidden(name)} waits" for name in ("bob", "eve"))
    assert one.table(table, frame)["note"].to_list() == [bob, None, "nobody waits", eve, bob]
    assert one.left_out == {"made.note (names of users in sentences)"}


@given(
    users=st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True),
    before=st.sampled_from(["", "largest share: ", "Excluded by the registry: jobs of "]),
    after=st.sampled_from([" on 2024-01-01, 3 jobs", " submitted from", "", ", and then"]),
)
def test_whatever_a_user_is_called_no_sentence_tells(users: list[str], before: str, after: str) -> None:
    made = hider(*users).sentence(f"{before}user {users[0]}{after}")
    assert any(
        made == f"{before}user {hidden(user)}{f'user {users[0]}{after}'[5 + len(user) :]}" for user in users
    )


def test_what_nobody_classified_is_hidden_and_told() -> None:
    table = Table(
        "made",
        "made",
        (
            text("nickname", "made"),
            Column("friends", DType.STRINGS, "made"),
            Column("blob", DType.BINARY, "made", nullable=True),
        ),
        key=("nickname",),
    )
    frame = pl.DataFrame(
        [("bob", ["bob", "eve"], b"bob"), ("eve", [], None)], schema=table.polars_schema(), orient="row"
    )
    one = hider()
    made = one.table(table, frame)
    assert made["nickname"].n_unique() == 2
    assert made["friends"].to_list() == [[LEFT_OUT], []]
    assert made["blob"].to_list() == [b"", None]
    assert not any(name in str(made.rows()) for name in ("bob", "eve"))
    assert {each.split(" ")[0] for each in one.left_out} == {"made.nickname", "made.friends", "made.blob"}
