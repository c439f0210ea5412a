"""How a trace is shaken: a factor and a shift for each job, drawn anew for each replica.

In:  releases of a trace's jobs, configs/robustness.yaml.   Out: `Shake`.
Not here: the replay of what was shaken (shaken.py).
Source: Tsafrir, Ouaknine and Feitelson, MASCOTS 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.contracts.robustness_config import ShakingConfig
from hpcopt_assets.measures.schedule import FloatArray, IntArray


@dataclass(frozen=True)
class Shake:
    """What each job's runtime and request are multiplied by, and by how much its release is moved (s)."""

    factor: FloatArray
    shift_s: IntArray


def draw_shake(release_s: IntArray, replica: int, config: ShakingConfig) -> Shake:
    """The shake of a replica: the same for every policy, and whatever else is drawn when.

    Factors are U(1 - spread, 1 + spread); shifts U(-s, s) in whole seconds, s a share of the median gap
    between releases.
    """
    random = np.random.default_rng([config.seed, replica])
    reach_s = max_shift_s(release_s, config)
    return Shake(
        random.uniform(1 - config.runtime_spread, 1 + config.runtime_spread, size=release_s.size),
        random.integers(-reach_s, reach_s, size=release_s.size, endpoint=True),
    )


def max_shift_s(release_s: IntArray, config: ShakingConfig) -> int:
    """How far a release may move: a share of the median gap, at least the configured seconds."""
    gap_s = float(np.median(np.diff(release_s))) if release_s.size > 1 else 0.0
    return max(round(config.release_gap_ratio * gap_s), config.min_release_shift_s)
