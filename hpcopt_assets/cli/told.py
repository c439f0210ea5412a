"""What `hpcopt differ` says in the terminal.

In:  a `Difference`, the names of its two schedules, the machine's unit.   Out: sentences and tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from hpcopt_assets.claims.differences import FEW_JOBS, UNKNOWN_USER
from hpcopt_assets.claims.parting import SIDES
from hpcopt_assets.contracts.sentences import in_figures, in_utc
from hpcopt_assets.dossier.numbers import duration
from hpcopt_assets.orchestration.terminal import plural, print_table, say

if TYPE_CHECKING:
    from hpcopt_assets.claims.differences import Difference
    from hpcopt_assets.claims.parting import Head, Moment, Parting

JOBS_SHOWN = 5
STARTED_SHOWN = 8
EVENTS_SHOWN = 30
Names = tuple[str, str]


def tell(found: Difference, names: Names, unit: str) -> None:
    """Where the schedules part and why, then whom the second helps and hurts."""
    ran = plural(found.jobs_count, "job")
    say(f"{ran} ran under both; {found.same_starts_ratio:.1%} of them start at the same instant.")
    for name, reasons in zip(names, (found.only_first, found.only_second), strict=True):
        if reasons:
            words = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons.items())
            say(f"{plural(sum(reasons.values()), 'job')} ran only under {name}; the other says: {words}.")
    if found.neither_count:
        say(f"{plural(found.neither_count, 'job')} ran under neither.")
    if found.parting is None:
        say("No job starts at another instant: the two schedules are the same.")
    else:
        _tell_parting(found.parting, names, unit)
    _tell_gains(found, names, unit)


def _tell_parting(parting: Parting, names: Names, unit: str) -> None:
    moments = (parting.first, parting.second)
    say()
    say(
        f"They part at {in_utc(parting.at_s)} ({parting.at_s}), after "
        f"{plural(parting.same_before_count, 'job')} that started alike."
    )
    waiting = f"{plural(parting.queued_count, 'job')} ({parting.queued_procs:,} {unit}) waiting"
    if parting.is_same_machine:
        say(f"Then, under both: {_state(parting.first, parting.capacity_procs, unit)}; {waiting}.")
    else:
        say(f"Then, under both: {waiting}. What runs differs, for some jobs run for another time:")
        for name, moment in zip(names, moments, strict=True):
            say(f"  {name}: {_state(moment, parting.capacity_procs, unit)}.")
    heads = {parting.first.head: names[0], parting.second.head: names[1]}
    for head, name in heads.items():
        _tell_head(head, name if len(heads) > 1 else "", parting.at_s, unit)
    for side, name, other in zip(SIDES, names, names[::-1], strict=True):
        _tell_started(parting, side, name, other, unit)
    _tell_queue(parting, names, unit)
    for name, moment in zip(names, moments, strict=True):
        _tell_running(moment, names, "" if parting.is_same_machine else f" under {name}", parting.at_s, unit)
        if parting.is_same_machine:
            break
    _tell_account(parting, names, unit)


def _state(moment: Moment, capacity_procs: int, unit: str) -> str:
    return (
        f"{moment.free_procs:,} of {capacity_procs:,} {unit} free; "
        f"{plural(moment.running_count, 'job')} ({moment.running_procs:,} {unit}) running"
    )


def _tell_started(parting: Parting, side: str, name: str, other: str, unit: str) -> None:
    """The jobs that start now under one alone, and when they start under the other."""
    (there,) = (each for each in SIDES if each != side)
    alone = parting.started.filter(
        pl.col(f"{side}_start_s") == parting.at_s, pl.col(f"{there}_start_s").ne_missing(parting.at_s)
    )
    if alone.is_empty():
        say(f"Under {name} alone no job starts.")
        return
    head = (parting.first if side == "first" else parting.second).head
    say(f"Under {name} alone {plural(alone.height, 'job')} {'starts' if alone.height == 1 else 'start'}:")
    for row in alone.head(STARTED_SHOWN).iter_rows(named=True):
        believed = row[f"{side}_estimate_s"]
        belief = "" if believed in (None, row["limit_s"]) else f", believed to run for {duration(believed)}"
        say(
            f"  {_job(row)}: place {row['place']} in the queue, {row['procs']:,} {unit}, requested "
            f"{duration(row['limit_s'])}{belief}{_beside_head(row, believed, head, parting.at_s)}; "
            f"under {other} {_later(row[f'{there}_start_s'], parting.at_s)}"
        )
    if alone.height > STARTED_SHOWN:
        say(f"  ... and {alone.height - STARTED_SHOWN:,} more; --json has all.")


def _beside_head(row: dict[str, Any], believed: int | None, head: Head | None, at_s: int) -> str:
    """Which of EASY's two conditions the job meets, if the head is that one and requests are believed."""
    if head is None or head.fits_at_s is None or head.fits_at_s == at_s or head.job_id == row["job_id"]:
        return ""
    if at_s + (believed or row["limit_s"]) <= head.fits_at_s:
        return " (ends by the shadow time)"
    is_small = row["procs"] <= (head.spare_procs or 0)
    return f" (ends after the shadow time, {'but needs no' if is_small else 'and needs'} more than the extra)"


