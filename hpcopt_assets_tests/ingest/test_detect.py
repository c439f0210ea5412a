"""Which format a file has is told by its content, whatever its name and wrapping."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.vocabulary import TraceFormat
from hpcopt_assets.ingest.detect import detect
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets_tests.ingest.helpers import LIMITS, line

PBS = "04/05/2024 10:00:00;E;12.server;user=anna queue=batch ctime=1 qtime=1 etime=1 start=1 end=2\n"
FIRST_LINES: list[tuple[str, str, TraceFormat]] = [
    ("SWF", line() + "\n", TraceFormat.SWF),
    ("SWF with a header", "; Version: 2.2\n; Computer: SP2\n" + line(), TraceFormat.SWF),
    ("SWF, header only", ";\n", TraceFormat.SWF),
    ("SWF after blank lines", "\n  \n   " + line(), TraceFormat.SWF),
    ("SWF with tabs", line().replace(" ", "\t"), TraceFormat.SWF),
    ("SWF with fractions and more fields", line(run="1.5", cpu=".5", wait="+3") + " 1 2", TraceFormat.SWF),
    ("SWF with a pipe in its header", "; Note: a|b\n" + line(), TraceFormat.SWF),
    ("sacct", "JobID|State|Submit|Start|End\n1|COMPLETED|2024|2024|2024\n", TraceFormat.SACCT),
    ("sacct, other columns first", "User|Account|JobIDRaw\nanna|a|1\n", TraceFormat.SACCT),
    ("sacct without a header", "1|1|c|p|normal|a|g|1\n", TraceFormat.SACCT),
    ("sacct as CSV", "JobID,State,Submit\n1,COMPLETED,2024-01-01T00:00:00\n", TraceFormat.SACCT),
    ("sacct with many numbers", "|".join(["1"] * 30) + "\n", TraceFormat.SACCT),
    ("PBS", PBS, TraceFormat.PBS),
    ("PBS with comments like those of SWF", "; a comment\n; Version: 2.2\n" + PBS, TraceFormat.PBS),
    ("PBS after thousands of comments", "; a comment\n" * 3000 + PBS, TraceFormat.PBS),
    ("PBS after other lines", "not a record\n" * 100 + PBS, TraceFormat.PBS),
    ("PBS of a server that starts", "04/05/2024 00:00:01;L;license;floating license:0\n", TraceFormat.PBS),
    ("PBS with pipes", PBS.replace("batch", "a|b"), TraceFormat.PBS),
]


def detect_file(path: Path) -> TraceFormat:
    return detect((SourceFile(path, path.name),), LIMITS, "made")


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in FIRST_LINES], ids=[case[0] for case in FIRST_LINES]
)
def test_the_format_of_a_text(text: str, expected: TraceFormat, tmp_path: Path):
    path = tmp_path / "made"
    for raw in (text.encode(), text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode()):
        for content in (raw, gzip.compress(raw)):
            path.write_bytes(content)
            assert detect_file(path) is expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("job_id", "run_time", "time_limit", "more"), TraceFormat.PM100),
        (("jid", "adt", "sdt", "edt", "more"), TraceFormat.FDATA),
    ],
)
def test_the_format_of_a_parquet_file(columns: tuple[str, ...], expected: TraceFormat, tmp_path: Path):
    path = tmp_path / "made.swf"
    pl.DataFrame({name: [1] for name in columns}).write_parquet(path)
    assert detect_file(path) is expected


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"id,submit\n1,2\n", "no line of a known format"),
        (b"1 2 3\n" * 300, "no line of a known format"),
        (b"\n\n", "no line of a known format"),
        (b"# a comment\n", "no line of a known format"),
        (b"\xef\xbb\xbf", "no line of a known format"),
        (b"", "the file is empty"),
        (b"PAR1", "the parquet data cannot be read"),
        (b"PAR1" + b"x" * 100 + b"PAR1", "the parquet data cannot be read"),
    ],
)
def test_what_has_no_known_format_is_refused(raw: bytes, found: str, tmp_path: Path):
    path = tmp_path / "made.swf"
    path.write_bytes(raw)
    with pytest.raises(TraceError, match=found) as caught:
        detect_file(path)
    assert caught.value.where == str(path)
