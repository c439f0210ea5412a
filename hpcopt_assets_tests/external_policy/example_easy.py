"""EASY backfilling, written against the adapter alone: plain JSON values in, plain JSON values out.

In:  a snapshot (schemas/adapter_snapshot.json).   Out: a decision (schemas/adapter_decision.json).
"""

from typing import Any


def decide(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Start the queue's head while it fits; then whatever fits and does not delay the head."""
    now_s, free = snapshot["now_s"], snapshot["free_procs"]
    holding = [(job["expected_end_s"], job["procs"]) for job in snapshot["running"]]
    waiting, start = list(snapshot["queued"]), []
    while waiting and waiting[0]["procs"] <= free:
        job = waiting.pop(0)
        start.append(job["position"])
        holding.append((now_s + job["requested_runtime_s"], job["procs"]))
        free -= job["procs"]
    if not waiting:
        return {"start": start}

    head, *tail = waiting
    shadow_s, extra = shadow(head["procs"], free, holding)
    for job in tail:
        if job["procs"] > free:
            continue
        if shadow_s is not None and now_s + job["requested_runtime_s"] > shadow_s:
            if job["procs"] > extra:
                continue
            extra -= job["procs"]
        start.append(job["position"])
        free -= job["procs"]
    decision: dict[str, Any] = {"start": start}
    if shadow_s is not None:
        decision["reservation"] = {"position": head["position"], "at_s": shadow_s}
    return decision


def shadow(procs: int, free: int, holding: list[tuple[int, int]]) -> tuple[int | None, int]:
    """When so many processors are expected to be free, and how many more then; None if never."""
    for at_s in sorted({end_s for end_s, _ in holding}):
        there = free + sum(held for end_s, held in holding if end_s <= at_s)
        if there >= procs:
            return at_s, there - procs
    return None, 0
