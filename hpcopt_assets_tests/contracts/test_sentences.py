"""Numbers and instants as sentences show them."""

import pytest

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.sentences import in_figures, in_utc, plural


def test_figures():
    assert [in_figures(value) for value in (None, 0.123456, -12.3456, 999.0, 1234.5, 0.0)] == [
        "unknown",
        "0.1235",
        "-12.35",
        "999",
        "1,234",
        "0",
    ]


def test_plurals():
    assert (plural(1, "job"), plural(2345, "job"), plural(0, "class", "classes")) == (
        "1 job",
        "2,345 jobs",
        "0 classes",
    )


@pytest.mark.parametrize(
    ("at_s", "told"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (1_700_000_000.9, "2023-11-14 22:13:20 UTC"),
        (253_402_300_799, "9999-12-31 23:59:59 UTC"),
        (253_402_300_800, "253402300800 s after 1970"),
        (TIME_MAX_S, "1099511627776 s after 1970"),
        (-5, "1969-12-31 23:59:55 UTC"),
    ],
)
def test_instants_are_dates_as_long_as_there_are_dates(at_s, told):
    assert in_utc(at_s) == told
