"""Which class of a model's answer means that the job cannot be placed.

In:  what a bundle tells of classes, how many columns the answer has.   Out: `Classes`, or a refusal.
Not here: reading the answer (outputs.py).
"""

from __future__ import annotations

from typing import NamedTuple

from hpcopt_assets.placement.bundles import Told

FINE = {"none", "ok", "placed", "success", "not failed", "not_failed", "0", "false"}
# Names of the class that means the job can be placed.
BINARY = 2


class Classes(NamedTuple):
    """Names in the order of columns, and the place of the one that means failed, or else placed."""

    names: tuple[str, ...]
    at: int
    means_failed: bool

    @property
    def is_last_of_two(self) -> bool:
        """Whether a single column, which is by custom the chance of the second of two, means failed."""
        return len(self.names) == BINARY and self.at == 1


PLAIN = Classes(("0", "1"), 1, means_failed=True)
# Without names 1 means failed.


def read_classes(told: Told, width: int | None, where: str) -> Classes:
    """`width`: columns of the answer, None where the model does not tell. Raises InputError."""
    names = _names(told, width, where)
    classes = _chosen(told, names, where)
    if width == 1 and not classes.is_last_of_two:
        raise told.refuse(
            f"{where} with one column and classes {', '.join(names)}: {names[classes.at]} means failed",
            "two classes, of which the second means failed: one column is its chance",
        )
    return classes


def _names(told: Told, width: int | None, where: str) -> tuple[str, ...]:
    """As the bundle has them; without, 0 and 1. A single name is that of a column of labels, of no class."""
    names = told.names("classes") or []
    if len(names) < BINARY:
        if width not in (1, BINARY, None):
            raise told.refuse(
                f"{where} with {width} columns; no key classes", "classes: the name of each column"
            )
        return PLAIN.names
    if width is not None and width != len(names) and not (width == 1 and len(names) == BINARY):
        raise told.refuse(f"{where} with {width} columns, classes {', '.join(names)}", "a name for each")
    return tuple(names)


def _chosen(told: Told, names: tuple[str, ...], where: str) -> Classes:
    """The class that positive_class means, by name, else by place; else the one known to mean placed."""
    positive = told.keys.get("positive_class")
    if positive is not None:
        if str(positive) in names:
            return Classes(names, names.index(str(positive)), means_failed=True)
        if isinstance(positive, int) and not isinstance(positive, bool) and 0 <= positive < len(names):
            return Classes(names, positive, means_failed=True)
        raise told.refuse(
            f"positive_class {positive!r} of {where}", f"one of classes: {', '.join(names)}, or its place"
        )
    fine = [i for i, name in enumerate(names) if name.lower() in FINE]
    if len(fine) != 1:
        raise told.refuse(
            f"classes {', '.join(names)}, of which {len(fine)} surely mean placed; no key positive_class",
            "positive_class: the one that means failed",
        )
    if len(names) == BINARY:
        return Classes(names, 1 - fine[0], means_failed=True)
    return Classes(names, fine[0], means_failed=False)
