"""Standard Workload Format: its fields in order, once for whoever reads or writes it.

In:  nothing.   Out: `SWF_FIELDS`.
Not here: what a field means and may hold (ingest/).
Source: Standard Workload Format 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

SWF_FIELDS = (
    "job",
    "submit",
    "wait",
    "run",
    "allocated",
    "cpu",
    "used_memory",
    "requested",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding",
    "think_time",
)
