"""When a backlog counts as growing without end."""

import pytest

from hpcopt_assets.claims.conditions import judge_saturation
from hpcopt_assets.contracts.config import SaturationRule
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets_tests.schedules import schedule

RULE = SaturationRule(min_growth_ratio=0.01, parts=3)
HOUR = 3600


def hourly(wait_hours):
    """Three hundred jobs, one an hour, each of half a machine-hour; `wait_hours` of each job's number."""
    return schedule((i * HOUR, int((i + wait_hours(i)) * HOUR), HOUR, 2) for i in range(300))


def test_a_growing_backlog_saturates_and_a_long_one_does_not():
    """Served more slowly than work arrives, the queue grows; if it is merely long, it does not."""
    growing, long, short = hourly(lambda i: 0.5 * i), hourly(lambda _: 200.0), hourly(lambda _: 0.0)
    found = judge_saturation(long, short, Capacity(4), RULE)
    assert (found.verdict, found.measured) == (Verdict.PASS, 0.0)
    assert judge_saturation(short, growing, Capacity(4), RULE).reason.startswith("baseline saturated")
    assert judge_saturation(growing, short, Capacity(4), RULE).reason.startswith("candidate saturated")
    assert judge_saturation(growing, growing, Capacity(4), RULE).reason.startswith(
        "baseline and candidate saturated"
    )


@pytest.mark.parametrize(
    ("slower", "verdict"), [(0.01, Verdict.PASS), (0.05, Verdict.FAIL), (0.5, Verdict.FAIL)]
)
def test_growth_is_the_share_of_the_machine_by_which_work_outruns_it(slower: float, verdict: Verdict):
    """Half a machine arrives; starting each job `slower` hours later than the one before serves less."""
    found = judge_saturation(hourly(lambda i: slower * i), hourly(lambda _: 0.0), Capacity(4), RULE)
    assert found.measured == pytest.approx(0.5 - 0.5 / (1 + slower), rel=0.02)
    assert found.verdict is verdict


def test_without_a_last_third_there_is_no_verdict():
    made = schedule([(0, 0, 5, 1)] * 3)
    assert judge_saturation(made, made, Capacity(4), RULE).verdict is Verdict.NOT_ASSESSED
    assert judge_saturation(schedule([]), schedule([]), Capacity(4), RULE).verdict is Verdict.NOT_ASSESSED
