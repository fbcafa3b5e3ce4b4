"""What torchvision's MixUp and CutMix make of default_collate's batch, in the memory that the batch lies in.

    def collate_fn(batch):
        return mixup_or_cutmix(*default_collate(batch))

They make tensors as large as the batch several times over, as somebody may still want what they are given. Here nobody
does: the function's bytecode shows that the batch goes to the transform alone, and the transform is torchvision's own.
So the core mixes in place (adapters/torchvision.py), where that gives the same bits, by what torchvision draws.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...adapters.torch import collate, placed
from ...selfcheck import holds
from ..bytecode import Batch, Call, Display, Expression, Member, Part, Spread, UnreadableError
from ..refusal import RefusalError
from ..trust.look import hiding, own
from ..trust.originals import is_original
from ..trust.watch import has_global_hooks, has_hooks
from .own import CollateCode

_V2 = "torchvision.transforms.v2"


class Mixing:
    """A collate_fn that gives what a transform makes of default_collate's batch."""

    def __init__(self, given: Any) -> None:
        """Raises UnreadableError, or RefusalError, for one that does anything else."""
        self._code = CollateCode(given)
        reading = self._code.reading
        if len(self._code.functions) > 1:
            raise UnreadableError("calls others in between")
        self._kind: type | None = None
        whole: Expression | None = reading.result
        if isinstance(whole, Display) and whole.kind in (list, tuple):
            self._kind = whole.kind
            whole = _whole(whole.items)
        if not isinstance(whole, Call) or whole.options or reading.loose:
            raise UnreadableError("gives more than one call makes of the batch")
        self._transform = whole.function
        batch, spread = _given(whole.arguments)
        if not isinstance(batch, Call) or batch.arguments != (Batch(),) or batch.options:
            raise UnreadableError("calls something with more than a batch")
        self._collates = batch.function
        # An error's traceback shows the line of the collate_fn that calls the transform.
        (function,) = self._code.functions
        line = int(reading.places[whole].rpartition(":")[2])
        call = (lambda call, batch: call(*batch)) if spread else (lambda call, batch: call(batch))
        self._call = placed(call, function.__code__, line, function.__globals__)

    def now(self) -> Callable[[Any], Any] | None:
        """What makes the collate_fn's batch of default_collate's in place; None where the function itself has to."""
        try:
            if not self._code.unchanged(self._code.dataset):
                return None
            if self._code.value(self._collates) is not collate.default_collate:
                return None
            transform = _in_place(self._code.value(self._transform))
        except (RefusalError, UnreadableError):
            return None
        if transform is None:
            return None

        def mixed(batch: Any) -> Any:
            made = self._call(transform, batch)
            return made if self._kind is None else self._kind(made)

        return mixed


def _whole(parts: tuple[Expression, ...]) -> Expression | None:
    """The pair that these are the two parts of, in order."""
    if len(parts) == 2 and all(isinstance(each, Part) and each.count == 2 for each in parts):
        one, other = parts
        assert isinstance(one, Part)
        assert isinstance(other, Part)
        if one.owner is other.owner and (one.number, other.number) == (0, 1):
            return one.owner
    return None


def _given(arguments: tuple[Expression, ...]) -> tuple[Expression | None, bool]:
    """The batch that a function is called with, and whether its parts are the arguments."""
    match arguments:
        case (Spread(item=Member(owner=owner), owner=batch),) if owner is batch:
            return batch, True
        case (batch,):
            return batch, False
    return _whole(arguments), True


def _in_place(transform: Any) -> Any:
    """A transform that does what this one does, in place; None for one of which that is not known."""
    if _V2 not in sys.modules:
        return None
    from torchvision.transforms import v2

    from ...adapters import torchvision as ours

    kind = type(transform)
    if kind not in (v2.MixUp, v2.CutMix, v2.RandomChoice) or not _is_plain(transform):
        return None
    held = own(transform)
    if kind is v2.RandomChoice:
        theirs: Any = held.get("transforms")
        ours_of = [_in_place(each) for each in theirs] if type(theirs) in (list, tuple) else [None]
        return None if None in ours_of else _with(kind, {**held, "transforms": ours_of})
    if not is_original(held.get("_labels_getter"), "torchvision") or not holds("torchvision.mixing"):
        return None
    return _with(ours.MixUp if kind is v2.MixUp else ours.CutMix, held)


def _with(kind: Any, held: dict[str, Any]) -> Any:
    """An object of a class that has these attributes, a module's own dicts among them."""
    made = kind.__new__(kind)
    object.__setattr__(made, "__dict__", held)
    return made


def _is_plain(transform: Any) -> bool:
    """Whether nobody is called with what it is given but torchvision's and torch's own code."""
    kind = type(transform)
    methods = (function for each in kind.__mro__ for function in _methods_of(each))
    return (
        not hiding(transform)
        and not has_hooks(transform)
        and not has_global_hooks()
        and all(is_original(each, "torch", "torchvision") for each in methods)
    )


# What a module's call runs, by all names that it has had.
_METHODS = (
    "__call__", "_call_impl", "_check_image_or_video", "_get_params", "_mixup_label", "_needs_transform_list",
    "_transform", "_wrapped_call_impl", "forward", "make_params", "transform",
)  # fmt: skip


def _methods_of(kind: type) -> list[Any]:
    return [vars(kind)[name] for name in _METHODS if name in vars(kind)]
