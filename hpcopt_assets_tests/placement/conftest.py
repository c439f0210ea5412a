"""A model of the small cluster, trained once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.placement.snapshots import make_snapshots
from hpcopt_assets.placement.train import Trained, train
from hpcopt_assets_tests.placement.builders import small


class Made(NamedTuple):
    """A trained model, its files, and what it was trained on."""

    config: PlacementConfig
    snapshots: pl.DataFrame
    trained: Trained
    onnx: Path
    bundle: Path
    parquet: Path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    config, folder = small(), tmp_path_factory.mktemp("placement")
    snapshots = make_snapshots(config, rows=config.generator.rows, seed=config.generator.seed)
    trained = train(snapshots, "0" * 64, config)
    onnx, bundle, parquet = (folder / name for name in ("model.onnx", "bundle.json", "rows.parquet"))
    onnx.write_bytes(trained.onnx)
    bundle.write_text(trained.bundle.model_dump_json())
    snapshots.write_parquet(parquet)
    return Made(config, snapshots, trained, onnx, bundle, parquet)


@pytest.fixture
def own(made: Made) -> dict[str, object]:
    """The bundle as a mapping, to spoil."""
    return json.loads(made.bundle.read_text())
