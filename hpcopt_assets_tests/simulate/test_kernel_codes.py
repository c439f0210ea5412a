"""What numba's cache cannot see: values that the compiled loop would take from other files."""

import ast
from inspect import getsource

from hpcopt_assets.contracts.vocabulary import Backfill, BackfillOrder
from hpcopt_assets.simulate.kernel import loop


def test_the_codes_written_into_the_loop_are_the_vocabulary_s():
    assert (Backfill.EASY.code, BackfillOrder.SHORTEST.code) == (loop.EASY, loop.SHORTEST)


def test_the_loop_takes_only_types_from_other_files():
    imports = [node for node in ast.parse(getsource(loop)).body if isinstance(node, ast.ImportFrom)]
    taken = {name.name for node in imports if node.module.startswith("hpcopt_assets.") for name in node.names}
    assert taken == {"IntArray", "Machine", "Record", "Records"}
