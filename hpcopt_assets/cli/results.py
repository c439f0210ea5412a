"""Commands over results: questions to the catalog, the schemas of what it holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from hpcopt_assets.cli.app import app, utf8
from hpcopt_assets.orchestration.project import find_project
from hpcopt_assets.orchestration.terminal import cell, plural, print_table, say
from hpcopt_assets.warehouse.forms import Form, form_of

SHOWN_ROWS = 200
# A terminal table of more takes minutes to lay out, and nobody reads it.


@app.command()
def query(
    sql: Annotated[
        str, typer.Argument(callback=utf8, help='One SELECT, such as "SELECT * FROM replay_measures".')
    ],
    format_: Annotated[
        Form | None, typer.Option("--format", help="The ending of --out, or table, if absent.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write to instead of the terminal.")] = None,
) -> None:
    """Ask the DuckDB catalog, read-only, from any directory."""
    from hpcopt_assets.orchestration.files import write_beside
    from hpcopt_assets.warehouse import answer
    from hpcopt_assets.warehouse.query import query as ask

    form = form_of(format_, out, is_terminal=sys.stdout.isatty())
    rows = ask(find_project().duckdb, sql)
    if form is Form.TABLE:
        shown = rows.slice(0, SHOWN_ROWS).to_pylist()
        print_table(
            rows.column_names, [[cell(answer.brief(value)) for value in row.values()] for row in shown]
        )
        if rows.num_rows > SHOWN_ROWS:
            say(f"... {SHOWN_ROWS} of {rows.num_rows:,} rows; use --format csv for all.")
        return
    content = answer.encoded(rows, form)
    if out is not None:
        write_beside(out, content)
    else:
        sys.stdout.buffer.write(content)


@app.command(hidden=True)
def schemas(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("schemas"),
) -> None:
    """Write the JSON Schema of every table, every config file and the adapter's messages."""
    from hpcopt_assets.contracts.schemas import all_json_schemas
    from hpcopt_assets.orchestration.files import write_beside

    documents = all_json_schemas()
    kinds = ("table.*.json", "config.*.json", "adapter_*.json")
    ours = {path.name for kind in kinds for path in out.glob(kind)}
    for stale in ours - {f"{name}.json" for name in documents}:
        (out / stale).unlink()
    for name, document in documents.items():
        write_beside(out / f"{name}.json", (json.dumps(document, indent=2) + "\n").encode())
    say(f"Wrote {plural(len(documents), 'schema')} to {out}.")
