"""Lines of an sacct dump as rows of text: blocks, headers, and the fast path for plain lines.

In:  blocks of whole lines.   Out: frames of the used columns as text, and an account of the other lines.
Not here: lines that are not plain (joins.py), what a column says (rows.py).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import chain, pairwise
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import ConservationError, TraceError
from hpcopt_assets.ingest.parsed import LineCounts, Loss
from hpcopt_assets.ingest.slurm.joins import Before, Continued, Joined, Line, Record, is_silent, join
from hpcopt_assets.ingest.slurm.layout import Layout, fields_of, is_header

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NAMES_ID = re.compile(rb"job[ _]?id")
ID_COLUMNS = ("jobid", "jobidraw")
DIGITS = np.frombuffer(b"0123456789", np.uint8)
EDGES = np.frombuffer(b',"\n', np.uint8)
ROW_COLUMNS = {"source_line": pl.Int64, "lines_count": pl.Int64, "is_recovered": pl.Boolean}


class LineReader:
    """Reads one file: `feed` each block in turn, then `finish`.

    Frames hold `ROW_COLUMNS` and the used columns that the file has, as text, null where empty. `continued`
    are lines that belong to a record although it was whole without them.
    """

    def __init__(self, where: str, fields: tuple[str, ...] | None) -> None:
        self.where, self.fields = where, fields
        self.layout: Layout | None = None
        self.counts = LineCounts()
        self.lost: list[Loss] = []
        self._kept: list[Line] = []
        self._continued = array("q")
        self._before: Before | None = None

    def feed(self, block: bytes) -> Iterator[pl.DataFrame]:
        """The records of a block that ends in a newline; what may go on in the next block is kept."""
        block = _clean(block)
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        starts = np.concatenate([[0], ends[:-1] + 1])
        first = 0
        for k in self._header_lines(block, starts, ends):
            yield from self._section(block, starts[first:k], ends[first:k], self.counts.lines + first + 1)
            yield from self.finish()
            line = _text(block, starts[k], ends[k])
            separator = self._separator(line)
            self.layout = Layout.of(fields_of(line, separator), separator, self.where)
            self.counts.header += 1
            self._before = None
            first = k + 1
        yield from self._section(block, starts[first:], ends[first:], self.counts.lines + first + 1)
        self.counts.lines += int(ends.size)

    def finish(self) -> Iterator[pl.DataFrame]:
        """What was kept, now that nothing follows."""
        run, self._kept = self._kept, []
        if run:
            yield from self._frame(self._joined(run, is_open=False))

    def continued(self) -> pl.DataFrame:
        """`Continued` of the lines so far: as numbers in a row, for a log may have as many as records."""
        places = np.frombuffer(self._continued, dtype=np.int64).reshape(-1, len(Continued._fields))
        return pl.DataFrame(places, schema=dict.fromkeys(Continued._fields, pl.Int64))

    def _separator(self, line: str) -> str:
        if self.layout is not None:
            return self.layout.separator
        return "|" if "|" in line else ","

    def _header_lines(self, block: bytes, starts: Places, ends: Places) -> list[int]:
        """Lines that name columns; before any data there is one, or else the list of fields counts."""
        named = sorted({int(np.searchsorted(ends, at.start())) for at in NAMES_ID.finditer(block.lower())})
        texts = {k: _text(block, starts[k], ends[k]) for k in named}
        found = [k for k, line in texts.items() if is_header(line, self._separator(line))]
        if self.layout is None:
            lines = (_text(block, starts[k], ends[k]) for k in range(ends.size))
            k, line = next(((k, line) for k, line in enumerate(lines) if not is_silent(line)), (None, ""))
            if k is not None and k not in found[:1]:
                self.layout = self._from_fields(line)
        return found

    def _from_fields(self, first_line: str) -> Layout:
        if self.fields is not None:
            return Layout.of(list(self.fields), self._separator(first_line), self.where)
        raise TraceError(
            found=f"no header: the first line is {first_line[:80]!r}",
            needed="a line that names the columns, parted by | or commas, or a list of them",
            where=self.where,
            next_step="Write the dump with `sacct --parsable2`, or name its columns with --fields or as "
            "`fields` in configs/traces.yaml.",
        )

    def _section(self, block: bytes, starts: Places, ends: Places, number: int) -> Iterator[pl.DataFrame]:
        """Lines under one layout, the first of them with this number."""
        if ends.size == 0:
            return
        is_plain = self._plain(block, starts, ends)
        if is_plain.any():
            yield self._read_plain(block, starts, ends, is_plain, number)
        if is_plain[0]:
            yield from self.finish()
        records: list[Record] = []
        others = np.flatnonzero(~is_plain)
        cuts = [0, *(np.flatnonzero(np.diff(others) > 1) + 1).tolist(), int(others.size)]
        for low, high in pairwise(cuts) if others.size else ():
            run = others[low:high].tolist()
            lines = [Line(number + k, _text(block, starts[k], ends[k])) for k in run]
            if run[0] == 0:
                lines, self._kept = self._kept + lines, []
            else:
                self._before = Before(number + run[0] - 1)
            records += self._joined(lines, is_open=run[-1] == ends.size - 1)
        if is_plain[-1]:
            self._before = Before(number + int(ends.size) - 1)
        yield from self._frame(records)

    def _joined(self, run: list[Line], *, is_open: bool) -> list[Record]:
        """Records of lines that are not plain; the other lines are accounted for."""
        found: Joined = join(run, self.layout, is_open=is_open, before=self._before)
        self.lost += found.lost
        self._continued.extend(chain.from_iterable(found.continued))
        self.counts.comment += found.counts.comment
        self.counts.blank += found.counts.blank
        self._kept, self._before = found.kept, found.before
        return found.records

    def _plain(self, block: bytes, starts: Places, ends: Places) -> Mask:
        """Lines with as many separators as the columns ask for; in CSV, with quotes only around fields."""
        layout = self.layout
        if layout is None:
            return np.zeros(ends.size, dtype=np.bool_)
        raw = np.frombuffer(block, np.uint8)
        at = np.flatnonzero(raw == ord(layout.separator))
        is_clear = np.ones(ends.size, dtype=np.bool_)
        if layout.separator == ",":
            at, is_clear = _outside_quotes(raw, at, starts, ends)
        separators = np.searchsorted(at, ends) - np.searchsorted(at, starts)
        is_closed = (raw[np.maximum(ends - 1, 0)] == ord(layout.separator)) & (ends > starts)
        is_plain = separators == layout.count - 1
        if layout.is_closed:
            is_plain = np.where(is_closed, separators == layout.count, is_plain)
        if layout.names[0] in ID_COLUMNS:
            # A line that begins with no id may be the rest of a record.
            is_plain &= np.isin(raw[starts], DIGITS)
        return np.asarray(is_plain & is_clear)

    def _read_plain(
        self, block: bytes, starts: Places, ends: Places, is_plain: Mask, number: int
    ) -> pl.DataFrame:
        layout = self._known_layout()
        raw = np.frombuffer(block, np.uint8)
        low, high = int(starts[0]), int(ends[-1]) + 1
        cuts = np.zeros(high - low + 1, dtype=np.int8)
        # +1 where a line that is left out begins, -1 where it ends.
        cuts[starts[~is_plain] - low] += 1
        cuts[ends[~is_plain] + 1 - low] -= 1
        keep = np.cumsum(cuts[:-1], dtype=np.int8) == 0
        if layout.is_closed:
            last = ends[is_plain] - 1
            keep[last[raw[last] == ord(layout.separator)] - low] = False
        frame = pl.read_csv(
            raw[low:high][keep].tobytes(),
            separator=layout.separator,
            has_header=False,
            schema={f"c{place}": pl.String for place in range(layout.count)},
            columns=sorted(layout.used.values()),
            quote_char='"' if layout.separator == "," else None,
        )
        plain = np.flatnonzero(is_plain)
        if frame.height != plain.size:
            raise ConservationError(
                found=f"{frame.height} records from {plain.size} lines",
                needed="one record from each line",
                where=f"the fast reader of sacct lines, {self.where}",
                next_step="This is a fault of the reader, not of the file: please report it with the file.",
            )
        return frame.select(
            pl.Series("source_line", plain + number),
            pl.lit(1, pl.Int64).alias("lines_count"),
            pl.lit(False).alias("is_recovered"),
            *(_known(f"c{place}").alias(name) for name, place in layout.used.items()),
        )

    def _frame(self, records: list[Record]) -> Iterator[pl.DataFrame]:
        if not records:
            return
        places = self._known_layout().used
        fields = [record.fields for record in records]
        columns = dict(zip(places, zip(*map(itemgetter(*places.values()), fields), strict=True), strict=True))
        head = {name: [record[k] for record in records] for k, name in enumerate(ROW_COLUMNS)}
        frame = pl.DataFrame(
            head | columns, schema=ROW_COLUMNS | dict.fromkeys(places, pl.String), strict=True
        )
        yield frame.with_columns(_known(name).alias(name) for name in places)

    def _known_layout(self) -> Layout:
        if self.layout is None:
            raise AssertionError("records come after the layout")
        return self.layout


def _known(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(name)


def _outside_quotes(
    raw: npt.NDArray[np.uint8], at: Places, starts: Places, ends: Places
) -> tuple[Places, Mask]:
    """The places that no quotes enclose, and the lines whose quotes all stand at the edges of fields.

    Both ways of reading CSV, with and without regard to quotes inside of fields, agree on such lines.
    """
    quotes = np.flatnonzero(raw == ord('"'))
    first = np.searchsorted(quotes, starts)
    line_of_quote = np.searchsorted(ends, quotes)
    opens = (np.arange(quotes.size) - first[line_of_quote]) % 2 == 0
    is_edge = np.isin(np.where(opens, raw[quotes - 1], raw[np.minimum(quotes + 1, raw.size - 1)]), EDGES)
    is_clear = (np.searchsorted(quotes, ends) - first) % 2 == 0
    is_clear[line_of_quote[~is_edge]] = False
    is_outside = (np.searchsorted(quotes, at) - first[np.searchsorted(ends, at)]) % 2 == 0
    return at[is_outside], is_clear


def _clean(block: bytes) -> bytes:
    """The block with what is no UTF-8 as the replacement character."""
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return block.decode("utf-8", "replace").encode()
    return block


def _text(block: bytes, start: np.int64, end: np.int64) -> str:
    return block[int(start) : int(end)].decode("utf-8")
