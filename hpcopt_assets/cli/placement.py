"""Commands of placement: make the model, ask a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.terminal import cell, complain, print_table, say

placement = typer.Typer(help="Placement failure on a cluster joined by optical circuit switches.")
app.add_typer(placement, name="placement")


@placement.command()
def predict(
    onnx: Annotated[Path, typer.Option("--onnx", help="The model.")],
    bundle: Annotated[Path, typer.Option("--bundle", help="Its bundle.json.")],
    parquet: Annotated[Path, typer.Option("--parquet", help="Rows, such as those of placement_snapshots.")],
    n: Annotated[int, typer.Option("--n", help="Rows to load; 0 for all.")] = 1000,
    label_col: Annotated[
        str | None, typer.Option("--label_col", help="Column of labels; adds a line of metrics.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Failed from this chance on; the bundle's if absent.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Likely cause, and what moved the score most.")
    ] = False,
) -> None:
    """A line a row: failed or not, and the chance of failure, by any model with a bundle."""
    from hpcopt_assets.placement.command import Asked, predict_lines

    for line in predict_lines(Asked(onnx, bundle, parquet, n, label_col, threshold, explain)):
        say(line)


@placement.command()
def run(
    demo: Annotated[bool, typer.Option("--demo", help="A tenth of the snapshots, for a first look.")] = False,
    rows: Annotated[int | None, typer.Option(help="So many snapshots.")] = None,
) -> None:
    """Simulate the cluster of configs/placement.yaml, train its model, score it, publish the catalog."""
    import polars as pl

    from hpcopt_assets.definitions import build_definitions
    from hpcopt_assets.orchestration.instance import open_instance
    from hpcopt_assets.orchestration.io import part_path
    from hpcopt_assets.orchestration.runner import publish, run_placement
    from hpcopt_assets.placement.summary import headline
    from hpcopt_assets.placement.train import rows_min

    if rows is not None and (demo or rows < 1):
        raise InputError(
            f"--rows {rows}{' with --demo' if demo else ''}",
            "one of them, above 0",
            "the command",
            "Change it.",
        )
    project, configs = project_and_configs()
    if rows is not None and rows < rows_min(configs.placement):
        raise InputError(
            f"--rows {rows}", f"at least {rows_min(configs.placement)}", "the command", "Ask for more."
        )
    defs = build_definitions()
    with open_instance(project) as instance:
        wanted = configs.placement.generator.demo_rows if demo else rows
        failed = run_placement(defs, instance, wanted) or publish(defs, instance)
    for failure in failed:
        complain(f"{failure.step}: {failure.reason}")
    if failed:
        raise typer.Exit(max(failure.exit_code for failure in failed))
    say("How well failures are foreseen, and by whom:")
    scores = headline(pl.read_parquet(part_path(project.store, ("placement_scores",), None)))
    print_table(scores.columns, [[cell(value) for value in row] for row in scores.iter_rows()])
    say(f"Model, bundle and figures: {project.placement}")
