"""What every config model stands on: frozen, no unknown keys, and the bounded numbers they share.

In:  nothing.   Out: `Frozen` and annotated types.
Not here: the models (config.py and the *_config.py beside it).
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from hpcopt_assets.contracts.columns import PROCS_MAX, TIME_MAX_S

SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
Ratio = Annotated[float, Field(ge=0.0, le=1.0)]
Part = Annotated[float, Field(gt=0.0, lt=1.0)]
# Some of it: neither nothing nor all.
Seconds = Annotated[int, Field(ge=1, le=TIME_MAX_S)]
Procs = Annotated[int, Field(ge=1, le=PROCS_MAX)]
Words = Annotated[str, Field(min_length=1)]
PolicyId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Frozen(BaseModel):
    """Base of every config model."""

    model_config = ConfigDict(frozen=True, extra="forbid")
