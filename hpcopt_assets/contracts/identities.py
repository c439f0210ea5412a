"""Whom a text may name, and so what becomes of it when results leave the site.

In:  the tables' columns.   Out: `Holds`, and one for each column of text.
Not here: how pseudonyms are made (bundle/).
"""

from __future__ import annotations

from enum import StrEnum

from hpcopt_assets.contracts.columns import Column, DType, Table

FREE = (DType.STRING, DType.STRINGS, DType.BINARY)
VERSION = "version"
# What the keyed hash of a content that names people begins with, as a pseudonym does with its kind.


class Holds(StrEnum):
    """What a column of text may hold. The first five are also what a pseudonym begins with."""

    USER = "user"
    GROUP = "group"
    ACCOUNT = "account"
    JOB_NAME = "job"
    FILE = "file"
    UNKNOWN = "text"
    # A column that nobody has classified: its values become pseudonyms, which keeps keys apart.
    SENTENCE = "sentence"
    # Written by this program, which names users after the word `user` and nobody else.
    FOREIGN = "foreign"
    # Written by others: a log's line, a header's note, what somebody put into a registry entry.
    ENTRY = "entry"
    # A registry entry as JSON.
    NOBODY = "nobody"
    # Ids of jobs, policies and traces, units, hashes, and what a site is and how it is laid out.

    @property
    def is_identity(self) -> bool:
        """Whether each value stands for somebody or something, and is replaced as a whole."""
        return self in (
            Holds.USER,
            Holds.GROUP,
            Holds.ACCOUNT,
            Holds.JOB_NAME,
            Holds.FILE,
            Holds.UNKNOWN,
        )


_BY_NAME: dict[str, Holds] = {
    "user": Holds.USER,
    "group": Holds.GROUP,
    "account": Holds.ACCOUNT,
    "name": Holds.JOB_NAME,
    "source_file": Holds.FILE,
    "entry": Holds.ENTRY,
    "notes": Holds.FOREIGN,
    "text": Holds.FOREIGN,
    **dict.fromkeys(
        ("reason", "note", "found", "allowed", "failed", "open", "improved", "worsened"), Holds.SENTENCE
    ),
    **dict.fromkeys(
        (
            *("trace_id", "policy", "baseline", "dominated_by", "job_id", "array_job_id", "het_group_id"),
            *("preceding_job_id", "queue", "partition", "computer", "installation", "timezone"),
            *("sha256", "cluster_sha256", "unit", "item", "period", "band", "feature", "features", "onnx"),
            *("setting", "rules_kept", "rules_broken"),
            "ring_orders",
        ),
        Holds.NOBODY,
    ),
}
# A column has one meaning in whatever table it stands. Queues and partitions are facts about a site, and
# fallbacks of missing requests are looked for by queue.
_BY_TABLE: dict[tuple[str, str], Holds] = {
    ("trace_rejects", "reason"): Holds.FOREIGN,
    # It quotes what was found in the line.
}


def may_name(table: Table) -> bool:
    """Whether any of its columns may name somebody."""
    return any(holds(table, column) is not Holds.NOBODY for column in table.columns)


def holds(table: Table, column: Column) -> Holds:
    """Whom a column may name: nobody where it is no text or its vocabulary is closed."""
    if column.dtype not in FREE or column.words is not None:
        return Holds.NOBODY
    return _BY_TABLE.get((table.name, column.name), _BY_NAME.get(column.name, Holds.UNKNOWN))
