"""What a bundle's tables come to when they are computed again.

In:  a bundle whose files are those of its manifest.   Out: a `Finding` for every table, and for the dossier.
Not here: how a table is computed (recomputation.py), how two are compared (bundle/comparing.py), and what
needs no computing (consistency.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hpcopt_assets.bundle.comparing import Finding, State, compare
from hpcopt_assets.bundle.reading import read_lineage
from hpcopt_assets.cli.consistency import NOT_COMPUTED, SAYS_OF_ITSELF, SHAKEN
from hpcopt_assets.cli.recomputation import LONG_RECIPES, RECIPES, Recomputation
from hpcopt_assets.contracts.bundle import DOSSIER, REPLAY, Manifest
from hpcopt_assets.contracts.errors import HpcoptError
from hpcopt_assets.contracts.robustness_tables import SHAKEN_MEASURES
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.measures.stated import is_synthetic

if TYPE_CHECKING:
    from hpcopt_assets.dossier.finished import Dossier

TEXT, PAGE, DATA = (f"{DOSSIER}/dossier.{kind}" for kind in ("md", "html", "json"))
FIGURES = f"{DOSSIER}/figures"
DRAWING = re.compile(rb"<svg\b.*?</svg>", re.DOTALL)
# Figures have no figures within.
HASH_OF_DRAWING = re.compile(
    rb'(?<="substance_sha256": ")[0-9a-f]{64}|(?<=\.svg",\n   "sha256": ")[0-9a-f]{64}'
)
# In a dossier's data: of a figure, or of all that is told, figures included.
MADE_OTHERWISE = "is not what the tables of the bundle make of it"


def recompute(
    folder: Path, manifest: Manifest, replicas: int | None, drawing: np.random.Generator
) -> Iterator[Finding]:
    """A finding for every table, then for what the bundle says of itself, then for its dossier.

    Each table is computed from the bundle's own tables, so that one that differs does not take others with
    it. `replicas`: how many shaken replicas are drawn and replayed; None for all, and for what else is long.
    """
    work = Recomputation(folder, manifest)
    for asset in dict.fromkeys([table.asset for table in manifest.tables]):
        yield _guarded(asset, partial(_table, work, asset, replicas, drawing))
    for what, check in SAYS_OF_ITSELF.items():
        yield _guarded(what, partial(check, work))
    rendered = cache(partial(_rendered, work))
    yield _guarded(DOSSIER, partial(_dossier, work, rendered))
    yield _guarded(FIGURES, partial(_figures, work, rendered))


def _guarded(what: str, check: Callable[[], Finding]) -> Finding:
    """What cannot be read or computed is a finding about that one thing: a bundle may hold anything."""
    try:
        return check()
    except Exception as error:
        said = str(error) if isinstance(error, HpcoptError) else f"{type(error).__name__}: {error}"
        return Finding(what, State.DIFFERS, f"cannot be computed again: {' '.join(said.split())}")


def _table(work: Recomputation, asset: str, replicas: int | None, drawing: np.random.Generator) -> Finding:
    stated = work.manifest.table_of(asset)
    if stated is None or stated.table not in TABLES:
        # A table that a later version added; its bytes are those of the manifest.
        return Finding(asset, State.NOT_CHECKED, "this version of hpcopt knows no such table")
    contract, given = TABLES[stated.table], work.table(asset)
    if asset.startswith(f"{REPLAY}/"):
        policy = work.policies.get(asset.removeprefix(f"{REPLAY}/"))
        if policy is None:
            return Finding(asset, State.DIFFERS, "configs/policies.yaml of the bundle has no such policy")
        starts = int(given["start_s"].is_not_null().sum())
        return compare(asset, contract, given, work.replayed(policy), plural(starts, "start"))
    if asset == SHAKEN:
        return _shaken(work, given, replicas, drawing)
    if asset in LONG_RECIPES and replicas is not None:
        return Finding(asset, State.NOT_CHECKED, "dozens of replays under every policy, made with --full")
    if asset in LONG_RECIPES:
        return compare(asset, contract, given, LONG_RECIPES[asset](work))
    if asset in RECIPES:
        return compare(asset, contract, given, RECIPES[asset](work))
    return Finding(
        asset, State.NOT_CHECKED, NOT_COMPUTED.get(asset, "this version of hpcopt does not compute it again")
    )


def _shaken(
    work: Recomputation, given: pl.DataFrame, replicas: int | None, drawing: np.random.Generator
) -> Finding:
    """Some replicas, drawn from all; the rows of the others are only hashed and used."""
    from hpcopt_assets.simulate.replicas import replicas_count

    count = replicas_count(work.robust.shaking, is_synthetic=is_synthetic(work.report))
    asked = count if replicas is None else min(replicas, count)
    only = np.sort(drawing.choice(count, asked, replace=False)).tolist()
    numbers = f"all {count:,} replicas"
    if asked < count:
        numbers = f"replicas {', '.join(map(str, only))} of {count:,}, counted from 0"
    shown = given.filter(pl.col("replica").is_in(only))
    return compare(SHAKEN, SHAKEN_MEASURES, shown, work.shaken_measures(only), numbers)


def _rendered(work: Recomputation) -> Dossier:
    """The dossier of the bundle's tables, as this program and its matplotlib make it."""
    from hpcopt_assets.cli.rendering import render
    from hpcopt_assets.dossier.evidence import DECISIONS

    tables = {table.asset: work.table(table.asset) for table in work.manifest.tables if table.table in TABLES}
    decisions = {name: work.config(name) for name in DECISIONS}
    records = read_lineage(work.folder)
    return render(work.manifest.trace_id, tables, decisions, records, work.manifest.environment)


