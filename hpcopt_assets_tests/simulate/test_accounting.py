"""Whose estimates a replay rested on, and what is left without those that know more than it could.

Broken on purpose, and who noticed: histories of other users counted; a job that ends with the submission
counted as unfinished; a job left out of the replay counted as finished; estimates not taken back.
"""

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING, RUNTIME_ESTIMATES
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets.simulate.accounting import account_estimates, histories
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import CAPACITY, policy

MEASURES = load_configs(CHECKOUT / "configs").objective.measures
RULES = policy(estimate="p50", hold="p90", guard_k=0.0)


def estimates_of(frame: pl.DataFrame, p50_s: float = 50.0) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (*row, 40.0, p50_s, 60.0, "model", 1, 20.0, 80.0, 50.0, False)
            for row in frame.select("trace_id", "job_id", "attempt", "submit_s").iter_rows()
        ],
        schema=RUNTIME_ESTIMATES.polars_schema(),
        orient="row",
    )


def log() -> pl.DataFrame:
    """Recorded on an idle machine: 1 of user u ends at 100. Replayed behind a job of v, it ends later."""
    return trace(
        [
            job("0", 0, 2, 500, 500, wait_s=0, user="v"),
            job("1", 0, 2, 100, 500, wait_s=0, user="u"),
            job("2", 90, 1, 10, 500, wait_s=0, user="u"),  # nothing had ended in the log
            job("3", 100, 1, 10, 500, wait_s=0, user="u"),  # 1 had, in the log only
            job("4", 650, 1, 10, 500, wait_s=0, user="u"),  # 1 had, in both
            job("5", 100, 1, 10, 500, wait_s=0, user="w"),  # has no history
            job("6", 550, 1, 10, 500, wait_s=0, user="v"),  # 0 had, in both
        ]
    )


def schedule(frame: pl.DataFrame) -> pl.DataFrame:
    return replay(frame, RULES, 2, estimates=estimates_of(frame)).schedule


def known(frame: pl.DataFrame, replayed: pl.DataFrame) -> dict[str, bool]:
    return dict(histories(frame, replayed).select("job_id", "is_unfinished").iter_rows())


def test_a_history_is_unfinished_where_the_log_knew_more_than_the_replay():
    replayed = schedule(log())
    assert replayed.filter(job_id="1")["end_s"][0] == 600
    assert known(log(), replayed) == {"3": True, "4": False, "6": False}


def test_an_end_at_the_submission_is_no_hindsight():
    frame = trace([job("1", 0, 2, 500, wait_s=0, user="u"), job("2", 500, 1, 10, wait_s=0, user="u")])
    assert known(frame, schedule(frame)) == {"2": False}


def test_a_job_that_takes_no_part_never_ends():
    frame = trace([job("1", 0, 9, 10, wait_s=0, user="u"), job("2", 99, 1, 10, wait_s=0, user="u")])
    assert known(frame, schedule(frame)) == {"2": True}


def test_what_was_replayed_and_what_is_left():
    frame = log()
    found = account_estimates(frame, {RULES: schedule(frame)}, estimates_of(frame), Capacity(2), MEASURES)
    validate(ESTIMATE_ACCOUNTING, found)
    replayed, honest = found.rows(named=True)
    assert (replayed["run"], honest["run"]) == ("as_replayed", "history_honest")
    assert (replayed["model_count"], replayed["model_ratio"]) == (7, 1)
    assert (replayed["unfinished_history_count"], replayed["unfinished_history_ratio"]) == (1, 1 / 3)
    assert (honest["model_count"], honest["request_count"]) == (6, 1)
    assert honest["unfinished_history_count"] == 0


def test_the_honest_run_believes_neither_them_nor_offsets_of_the_log(monkeypatch):
    """What has no other offsets (a user's history, a request) keeps its own bounds."""
    import hpcopt_assets.simulate.accounting as room

    given = []
    honest = room.replay

    def spy(*args, estimates, **kwargs):
        given.append(estimates)
        return honest(*args, estimates=estimates, **kwargs)

    monkeypatch.setattr(room, "replay", spy)
    frame = log()
    plain = pl.col("job_id") == "5"
    estimates = estimates_of(frame).with_columns(
        pl.when(plain).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("split_p10_s", "split_p90_s")
    )
    account_estimates(frame, {RULES: schedule(frame)}, estimates, Capacity(2), MEASURES)
    left = given[-1]
    assert "3" not in left["job_id"].to_list()
    assert left.filter(~plain).select("p10_s", "p50_s", "p90_s").unique().rows() == [(20, 50, 80)]
    assert left.filter(plain).select("p10_s", "p50_s", "p90_s").rows() == [(40, 50, 60)]


def busy_log(seed: int) -> pl.DataFrame:
    """Forty jobs of three users, recorded on a machine with room, replayed on one without."""
    random = np.random.default_rng(seed)
    submit_s = np.sort(random.integers(0, 600, size=40)).tolist()
    return trace(
        [
            job(
                i,
                submit_s[i],
                int(random.integers(1, 5)),
                int(random.integers(5, 200)),
                300,
                wait_s=int(random.integers(0, 30)),
                user="uvw"[int(random.integers(3))],
            )
            for i in range(40)
        ]
    )


def test_no_hindsight_is_left_in_the_honest_run(monkeypatch):
    """Taking estimates back changes what has ended: once is not enough in some of these."""
    import hpcopt_assets.simulate.accounting as room

    rounds, honest = [], room.replay
    monkeypatch.setattr(room, "replay", lambda *args, **kwargs: rounds.append(1) or honest(*args, **kwargs))
    for seed in range(20):
        frame = busy_log(seed)
        replayed = replay(frame, RULES, CAPACITY, estimates=estimates_of(frame)).schedule
        found = account_estimates(frame, {RULES: replayed}, estimates_of(frame), Capacity(CAPACITY), MEASURES)
        assert found["unfinished_history_count"].to_list()[1] == 0, seed
    assert len(rounds) > 20


def test_no_policy_no_rows():
    assert account_estimates(log(), {}, estimates_of(log()), Capacity(2), MEASURES).is_empty()


@pytest.mark.parametrize("p50_s", [1.0, 500.0])
def test_an_estimate_taken_back_leaves_the_request(p50_s):
    """3 is taken back: it asks for 500 s again, whatever its forecast was."""
    frame = log()
    estimates = estimates_of(frame, 50.0).with_columns(p10_s=pl.lit(1.0), p50_s=pl.lit(min(p50_s, 60.0)))
    left = estimates.filter(pl.col("job_id") != "3")
    replayed = replay(frame, RULES, 2, estimates=left).schedule.filter(job_id="3")
    assert replayed["estimate_s"][0] == 500
