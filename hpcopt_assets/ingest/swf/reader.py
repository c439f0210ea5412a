"""Standard Workload Format: a trace's files as records.

In:  files.   Out: `Parsed`.
Source: Standard Workload Format 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

from typing import Any

from hpcopt_assets.ingest.parsed import LineCounts, Loss, Machine, Options, Parsed, SourceFile
from hpcopt_assets.ingest.source import RowBudget, with_texts
from hpcopt_assets.ingest.swf.header import Header
from hpcopt_assets.ingest.swf.jobs import swf_records
from hpcopt_assets.ingest.swf.log import read_log


def read_swf(files: tuple[SourceFile, ...], options: Options) -> Parsed:
    """Records of SWF files, packed with gzip or not; what cannot be read at all raises `TraceError`.

    The header of the first file, by name, that states a field speaks for the trace.
    """
    files = tuple(sorted(files, key=lambda file: file.name))
    budget = RowBudget(options.limits)
    logs = [(file.name, read_log(file.path, options.limits, budget)) for file in files]
    found = swf_records(logs)
    return Parsed(
        records=found.records,
        refused=[
            refused
            for file in files
            for refused in with_texts(
                file,
                [Loss(*line[1:]) for line in found.lost if line.source_file == file.name],
                options.limits,
            )
        ],
        counts=LineCounts(
            lines=sum(log.lines_count for _, log in logs),
            header=sum(log.header_lines_count for _, log in logs),
            comment=sum(log.comment_lines_count for _, log in logs),
            blank=sum(log.blank_lines_count for _, log in logs),
            merged=found.merged,
        ),
        machine=_machine([log.header for _, log in logs]),
        facts=_sizes([log.header for _, log in logs])
        | ({"superseded_lines": found.superseded} if found.superseded else {}),
    )


def _first(headers: list[Header], name: str) -> Any:
    return next((value for header in headers if (value := getattr(header, name)) is not None), None)


def _machine(headers: list[Header]) -> Machine:
    names = ("computer", "installation", "timezone", "unix_start_s", "max_procs")
    notes = tuple(dict.fromkeys(note for header in headers for note in header.notes))
    return Machine(notes=notes, **{name: _first(headers, name) for name in names})


def _sizes(headers: list[Header]) -> dict[str, int]:
    """What the header says of the machine's size, which the registry may contradict."""
    stated = {name: _first(headers, name) for name in ("max_procs", "max_nodes")}
    return {f"header_{name}": size for name, size in stated.items() if size is not None}