def _dossier(work: Recomputation, rendered: Callable[[], Dossier]) -> Finding:
    """The texts again, byte for byte: page and data without their figures; and no other file beside them."""
    made = rendered()
    figures = {f"{FIGURES}/{name}" for name in made.figures}
    stated = {file.path for file in work.manifest.files if file.path.startswith(f"{DOSSIER}/")}
    known = {TEXT, PAGE, DATA, *figures}
    if stated != known:
        other = min(stated ^ known)
        said = f"{other} is {'no part of it' if other in stated else 'missing'}"
        return Finding(DOSSIER, State.DIFFERS, said)
    for path, text in ((TEXT, made.markdown), (PAGE, made.html), (DATA, made.json)):
        if _undrawn(path, (work.folder / path).read_bytes()) != _undrawn(path, text.encode()):
            return Finding(DOSSIER, State.DIFFERS, f"{path} {MADE_OTHERWISE}")
    return Finding(
        DOSSIER, State.AGREES, f"{TEXT} and, without their figures, {PAGE} and {DATA}, byte for byte"
    )


def _undrawn(path: str, content: bytes) -> bytes:
    """A file with a mark in place of each figure, or of its hash."""
    drawn = {PAGE: DRAWING, DATA: HASH_OF_DRAWING}.get(path)
    return content if drawn is None else drawn.sub(b"<svg/>", content)


def _figures(work: Recomputation, rendered: Callable[[], Dossier]) -> Finding:
    """The figures again, in files, in the page and by their hashes; another matplotlib draws others."""
    there, here = work.manifest.environment.get("matplotlib", "unknown"), version("matplotlib")
    if there != here:
        note = f"matplotlib {there} drew them, here is {here}: look at what they show with care"
        return Finding(FIGURES, State.NOT_CHECKED, note)
    made = rendered()
    files = {PAGE: made.html, DATA: made.json}
    files |= {f"{FIGURES}/{name}": svg for name, svg in made.figures.items()}
    for path, text in files.items():
        if (work.folder / path).read_bytes() != text.encode():
            return Finding(FIGURES, State.DIFFERS, f"{path} {MADE_OTHERWISE}")
    return Finding(
        FIGURES, State.AGREES, f"{plural(len(made.figures), 'figure')}, in the page too, byte for byte"
    )
