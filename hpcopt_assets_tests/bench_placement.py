"""Work of placement that users wait for: snapshots, training, batch inference.

In:  what is done, with how many rows (of a batch, for inference).   Out: a function to time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

PREDICTED_ROWS = 20_000
CASES = (
    *(("snapshots", rows) for rows in (20_000, 200_000)),
    *(("train", rows) for rows in (20_000, 200_000)),
    *(("predict", batch) for batch in (1, 1024, 4096)),
)
# A batch of one is how an admission gate asks; it is given a tenth of a percent of the rows.


def placement_cases() -> Iterator[tuple[str, str, str]]:
    """Cases as bench.py runs them: kind, what is done, its rows."""
    yield from (("placement", name, str(rows)) for name, rows in CASES)


def placement_work(name: str, rows: int) -> Callable[[], object]:
    """The work of a case, all it needs made before."""
    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.project import find_project
    from hpcopt_assets.placement.bundles import read_bundle
    from hpcopt_assets.placement.predict import predictor_of
    from hpcopt_assets.placement.snapshots import make_snapshots
    from hpcopt_assets.placement.train import fed, train

    config = load_configs(find_project().configs).placement
    if name == "snapshots":
        return lambda: make_snapshots(config, rows=rows, seed=1)
    snapshots = make_snapshots(config, rows=rows if name == "train" else PREDICTED_ROWS, seed=1)
    if name == "train":
        return lambda: train(snapshots, "0" * 64, config)
    trained = train(snapshots, "0" * 64, config)
    predictor = predictor_of(trained.onnx, read_bundle(trained.bundle.model_dump_json(), "bundle"), "model")
    blocks = fed(snapshots.head(PREDICTED_ROWS if rows > 1 else PREDICTED_ROWS // 1000))
    return lambda: predictor.of_blocks(blocks, rows)
