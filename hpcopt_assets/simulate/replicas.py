"""Every replica of a shaken trace under every policy: the table `shaken_measures`.

In:  shaken.py, configs/robustness.yaml, an executor.   Out: `shaken_measures`.
Not here: what the differences between policies say (claims/).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import polars as pl

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.robustness_config import ShakingConfig
from hpcopt_assets.contracts.robustness_tables import BETTER, SHAKEN_MEASURES, WINDOWS
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.vocabulary import Backfill
from hpcopt_assets.simulate.shaken import ShakenReplayer
from hpcopt_assets.simulate.shaking import draw_shake

TOLD = 10
# How often progress is told: enough to see that it goes on, few enough to read.

MEASURED = ("left_out_count", *BETTER)

Row = dict[str, str | int | float | None]


def shaken_measures(
    *,
    trace_id: str,
    replays: ShakenReplayer,
    policies: Sequence[Policy],
    config: ShakingConfig,
    is_synthetic: bool,
    executor: Executor,
    say: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    """Replay each replica under each policy, on the executor; rows by policy, window and replica.

    Replica i is the same shaken trace under every policy. The table depends on the seed, and not on how many
    workers the executor has.
    """
    count = config.replicas.synthetic if is_synthetic else config.replicas.recorded

    def one(replica: int) -> list[Row]:
        shake = draw_shake(replays.release_s, replica, config)
        rows: list[Row] = []
        for policy in policies:
            if policy.backfill is Backfill.CONSERVATIVE and replica >= config.replicas.conservative:
                continue
            told = replays(policy.id, shake.factor, shake.shift_s)
            named: Row = {"trace_id": trace_id, "policy": policy.id, "replica": replica}
            rows += [
                named | {"time_window": window.value, **{name: told[window][name] for name in MEASURED}}
                for window in WINDOWS
            ]
        return rows

    rows: list[Row] = []
    for done, found in enumerate(executor.map(one, range(count)), start=1):
        rows += found
        if done % max(count // TOLD, 1) == 0 or done == count:
            under = plural(len(policies), "policy", "policies")
            say(f"{done} of {count} shaken replicas replayed under {under}")
    frame = pl.DataFrame(rows, schema=SHAKEN_MEASURES.polars_schema())
    places = [policy.id for policy in policies], [window.value for window in WINDOWS]
    by_place = [
        pl.col(name).replace_strict({word: at for at, word in enumerate(words)}, return_dtype=pl.Int64)
        for name, words in zip(("policy", "time_window"), places, strict=True)
    ]
    return SHAKEN_MEASURES.shape(frame.sort(*by_place, "replica"))
