"""Comments of SWF files: what the header says, leniently read, and which comment lines are header lines."""

from pathlib import Path

import pytest

from hpcopt_assets.contracts.vocabulary import CapacitySource
from hpcopt_assets.ingest.swf.header import Header, read_header
from hpcopt_assets_tests.ingest.helpers import line, read_text


def header_of(*comments: str | bytes) -> tuple[Header, int]:
    lines = [text.encode() if isinstance(text, str) else text for text in comments]
    return read_header(list(enumerate(lines, start=1)))


@pytest.mark.parametrize(
    ("text", "procs"),
    [
        ("1664 (72, 1368, 224)", 1664),
        ("338 (batch partition; 512 total)", 338),
        ("128", 128),
        ("128 ", 128),
        ("1,152", 1152),
        ("128,64", 128),
        ("240.0", 240),
        ("-1", None),
        ("0", None),
        ("unknown", None),
        ("", None),
        ("16777217", None),
        ("9" * 5000, None),
    ],
)
def test_processor_counts_are_read_leniently(text: str, procs: int | None):
    header, count = header_of(f"; MaxProcs: {text}", f";MaxNodes:{text}")
    assert (header.max_procs, header.max_nodes, count) == (procs, procs, 2)


def test_what_is_kept_of_a_header():
    header, count = header_of(
        "; Version: 2.2",
        "; Computer: IBM SP2",
        ";\tInstallation: Cornell Theory Center (CTC)",
        "; Information: http://www.tc.cornell.edu/",
        ";              http://www.cs.huji.ac.il/labs/parallel/workload/",
        "; UnixStartTime: 835823160",
        "; TimeZone: -18000",
        "; TimeZoneString: US/Eastern",
        "; Note: uses the EASY scheduler",
        ";",
        "; Note: THIS IS A CLEANED VERSION OF THE LOG!",
        ";       The filter used to produce it was",
        ";         user=135",
        "; not part of it",
        ";       nor this",
        "; maxprocs: 338",
        "; MaxProcs: 512",
    )
    assert header == Header(
        computer="IBM SP2",
        installation="Cornell Theory Center (CTC)",
        max_procs=338,
        unix_start_s=835823160,
        timezone="US/Eastern",
        notes=(
            "uses the EASY scheduler",
            "THIS IS A CLEANED VERSION OF THE LOG! The filter used to produce it was user=135",
        ),
    )
    assert count == 11


@pytest.mark.parametrize(
    ("offset", "zone"),
    [
        ("3600", "UTC+01:00"),
        ("-18000", "UTC-05:00"),
        ("-12600", "UTC-03:30"),
        ("0", "UTC+00:00"),
        ("CET", "CET"),
    ],
)
def test_a_time_zone_given_in_seconds_only(offset: str, zone: str):
    assert header_of(f"; TimeZone: {offset}")[0].timezone == zone


def test_a_header_in_latin_1_is_read_as_such():
    assert header_of("; Computer: Åke".encode("latin-1"))[0].computer == "Åke"


@pytest.mark.parametrize("value", ["", "-1", "1e30", "soon", str(2**39)])
def test_a_start_of_the_log_that_is_none_leaves_offsets_as_they_are(value: str, tmp_path: Path):
    found = read_text(f"; UnixStartTime: {value}\n" + line(submit=7), tmp_path)
    expected = 1 if value == "1e30" else None  # read leniently: the whole number it begins with
    assert found.report["unix_start_s"].item() == expected
    assert found.jobs["submit_s"].item() == 7 + (expected or 0)


def test_comments_count_wherever_they_stand(tmp_path: Path):
    text = "\n".join(
        [
            line(job=1, submit=0, wait=0, run=10, requested=4),
            "; UnixStartTime: 1000",
            "",
            "   \t ",
            "  ; MaxProcs: 8",
            ";",
            "; a remark",
            line(job=2, submit=5),
            "; MaxNodes: 2",
        ]
    )
    report = read_text(text, tmp_path).report.row(0, named=True)
    counts = {name: report[f"{name}_lines_count"] for name in ("header", "comment", "blank", "job")}
    assert counts == {"header": 3, "comment": 2, "blank": 2, "job": 2}
    assert (report["lines_count"], report["rejects_count"]) == (9, 0)
    assert (report["unix_start_s"], report["first_release_s"], report["last_end_s"]) == (1000, 1000, 1010)


@pytest.mark.parametrize(
    ("configured", "header", "expected"),
    [
        (64, "; MaxProcs: 32\n", (64, CapacitySource.CONFIG)),
        (None, "; MaxProcs: 32\n; MaxNodes: 4\n", (32, CapacitySource.HEADER)),
        (None, "; MaxNodes: 4\n", (12, CapacitySource.OBSERVED_PEAK)),
        (None, "; MaxProcs: -1\n", (12, CapacitySource.OBSERVED_PEAK)),
    ],
)
def test_capacity_is_the_configs_else_the_headers_else_the_observed_peak(
    configured: int | None, header: str, expected: tuple[int, CapacitySource], tmp_path: Path
):
    jobs = [line(job=k, submit=10 * k, wait=0, run=15, requested=6) for k in range(1, 4)]
    report = read_text(header + "\n".join(jobs), tmp_path, capacity_procs=configured).report.row(
        0, named=True
    )
    assert (report["capacity_procs"], report["capacity_source"]) == expected
    assert (report["observed_peak_procs"], report["observed_over_capacity_s"]) == (12, 0)


def test_where_no_start_is_known_nothing_is_made_up(tmp_path: Path):
    report = read_text("; MaxNodes: 4\n" + line(run=5, requested=3), tmp_path).report.row(0, named=True)
    names = ["capacity_procs", "capacity_source", "observed_peak_procs", "observed_over_capacity_s"]
    assert [report[name] for name in names] == [None] * 4


def test_the_registrys_time_zone_wins(tmp_path: Path):
    text = "; TimeZoneString: US/Eastern\n" + line()
    assert read_text(text, tmp_path).report["timezone"].item() == "US/Eastern"
    found = read_text(text, tmp_path, timezone="Europe/Berlin", is_synthetic=True)
    assert found.report.select("timezone", "is_synthetic").row(0) == ("Europe/Berlin", True)
