"""A small bundle made without a graph: real tables in shape, enough for whoever judges files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hpcopt_assets.bundle.folder import seal, staged
from hpcopt_assets.bundle.integrity import sha256_of
from hpcopt_assets.contracts.bundle import Manifest
from hpcopt_assets.contracts.tables import TRACE_REJECTS
from hpcopt_assets_tests.builders import trace

TRACE_ID = "made"
ABOUT: dict[str, Any] = {
    "trace_id": TRACE_ID,
    "source_sha256": "a" * 64,
    "source_files": [{"sha256": "a" * 64, "size_bytes": 3}],
    "names": "pseudonyms",
    "key_id": "0123456789abcdef",
    "left_out": [],
    "policies": ["fifo_strict"],
    "seeds": {"robustness.shaking.seed": 17},
    "environment": {"numpy": "2"},
    "source_hashes": {},
}


def make(out: Path) -> tuple[Manifest, str]:
    """Write a bundle of two tables, a config and a lineage; its manifest, and that file's SHA-256."""
    frames = {
        "trace_jobs": trace([(1, 0, 1, 10), (2, 5, 2, 20)], TRACE_ID),
        "trace_rejects": TRACE_REJECTS.empty(),
    }
    with staged(out) as folder:
        (folder / "tables").mkdir()
        (folder / "configs").mkdir()
        (folder / "configs" / "made.yaml").write_text("a: 1\n")
        (folder / "lineage.json").write_text("[]\n")
        tables = []
        for name, frame in frames.items():
            path = folder / "tables" / f"{name}.parquet"
            frame.write_parquet(path)
            tables.append(
                {
                    "asset": name,
                    "table": name,
                    "path": f"tables/{name}.parquet",
                    "rows_count": frame.height,
                    "data_version": sha256_of(path),
                    "is_as_stored": True,
                }
            )
        return seal(folder, ABOUT | {"tables": tables})


def rewrite(folder: Path, **changed: Any) -> None:
    """A manifest that a forger made: changed fields, and hashes of itself that fit."""
    from hpcopt_assets.bundle.integrity import own_hash
    from hpcopt_assets.contracts.bundle import MANIFEST, SUMS, UNHASHED

    content = json.loads((folder / MANIFEST).read_bytes()) | changed | {"self_sha256": UNHASHED}
    text = json.dumps(content).encode()
    (folder / MANIFEST).write_bytes(text.replace(UNHASHED.encode(), (own_hash(text) or "").encode(), 1))
    hashes = {file["path"]: file["sha256"] for file in content["files"]}
    hashes[MANIFEST] = sha256_of(folder / MANIFEST)
    (folder / SUMS).write_text("".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes)))