def _tell_head(head: Head | None, name: str, at_s: int, unit: str) -> None:
    if head is None:
        return
    if head.fits_at_s is None:
        when = "fits at no time on the machine as it is"
    elif head.fits_at_s == at_s:
        when = "fits now"
    else:
        when = (
            f"has its shadow time, by the requests of what runs, at {_later(head.fits_at_s, at_s)}, with "
            f"{head.spare_procs:,} extra {unit}"
        )
    say(
        f"{f'Under {name}: once' if name else 'Once'} those have started that start under both, "
        f"{head.free_procs:,} {unit} are free. First of the others is {head.job_id}, which needs "
        f"{head.procs:,} and {when}."
    )


def _tell_queue(parting: Parting, names: Names, unit: str) -> None:
    """The first of the queue, and who of the others starts now."""
    shown = pl.concat([parting.queue, parting.started.head(2 * STARTED_SHOWN)]).unique("place").sort("place")
    say()
    say(f"The queue in order of release: {shown.height:,} of {parting.queued_count:,}")
    rows = [
        [
            str(row["place"]),
            _job(row),
            row["user"] or "-",
            str(row["procs"]),
            duration(row["limit_s"]),
            duration(parting.at_s - row["release_s"]),
            *(_later(row[f"{side}_start_s"], parting.at_s) for side in SIDES),
        ]
        for row in shown.iter_rows(named=True)
    ]
    print_table(["place", "job", "user", unit, "requested", "waited", *names], rows)


def _tell_running(moment: Moment, names: Names, where: str, at_s: int, unit: str) -> None:
    """Who ends first by the requests; and what policies believed of them, where that is another time."""
    shown, count = moment.running, moment.running_count
    if not count:
        return
    say(f"Running{where}, the first to end by their requests: {shown.height:,} of {count:,}")
    columns = {
        "job": [_job(row) for row in shown.iter_rows(named=True)],
        "user": [user or "-" for user in shown["user"]],
        unit: [str(procs) for procs in shown["procs"]],
        "has run": [duration(at_s - start_s) for start_s in shown["start_s"]],
        "requested": [duration(limit_s) for limit_s in shown["limit_s"]],
    }
    for side, name in zip(SIDES, names, strict=True):
        believed = shown[f"{side}_estimate_s"]
        if (believed != shown["limit_s"]).any():
            columns[f"believed by {name}"] = ["-" if value is None else duration(value) for value in believed]
    ends = shown["expected_end_s"]
    columns["ends by its request"] = ["-" if end_s is None else _later(end_s, at_s) for end_s in ends]
    if moment.only_here_count:
        columns[f"only here: {moment.only_here_count:,}"] = [
            "yes" if only else "" for only in shown["is_only_here"]
        ]
    print_table(list(columns), [list(row) for row in zip(*columns.values(), strict=True)])


