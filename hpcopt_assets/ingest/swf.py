"""Standard Workload Format: a trace's files as records.

In:  files.   Out: `Parsed`.
Source: Standard Workload Format 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

from typing import Any

from hpcopt_assets.ingest.parsed import LineCounts, Machine, Options, Parsed, Refused, SourceFile
from hpcopt_assets.ingest.source import texts
from hpcopt_assets.ingest.swf_header import Header
from hpcopt_assets.ingest.swf_jobs import Lost, swf_records
from hpcopt_assets.ingest.swf_log import read_log


def read_swf(files: tuple[SourceFile, ...], options: Options) -> Parsed:
    """Records of SWF files, packed with gzip or not; what cannot be read at all raises `TraceError`.

    The header of the first file that states a field speaks for the trace.
    """
    logs = [(file.name, read_log(file.path, options.limits)) for file in files]
    records, lost, merged = swf_records(logs)
    return Parsed(
        records=records.lazy(),
        refused=_with_texts(files, lost, options),
        counts=LineCounts(
            lines=sum(log.lines_count for _, log in logs),
            header=sum(log.header_lines_count for _, log in logs),
            comment=sum(log.comment_lines_count for _, log in logs),
            blank=sum(log.blank_lines_count for _, log in logs),
            merged=merged,
        ),
        machine=_machine([log.header for _, log in logs]),
        facts=_sizes([log.header for _, log in logs]),
    )


def _with_texts(files: tuple[SourceFile, ...], lost: list[Lost], options: Options) -> list[Refused]:
    """Refused lines with their text, which is read again: few lines are refused."""
    found = []
    for file in files:
        here = [line for line in lost if line.source_file == file.name]
        text = texts(file.path, options.limits, (line.source_line for line in here))
        found += [Refused(*line, text[line.source_line]) for line in here]
    return found


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
