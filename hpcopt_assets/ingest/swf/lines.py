"""Lines of an SWF file as numbers: the fast path for plain lines, the careful one for all others.

In:  a block of whole lines.   Out: `Lines`: fields of data lines, lines that are no record, comments, blanks.
Not here: what a field means and may hold (jobs.py), nor what a comment says (header.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import ConservationError
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.contracts.vocabulary import RejectCode
from hpcopt_assets.ingest.parsed import Loss

FIELDS_COUNT = len(SWF_FIELDS)
FIELD_SCHEMA = dict.fromkeys(SWF_FIELDS, pl.Float64)
SCHEMA = pl.Schema({"source_line": pl.Int64, "fields_count": pl.Int64, **FIELD_SCHEMA})
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
# What polars reads as a number, and the words for which "out of range" is the better answer.

DIGIT, GAP, END, OTHER = range(4)
GAPS = b" \t\r\v\f"


def _kinds() -> bytes:
    kind = bytearray([OTHER]) * 256
    for byte in b"0123456789.+-eE":
        kind[byte] = DIGIT
    for byte in GAPS:
        kind[byte] = GAP
    kind[ord("\n")] = END
    return bytes(kind)


KIND = _kinds()
TO_SPACES = bytes.maketrans(GAPS, b" " * len(GAPS))


@dataclass(frozen=True)
class Lines:
    """What the lines of a block are. `fields` has one row per record, in no order (`SCHEMA`)."""

    fields: pl.DataFrame
    lost: list[Loss]
    comments: list[tuple[int, bytes]]
    blank_count: int
    count: int


def read_record(line: bytes) -> list[float] | tuple[RejectCode, str]:
    """One data line the careful way: its first 18 fields, or why they are not to be had."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return RejectCode.UNDECODABLE, f"byte {line[error.start]:#04x} at {error.start + 1}, UTF-8 needed"
    tokens = line.split()
    if len(tokens) < FIELDS_COUNT:
        return RejectCode.TOO_FEW_FIELDS, f"{plural(len(tokens), 'field')}, {FIELDS_COUNT} needed"
    for number, token in enumerate(tokens[:FIELDS_COUNT], start=1):
        if not NUMBER.fullmatch(token):
            shown = token.decode()[:40]
            return (
                RejectCode.NOT_A_NUMBER,
                f"field {number} ({SWF_FIELDS[number - 1]}) is {shown!r}, a number needed",
            )
    return [float(token) for token in tokens[:FIELDS_COUNT]]


class _Shape(NamedTuple):
    """Where the lines of a block begin and end, and how many tokens and odd bytes each has."""

    is_text: npt.NDArray[np.bool_]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    token_at: npt.NDArray[np.int64]
    first_token: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    is_odd: npt.NDArray[np.bool_]


def _shape(block: bytes) -> _Shape:
    kind = np.frombuffer(block.translate(KIND), np.uint8)
    end = np.flatnonzero(kind == END)
    start = np.concatenate([[0], end[:-1] + 1])
    is_text = (kind == DIGIT) | (kind == OTHER)
    begins = is_text.copy()
    begins[1:] &= ~is_text[:-1]
    token_at = np.flatnonzero(begins)
    first = np.searchsorted(token_at, start)
    odd_at = np.flatnonzero(kind == OTHER)
    is_odd = np.searchsorted(odd_at, end) > np.searchsorted(odd_at, start)
    return _Shape(is_text, start, end, token_at, first, np.searchsorted(token_at, end) - first, is_odd)


def _read_plain(block: bytes, shape: _Shape, is_plain: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """The plain lines as floats, in line order; null where a token is no number after all."""
    keep = shape.is_text.copy()
    keep[shape.end] = True
    inner = np.ones(shape.token_at.size, dtype=np.bool_)
    inner[shape.first_token[shape.tokens > 0]] = False
    keep[shape.token_at[inner] - 1] = True
    # Of the gaps, only the one just before a token that is not its line's first is kept, as the separator.
    has_more = is_plain & (shape.tokens > FIELDS_COUNT)
    more_from = shape.token_at[shape.first_token[has_more] + FIELDS_COUNT] - 1
    cuts = np.zeros(len(block) + 1, dtype=np.int8)
    # +1 where a part that is left out begins, -1 where it ends: other lines, and fields after the 18th.
    cuts[np.concatenate([shape.start[~is_plain], more_from])] += 1
    cuts[np.concatenate([shape.end[~is_plain] + 1, shape.end[has_more]])] -= 1
    keep &= np.cumsum(cuts[:-1], dtype=np.int8) == 0
    compact = np.frombuffer(block.translate(TO_SPACES), np.uint8)[keep].tobytes()
    frame = pl.read_csv(
        compact,
        separator=" ",
        has_header=False,
        schema=FIELD_SCHEMA,
        quote_char=None,
        ignore_errors=True,
    )
    if frame.height != int(is_plain.sum()):
        raise ConservationError(
            found=f"{frame.height} records from {int(is_plain.sum())} lines",
            needed="one record from each line is needed",
            where="the fast reader of SWF lines",
            next_step="This is a fault of the reader, not of the file: please report it with the file.",
        )
    return frame


def read_lines(block: bytes, first_line: int) -> Lines:
    """Every line of a block (which ends in a newline), numbered from `first_line`.

    Lines of at least 18 tokens of digits, signs, points and exponents are read together; every other line,
    and every line in which such a token is no number, is read by `read_record`. Both give equal results.
    """
    shape = _shape(block)
    is_plain = (shape.tokens >= FIELDS_COUNT) & ~shape.is_odd
    is_careful = (shape.tokens > 0) & ~is_plain
    frames = []
    if is_plain.any():
        plain = np.flatnonzero(is_plain)
        frame = _read_plain(block, shape, is_plain).select(
            pl.Series("source_line", plain + first_line),
            pl.Series("fields_count", shape.tokens[plain]),
            *SWF_FIELDS,
        )
        is_broken = frame.select(pl.any_horizontal(pl.col(SWF_FIELDS).is_null())).to_series()
        is_careful[plain[is_broken.to_numpy()]] = True
        frames.append(frame.filter(~is_broken))
    records: list[Sequence[float]] = []
    lost: list[Loss] = []
    comments: list[tuple[int, bytes]] = []
    for k in np.flatnonzero(is_careful).tolist():
        number, line = first_line + k, block[shape.start[k] : shape.end[k]].strip(GAPS)
        if line.startswith(b";"):
            comments.append((number, line))
            continue
        record = read_record(line)
        if isinstance(record, list):
            records.append((number, int(shape.tokens[k]), *record))
        else:
            lost.append(Loss(number, *record))
    if records:
        frames.append(pl.DataFrame(records, schema=SCHEMA, orient="row"))
    return Lines(
        fields=pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA),
        lost=lost,
        comments=comments,
        blank_count=int((shape.tokens == 0).sum()),
        count=int(shape.end.size),
    )
