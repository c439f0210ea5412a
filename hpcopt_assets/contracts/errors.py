"""Typed errors. Each states what was found, what was needed, where, and the next step.

In:  the four parts of the sentence.   Out: exceptions whose text is that sentence.
Not here: reject rows (a bad line is data, see `vocabulary.RejectCode`) and verdicts.
"""

from __future__ import annotations


class HpcoptError(Exception):
    """Base of every error a user can meet. `str(error)` is one sentence and the next step."""

    exit_code = 2

    def __init__(self, found: str, needed: str, where: str, next_step: str) -> None:
        self.found, self.needed, self.where, self.next_step = found, needed, where, next_step
        super().__init__(f"{where}: {found}; {needed}. {next_step}")


class ConfigError(HpcoptError):
    """A file under configs/ (or a registry entry in it) cannot be used as it stands."""


class InputError(HpcoptError):
    """A file, folder or option handed in by the user cannot be used."""


class TraceError(InputError):
    """A raw trace cannot become a table: empty, unreadable, binary, no job line, two files for one id."""


class ContractError(HpcoptError):
    """A table does not have the columns, types or values that its contract states."""

    exit_code = 1


class ConservationError(ContractError):
    """Lines read are not all accounted for by jobs, rejects, header, comment and blank lines."""


class InvariantError(ContractError):
    """A schedule breaks a rule that no schedule may break: a fault of ours, never of the input."""


class EvidenceError(HpcoptError):
    """Evidence that a document needs is missing or differs from what the event log recorded."""

    exit_code = 1


class RunError(HpcoptError):
    """A Dagster run ended without success."""

    exit_code = 1
