"""How rows become a model's inputs, and its outputs a chance: read from model and bundle together.

In:  what a bundle tells, what an ONNX model declares.   Out: `Layout`, or what is missing to make one.
Not here: rows (feeding.py), running the model (predict.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hpcopt_assets.contracts.placement_bundle import INPUT_NAMES
from hpcopt_assets.placement.bundles import SCALARS, Told
from hpcopt_assets.placement.categories import Categories, read_categories
from hpcopt_assets.placement.outputs import Output, Port, read_output
from hpcopt_assets.placement.scalers import Scaler, read_scalers


@dataclass(frozen=True)
class Layout:
    """All that is needed to feed a model and to read what it says."""

    columns: tuple[str, ...]
    vectors: Mapping[str, int]
    inputs: Mapping[str, tuple[str, ...]]
    # Input -> blocks that are joined, in order.
    doubles: frozenset[str]
    # Inputs that want float64.
    is_one_row: bool
    # Whether the model takes one row at a time.
    output: Output
    scalers: Mapping[str, Scaler]
    # Of the blocks that are scaled before they are fed.
    usual: tuple[float, ...] | None
    # Means of the scalars in training.
    categories: Categories
    threshold: float


def read_layout(told: Told, inputs: Sequence[Port], outputs: Sequence[Port]) -> Layout:
    """Raises InputError where bundle and model do not tell all, or disagree."""
    columns = told.words("scalar_columns")
    if not columns:
        raise told.refuse("no scalar_columns", "the columns of numbers in the model's order")
    vectors = _vectors(told)
    blocks = {SCALARS: len(columns), **vectors}
    fed = _own_inputs(told) or _inputs(told, inputs, blocks)
    lengths = _checked_widths(told, inputs, fed, blocks)
    scalers = read_scalers(told, fed, lengths)
    means = scalers[SCALARS].mean.tolist() if SCALARS in scalers else told.numbers("scaler_mean")
    return Layout(
        columns=tuple(columns),
        vectors={name: lengths[name] for name in vectors},
        inputs=fed,
        doubles=frozenset(port.name for port in inputs if port.kind == "tensor(double)"),
        is_one_row=_is_one_row(told, inputs),
        output=read_output(told, outputs),
        scalers=scalers,
        usual=tuple(means) if means and len(means) == len(columns) else None,
        categories=read_categories(told, columns),
        threshold=_threshold(told),
    )


def _is_one_row(told: Told, ports: Sequence[Port]) -> bool:
    """Whether the batch was fixed at one row when the model was exported."""
    batches = {port.shape[0] for port in ports}
    if not batches <= {1, None}:
        raise told.refuse(
            f"a model whose batch is fixed at {', '.join(map(str, sorted(batches - {None})))} rows",  # type: ignore[type-var]
            "a model exported with any number of rows, or one",
        )
    return 1 in batches


def _threshold(told: Told) -> float:
    value = told.keys.get("threshold", 0.5)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise told.refuse(f"threshold: {value!r}", "a number from 0 to 1")
    return float(value)


def _vectors(told: Told) -> dict[str, int | None]:
    """Vector columns and their lengths, None where the bundle has only the name."""
    listed = told.keys.get("vectors") or []
    if isinstance(listed, dict):
        pairs = list(listed.items())
    elif isinstance(listed, list):
        pairs = [
            (item.get("name"), item.get("length")) if isinstance(item, dict) else (item, None)
            for item in listed
        ]
    else:
        pairs = [(None, None)]
    for name, length in pairs:
        if not isinstance(name, str) or not (length is None or (isinstance(length, int) and length > 0)):
            raise told.refuse(f"vectors: {name!r}: {length!r}", "names with lengths, or names")
    if len({name for name, _ in pairs}) < len(pairs):
        raise told.refuse("vectors: a name twice", "each once")
    return dict(pairs)


def _own_inputs(told: Told) -> dict[str, tuple[str, ...]] | None:
    """In a bundle of ours every block is an input of its own name."""
    if told.own is None:
        return None
    return {name: (name,) for name in (SCALARS, *(vector.name for vector in told.own.vectors))}


def _inputs(
    told: Told, ports: Sequence[Port], blocks: Mapping[str, int | None]
) -> dict[str, tuple[str, ...]]:
    """Blocks of each input: as `inputs` says, else by the inputs' names, else all to the only one."""
    given = told.keys.get("inputs")
    if isinstance(given, dict):
        for name, what in given.items():
            if not isinstance(what, str | list) or not all(isinstance(block, str) for block in what):
                raise told.refuse(
                    f"inputs: {name}: {what!r}", "`scalars`, a vector's name, or a list of them"
                )
        fed = {name: tuple([what] if isinstance(what, str) else what) for name, what in given.items()}
    elif len(ports) == 1:
        order = told.words("input_order")
        if order is None and len(blocks) > 1:
            raise told.refuse(
                f"one input for {', '.join(blocks)} and no input_order",
                "input_order, in which they are joined",
            )
        fed = {ports[0].name: tuple(order or blocks)}
    elif len(ports) > len(blocks):
        raise told.refuse(
            f"{len(ports)} inputs, {', '.join(port.name for port in ports)}, for {', '.join(blocks)}; "
            f"{'too few' if len(blocks) > 1 else 'no key'} vectors",
            "vectors: the columns of lists that go to the other inputs",
        )
    else:
        named = {spelling: block for block in blocks for spelling in (block, *INPUT_NAMES.get(block, ()))}
        unknown = [port.name for port in ports if port.name.lower() not in named]
        if unknown:
            raise told.refuse(
                f"inputs {', '.join(unknown)} that could be anything of {', '.join(blocks)}; no key inputs",
                "inputs: what goes to each input of the model",
            )
        fed = {port.name: (named[port.name.lower()],) for port in ports}
    used = [block for some in fed.values() for block in some]
    if sorted(used) != sorted(blocks):
        raise told.refuse(f"inputs made of {', '.join(used)}", f"each once: {', '.join(blocks)}")
    return fed


def _checked_widths(
    told: Told, ports: Sequence[Port], fed: Mapping[str, tuple[str, ...]], blocks: Mapping[str, int | None]
) -> dict[str, int]:
    """Lengths of the blocks, those that the bundle leaves open taken from the model; all must agree."""
    lengths = dict(blocks)
    declared = {port.name: port for port in ports}
    if set(declared) != set(fed):
        raise told.refuse(
            f"a model with inputs {', '.join(declared)}", f"a model with inputs {', '.join(fed)}"
        )
    for name, some in fed.items():
        port = declared[name]
        if len(port.shape) != 2 or port.kind not in ("tensor(float)", "tensor(double)"):
            raise told.refuse(
                f"input {name}: {port.kind} of shape {list(port.shape)}", "floats of shape [n, width]"
            )
        is_open = [block for block in some if lengths[block] is None]
        if port.width is None:
            continue
        if len(is_open) == 1:
            lengths[is_open[0]] = port.width - sum(lengths[block] or 0 for block in some)
        total = sum(lengths[block] or 0 for block in some)
        if total != port.width or any(lengths[block] is not None and lengths[block] < 1 for block in some):  # type: ignore[operator]
            told_of = ", ".join(f"{block} {lengths[block]}" for block in some)
            raise told.refuse(
                f"a bundle of {total} numbers for input {name} ({told_of}) and a model of {port.width}",
                "a bundle and a model that belong together",
            )
    known = {block: length for block, length in lengths.items() if length is not None}
    unknown = [block for block in lengths if block not in known]
    if unknown:
        raise told.refuse(f"no length of {', '.join(unknown)}", "vectors: the length of each")
    return known
