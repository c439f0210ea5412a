"""The key of pseudonyms: made once, kept by the site, never in a bundle, a log or an error.

In:  a path.   Out: `Pseudonyms`.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from hpcopt_assets.contracts.errors import EvidenceError, InputError
from hpcopt_assets.contracts.identities import VERSION, Holds

KEY_BYTES = 32
DIGITS = 16
# Of a pseudonym: 64 bits, so that even a million job names collide with a chance of one in 37 million.
OWN = "key"
# Stands where a kind stands when the key itself is named.
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Pseudonyms:
    """Keyed pseudonyms: HMAC-SHA256 of kind and name, cut to 16 hexadecimal digits.

    One name has one pseudonym of a kind in every table, trace and bundle of a key. A user and an account of
    the same name have two, which cannot be told to belong together.
    """

    key: bytes = field(repr=False)

    @property
    def key_id(self) -> str:
        """What tells bundles of one key from those of another, and nothing of the key."""
        return self._digits(OWN, "")

    def of(self, kind: Holds, name: str) -> str:
        """The pseudonym of one name, such as `user_0123456789abcdef`."""
        return f"{kind.value}_{self._digits(kind.value, name)}"

    def of_all(self, kind: Holds, names: pl.Series) -> pl.Series:
        """The pseudonyms of a column; nulls stay null. EvidenceError where two names share one."""
        known = names.cast(pl.String).drop_nulls().unique().to_list()
        by_name = {name: self.of(kind, name) for name in known}
        if len(set(by_name.values())) < len(by_name):
            raise EvidenceError(
                found=f"two of {len(by_name):,} names with one pseudonym",
                needed="a pseudonym a name",
                where=f"column {names.name}",
                next_step="Export with another key (--key).",
            )
        return names.cast(pl.String).replace_strict(by_name, default=None, return_dtype=pl.String)

    def version(self, sha256: str) -> str:
        """A hash in place of the SHA-256 of a content with names in it: 64 hexadecimal digits.

        Whoever holds the same content with pseudonyms could try names until the SHA-256 comes out; of a few
        names that takes a second. Equal contents keep equal hashes.
        """
        return self._hmac(VERSION, sha256)

    def mark(self, sha256: str) -> str:
        """What stands for that hash where it is read and not compared: `version_0123456789abcdef`."""
        return f"{VERSION}_{self.version(sha256)[:DIGITS]}"

    def _digits(self, kind: str, name: str) -> str:
        return self._hmac(kind, name)[:DIGITS]

    def _hmac(self, kind: str, name: str) -> str:
        return hmac.new(self.key, f"{kind}\0{name}".encode(), "sha256").hexdigest()


def pseudonyms(path: Path) -> Pseudonyms:
    """The key of that file, which is made (mode 0600) where there is none.

    InputError for a file that others may read, or that holds no key; it never quotes what it holds.
    """
    if not path.exists():
        _make(path)
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) or mode & OTHERS:
        raise InputError(
            found=f"mode {stat.S_IMODE(mode):04o}" if stat.S_ISREG(mode) else "no regular file",
            needed="a file that its owner alone may read (mode 0600)",
            where=str(path),
            next_step=f"If nobody else has read it: chmod 600 {path}. Else remove it: a new one is made.",
        )
    text = path.read_bytes().strip()
    if not re.fullmatch(rb"[0-9a-f]{%d}" % (2 * KEY_BYTES), text):
        raise InputError(
            found=f"{len(text)} characters that are no key",
            needed=f"{2 * KEY_BYTES} hexadecimal digits in lower case",
            where=str(path),
            next_step="Restore it, or remove it: a new one is made, and pseudonyms are then other ones.",
        )
    return Pseudonyms(bytes.fromhex(text.decode()))


def _make(path: Path) -> None:
    """A new key, whole from its first instant on; one that somebody else has just made stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(KEY_BYTES).encode() + b"\n")
        if not path.exists():
            os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
