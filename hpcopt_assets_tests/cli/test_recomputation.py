"""Every table of a trace is computed again by `hpcopt verify`, or it says why not."""

from __future__ import annotations

from hpcopt_assets.cli.consistency import NOT_COMPUTED, SHAKEN
from hpcopt_assets.cli.recomputation import LONG_RECIPES, RECIPES
from hpcopt_assets.contracts.bundle import REPLAY
from hpcopt_assets.definitions import build_definitions
from hpcopt_assets.orchestration.io import TABLE_METADATA
from hpcopt_assets.orchestration.partitions import traces


def test_no_table_of_a_trace_is_forgotten() -> None:
    """Else a new one would be said to be of a later version by the very version that made it."""
    graph = build_definitions().resolve_asset_graph()
    keys = [key for key in graph.get_all_asset_keys() if graph.get(key).partitions_def == traces]
    made = {key.to_user_string() for key in keys if TABLE_METADATA in graph.get(key).metadata}
    known = [*RECIPES, *LONG_RECIPES, *NOT_COMPUTED, SHAKEN]
    assert len(known) == len(set(known))
    assert set(known) == {asset for asset in made if not asset.startswith(f"{REPLAY}/")}
