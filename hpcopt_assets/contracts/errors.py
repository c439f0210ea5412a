"""Typed errors. Each states what was found, what was needed, where, and the next step.

In:  the four parts of the sentence.   Out: exceptions whose text is that sentence.
Not here: reject rows (a bad line is data, see `vocabulary.RejectCode`) and verdicts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

UNFINISHED = re.compile(r"\..+\.tmp")
# A file bears such a name until it is whole; people know the folder they named.
NEEDED_BY_SYSTEM: dict[type[OSError], str] = {
    FileNotFoundError: "a file or folder that exists is needed",
    FileExistsError: "a folder is needed",
    NotADirectoryError: "a folder is needed",
    IsADirectoryError: "a file is needed",
    PermissionError: "permission to read and write it is needed",
}


class HpcoptError(Exception):
    """Base of every error a user can meet. `str(error)` is one sentence and the next step."""

    exit_code = 2

    def __init__(self, found: str, needed: str, where: str, next_step: str) -> None:
        self.found, self.needed, self.where, self.next_step = found, needed, where, next_step
        wanted = needed.removesuffix(" is needed").removesuffix(" needed")
        super().__init__(f"{where}: {found}; needed: {wanted}. {next_step}")


class ConfigError(HpcoptError):
    """A file under configs/ (or a registry entry in it) cannot be used as it stands."""


class InputError(HpcoptError):
    """A file, folder or option handed in by the user cannot be used."""

    @classmethod
    def of_system(cls, error: OSError | UnicodeEncodeError) -> InputError:
        """What the operating system refused, or a name that is no text, as a sentence."""
        if isinstance(error, UnicodeEncodeError):
            return cls(
                "characters outside UTF-8",
                "plain text",
                ascii(error.object)[:200],
                "Rename it, or retype it.",
            )
        name = error.filename2 or error.filename  # the second is the target of a renaming
        path = Path(os.fsdecode(name)) if isinstance(name, str | bytes) else None
        if path is not None and UNFINISHED.fullmatch(path.name):
            path = path.parent
        return cls(
            found=(error.strerror or " ".join(str(error).split())).lower(),
            needed=NEEDED_BY_SYSTEM.get(type(error), "a file that can be read and written is needed"),
            where=str(path or "the output"),
            next_step="Check the path and its permissions, or name another one.",
        )


class TraceError(InputError):
    """A raw trace cannot become a table: empty, unreadable, binary, no job line, two files for one id."""


class PolicyError(HpcoptError):
    """An external policy is not the only one of its name, fails, or answers what cannot be done."""


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
