"""One forecast that many tests look at: making it takes seconds."""

from __future__ import annotations

import pytest

from hpcopt_assets_tests.forecast.made import Made, forecast, habitual_jobs


@pytest.fixture(scope="session")
def made() -> Made:
    """A trace of habits with its models and estimates; not to be changed."""
    return forecast(habitual_jobs())