def _tell_account(parting: Parting, names: Names, unit: str) -> None:
    """What happens next, each event with the schedules that have it."""
    account = parting.account
    say("What happens then and next")
    rows = []
    last_of_instant = account["at_s"].ne_missing(account["at_s"].shift(-1)).fill_null(True)
    for row, is_last in zip(account.head(EVENTS_SHOWN).iter_rows(named=True), last_of_instant, strict=False):
        who = "both" if row["is_in_first"] and row["is_in_second"] else names[0 if row["is_in_first"] else 1]
        free = [f"{row[f'free_{side}_procs']:,}" if is_last else "" for side in SIDES]
        rows.append(
            [_later(row["at_s"], parting.at_s), row["event"], _job(row), str(row["procs"]), who, *free]
        )
    print_table(["when", "event", "job", unit, "under", *(f"free under {name}" for name in names)], rows)
    if account.height > len(rows):
        say(f"... {len(rows)} of {account.height:,} events; --json has all.")


def _tell_gains(found: Difference, names: Names, unit: str) -> None:
    if found.helped.is_empty() and found.hurt.is_empty():
        return
    for title, jobs in (("most helped", found.helped), ("most hurt", found.hurt)):
        say(f"Jobs {title} by {names[1]}" if jobs.height else f"No job {title} by {names[1]}")
        if jobs.height:
            rows = [
                [
                    _job(row),
                    row["user"] or "-",
                    str(row["procs"]),
                    *(duration(row[f"{side}_wait_s"]) for side in SIDES),
                    *(in_figures(row[f"{side}_bsld"]) for side in SIDES),
                ]
                for row in jobs.head(JOBS_SHOWN).iter_rows(named=True)
            ]
            heads = [f"{what}, {name}" for what in ("wait", "slowdown") for name in names]
            print_table(["job", "user", unit, *heads], rows)
    say(f"Gains under {names[1]}: mean of wait and of bounded slowdown")
    print_table([unit, *GAINS], [_gain(row["band"], row) for row in found.by_size.iter_rows(named=True)])
    users = found.by_user
    shown = (
        users
        if users.height <= 2 * JOBS_SHOWN
        else pl.concat([users.head(JOBS_SHOWN), users.tail(JOBS_SHOWN)])
    )
    print_table(["user", *GAINS], [_gain(_user(row), row) for row in shown.iter_rows(named=True)])
    if shown.height < users.height:
        say(f"{shown.height} of {users.height:,}: the most helped and the most hurt; --json has all.")


GAINS = ["jobs", "helped", "hurt", "wait shorter by", "slowdown lower by"]


def _gain(group: str, row: dict[str, Any]) -> list[str]:
    counts = [f"{row[name]:,}" for name in ("jobs_count", "helped_count", "hurt_count")]
    return [group, *counts, duration(row["mean_gain_s"]), in_figures(row["mean_gain_bsld"])]


def _user(row: dict[str, Any]) -> str:
    if row["kind"] == FEW_JOBS:
        return f"{plural(row['users_count'], 'user')} with few jobs"
    return "unknown" if row["kind"] == UNKNOWN_USER else str(row["user"])


def _job(row: dict[str, Any]) -> str:
    """A job's id, with its attempt where it is not the first."""
    return row["job_id"] if row["attempt"] == 1 else f"{row['job_id']} (attempt {row['attempt']})"


def _later(at_s: int | None, now_s: int) -> str:
    """An instant as seen from another."""
    if at_s is None:
        return "never"
    return "now" if at_s == now_s else f"+{duration(at_s - now_s)}"
