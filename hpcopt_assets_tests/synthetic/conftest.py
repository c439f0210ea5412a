"""The configured model, and a few-line EASY to stand in for the real replay."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from hpcopt_assets.contracts.synthetic_config import SyntheticConfig

OVERDUE_S = [60, 300, 900, 1800, *(3600 * hours for hours in (1, 2, 5, 10, 20, 50, *range(100, 10_000, 100)))]
CONFIG = Path(__file__).parents[2] / "configs" / "synthetic.yaml"


@pytest.fixture(scope="session")
def config() -> SyntheticConfig:
    return SyntheticConfig.model_validate(yaml.safe_load(CONFIG.read_text()))


@pytest.fixture(scope="session")
def small(config: SyntheticConfig) -> SyntheticConfig:
    """The demo with 800 jobs, for replays in plain Python, and a seed of its own."""
    return config.model_copy(update={"demo": config.demo.model_copy(update={"jobs": 800, "seed": 7})})


def easy(
    *,
    release_s: Sequence[int],
    runtime_s: Sequence[int],
    procs: Sequence[int],
    believed_s: Sequence[int],
    priority: Sequence[int],
    capacity_procs: int,
) -> list[int]:
    """EASY with priorities, one pass an event; an overdue job is believed to end at the next of OVERDUE_S."""
    start: list[int | None] = [None] * len(release_s)
    running: list[int] = []
    queue: list[int] = []
    free, now, nxt = capacity_procs, 0, 0
    while nxt < len(release_s) or queue or running:
        events = [start[i] + runtime_s[i] for i in running]
        now = min([*events, *release_s[nxt : nxt + 1]])
        for i in [i for i in running if start[i] + runtime_s[i] <= now]:
            running.remove(i)
            free += procs[i]
        while nxt < len(release_s) and release_s[nxt] <= now:
            queue.append(nxt)
            nxt += 1
        queue.sort(key=lambda i: (priority[i], i))
        shadow, extra = None, 0
        for i in list(queue):
            if shadow is None and procs[i] > free:
                ends = [(believed_end(start[j] + believed_s[j], now), procs[j]) for j in running]
                shadow = min(at for at, _ in ends if free_at(free, ends, at) >= procs[i])
                extra = free_at(free, ends, shadow) - procs[i]
                continue
            fits = procs[i] <= free
            if shadow is not None and fits and now + believed_s[i] > shadow:
                fits = procs[i] <= extra
                extra -= procs[i] if fits else 0
            if fits:
                start[i] = now
                free -= procs[i]
                running.append(i)
                queue.remove(i)
    return start


def believed_end(end: int, now: int) -> int:
    if end > now:
        return end
    return next(end + late for late in OVERDUE_S if end + late > now)


def free_at(free: int, ends: list[tuple[int, int]], at: int) -> int:
    return free + sum(width for end, width in ends if end <= at)


@pytest.fixture(scope="session")
def replayer() -> object:
    return easy
