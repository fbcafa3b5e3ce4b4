"""How a batch is put together: as torch does by default, or by one of goloader's own collate functions."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from torch.utils.data._utils import collate, fetch

from ...adapters.torch import default_device
from ...arrays.file_array import DTYPES
from ...collate import Jagged, Pack, Pad, Sequences
from ..refusal import Refusal, RefusalError
from ..row_layouts import STACKED, DocumentRows, JaggedRows, PackRows, PadRows, RowLayout, TextRows
from ..rows import Array, Field, View
from ..structure import Structure, collated, collator, count
from ..trust.look import name_of
from ..trust.originals import behind, is_original

# Which lists of numbers in samples are rows to what puts them together: none, those that differ in length, or all.
Lists = Literal["", "uneven", "all"]


class After(Protocol):
    """What a collate_fn does with a batch that Go made, for Python to do.

    why    it is not compiled
    codes  of the functions that do it
    mixes  the core does all that there is to do with the images
    """

    @property
    def given(self) -> Callable[..., Any]: ...

    @property
    def why(self) -> Refusal: ...

    @property
    def codes(self) -> list[CodeType]: ...

    @property
    def mixes(self) -> bool: ...

    def check(self, loader: Any) -> None:
        """Raises RefusalError where worker processes, or samples that are left out, would make a difference."""

    def unchanged(self) -> bool:
        """True if it is what it was."""

    def __call__(self, batch: Any, count: int) -> Any:
        """What becomes of the batch of so many samples, which may change."""


def check_on_error(loader: Any, given: Any) -> None:
    """Raises RefusalError where a collate_fn is not given all samples of a batch."""
    if getattr(loader, "on_error", "raise") != "raise":
        raise RefusalError("collate", name_of(given), "on_error says what it is given", "COLLATE_OWN")


@dataclass(frozen=True)
class Collation:
    """What a loader does with the samples of a batch.

    name    for explain()
    pad     Pad's settings: batch_first, padding_value, pad_to_multiple_of, lengths
    fields  of a sample that are sequences; None: all
    after   what a collate_fn of the user's own does with default_collate's batch
    around  what torch's default_collate goes by, as it was
    """

    name: str
    kind: type[Sequences] | None = None
    pad: tuple[Any, ...] = ()
    fields: tuple[str | int, ...] | None = None
    after: After | None = None
    around: tuple[Any, ...] = field(default_factory=lambda: surroundings())

    own = False
    takes_lists: ClassVar[Lists] = ""
    note = ""

    @property
    def plain(self) -> bool:
        return self.kind is None

    def unchanged(self) -> bool:
        """True if samples are put together as they were; who does it is ours, or torch's, or goes on with it."""
        return stands(self.around) and (self.after is None or self.after.unchanged())

    def lay(
        self, fields: Sequence[Field], structure: Structure, sample: Any = None, size: int | None = None
    ) -> tuple[tuple[Field, ...], Callable[[Sequence[Any]], Any]]:
        """The fields of such samples with their layouts in the batch, and what makes the batch of the columns.

        Raises RefusalError if torch would do something else with one.
        """
        put = collator(structure)
        if self.kind is None:
            return tuple(map(stacked, fields)), put
        meant = self._meant(structure)
        return tuple(self._laid(field, meant) for field in fields), put

    def _meant(self, structure: Structure) -> set[int]:
        """Numbers of the fields that are sequences if they have a length: the function itself is asked."""
        found = _Found(fields=self.fields, others=list)
        try:
            found([collated(structure, list(torch.arange(count(structure)).view(-1, 1)))])
        except KeyError as error:
            raise RefusalError("collate", self.name, str(error.args[0]), "COLLATE_FIELDS") from None
        return found.numbers

    def _laid(self, field: Field, meant: set[int]) -> Field:
        sequence = (field.ragged or bool(field.shape)) and not _is_text(field)
        views = [part for view in field.views for part in _split(view, meant)] if sequence else []
        if not any(meant.issuperset(view.columns) for view in views):
            return stacked(field)
        if not all(meant.issuperset(view.columns) for view in views):
            field = stacked(field)
        if field.extents:
            raise RefusalError("collate", self.name, "arrays differ in more than their length", "ROWS_DIFFER")
        if any(view.layout is not STACKED for view in views):
            raise RefusalError(
                "collate",
                self.name,
                "position_ids and cu_seqlens are put together by default_collate",
                "COLLATE_FIELDS",
            )
        layout = self._layout(field)
        return replace(
            field,
            views=tuple(replace(view, layout=layout) if meant.issuperset(view.columns) else view for view in views),
        )

    def _layout(self, field: Field) -> RowLayout:
        if self.kind is Jagged:
            return JaggedRows()
        if self.kind is Pack:
            return PackRows()
        batch_first, value, multiple, lengths = self.pad
        item = padding(self.name, value, field.torch or field.dtype, multiple)
        return PadRows(bool(batch_first), item, multiple or 1, bool(lengths))


def surroundings() -> tuple[Any, ...]:
    """What else default_collate goes by: its functions by type, where, and of which dtype, it makes tensors, and
    functions of torch's that users replace."""
    return collate.default_collate_fn_map.copy(), default_device(), torch.get_default_dtype(), _functions()


def stands(around: tuple[Any, ...]) -> bool:
    """Whether surroundings() would be these."""
    return (collate.default_collate_fn_map, default_device(), torch.get_default_dtype(), _functions()) == around


def _functions() -> tuple[Any, ...]:
    return (
        fetch._MapDatasetFetcher.fetch,
        collate.collate,
        collate.collate_tensor_fn,
        behind(torch.stack),
        behind(torch.as_tensor),
    )


class _Found(Sequences):
    """Notes which fields are sequences."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.numbers: set[int] = set()

    def join(self, sequences: list[torch.Tensor]) -> None:
        self.numbers.add(int(sequences[0]))


def _split(view: View, meant: set[int]) -> list[View]:
    """A view of which several fields are made, for those that are sequences and for those that are not."""
    sides = (tuple(number for number in view.columns if (number in meant) == side) for side in (True, False))
    return [replace(view, columns=columns) for columns in sides if columns]


def padding(name: str, value: Any, dtype: str, multiple: int | None = None) -> bytes:
    """One item of the padding, made by the function itself; its two steps may see a value differently.

    Raises RefusalError for a value that the dtype has not.
    """
    items = torch.empty(0, dtype=getattr(torch, dtype)), torch.empty(1, dtype=getattr(torch, dtype))
    try:
        padded = Pad(True, value, 3 if multiple is not None and multiple > 1 else None).join(list(items))
        rows = padded[0].contiguous().view(torch.uint8).reshape(len(padded[0]), -1)
        (kept, *others) = set(map(bytes, rows.tolist()))
    except Exception as error:  # whatever it is, torch raises it for the batch
        raise RefusalError("collate", name, f"torch cannot pad {dtype} like this: {error}", "COLLATE_PADDING") from None
    if others:
        raise RefusalError("collate", name, f"the padding value of {dtype} depends on its position", "COLLATE_PADDING")
    return kept


def stacked(field: Field) -> Field:
    """Ragged rows that are all of one length are stacked as others are."""
    if not field.ragged or all(isinstance(view.layout, DocumentRows) for view in field.views):
        return field
    if _is_text(field):
        if not leaves_texts():
            raise RefusalError(
                "collate", "default_collate", "default_collate_fn_map was changed for str", "COLLATE_OWN"
            )
        return field
    lengths = {int(each) for array in field.arrays if array.lengths is not None for each in np.unique(array.lengths)}
    if len(lengths) > 1 or field.extents:
        raise RefusalError(
            "collate",
            "default_collate",
            "rows differ in length; goloader.collate has Pad, Jagged and Pack for that",
            "ROWS_DIFFER",
        )
    length = lengths.pop() if lengths else 0
    if length < max((view.skip + view.drop for view in field.views), default=0):
        raise RefusalError("collate", "default_collate", "rows are too short", "ROWS_DIFFER")
    return replace(
        field,
        ragged=False,
        shape=(length, *field.shape),
        arrays=tuple(_even(array, field.dtype, length) for array in field.arrays),
    )


def _is_text(field: Field) -> bool:
    return any(isinstance(view.layout, TextRows) for view in field.views)


def _even(array: Array, dtype: str, length: int) -> Array:
    rows, *item = array.shape
    step = DTYPES[array.stored or dtype].itemsize * math.prod(item)
    return replace(array, shape=(rows, length, *item), strides=(0, step, *array.strides[1:]), lengths=None)


def is_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether torch takes a tensor for one in the memory format channels_last, or channels_last_3d.

    torch.stack and torch.cat then lay their result out in the same order. The rule is c10/core/MemoryFormat.h's
    is_channels_last_strides_2d and _3d, which also hold for tensors with gaps.
    """
    if len(shape) not in (4, 5) or strides[1] == 0 or 0 in shape:
        return False
    least = 0
    for dimension in (1, *range(len(shape) - 1, 1, -1), 0):
        if strides[dimension] < least or (dimension == 0 and least == strides[1]):
            return False
        least = strides[dimension] * max(shape[dimension], 1)
    return True


def collates_plainly(sample: Any) -> bool:
    """True if torch's own function makes a batch of samples like this one: a number, or something of numpy's."""
    if isinstance(sample, np.ndarray):
        plain: Any = collate.collate_numpy_array_fn
    elif isinstance(sample, np.generic):
        plain = collate.collate_numpy_scalar_fn
    else:
        plain = collate.collate_float_fn if isinstance(sample, float) else collate.collate_int_fn
    return registered(sample) is plain and is_original(plain, "torch")


def registered(sample: Any) -> Any:
    """What collate() would call for a batch of such samples: the exact type first, then the first base in order."""
    table: dict[Any, Any] = collate.default_collate_fn_map
    if type(sample) in table:
        return table[type(sample)]
    return next((function for kind, function in table.items() if isinstance(sample, kind)), None)


def leaves_texts() -> bool:
    """Whether default_collate leaves texts as they are."""
    return all(registered(empty) is collate.collate_str_fn for empty in ("", b""))


def as_in_worker(batch: Any) -> Any:
    """What default_collate makes in worker processes, where it gives torch.stack memory to write to."""
    if isinstance(batch, dict):
        return {name: as_in_worker(each) for name, each in batch.items()}
    if isinstance(batch, list):
        return [as_in_worker(each) for each in batch]
    return batch.contiguous() if isinstance(batch, torch.Tensor) else batch


def as_sent(batch: Any, classes: Sequence[type] = ()) -> Any:
    """A batch as it is when a worker has sent it: a view of a numpy array is an array, and one of no items has strides.

    classes  of whose objects attributes are looked at, too
    """
    kind = type(batch)
    if kind is np.ndarray and not batch.size:
        return pickle.loads(pickle.dumps(batch))  # whose strides are not 0
    if kind is np.ndarray:
        return batch if batch.flags.c_contiguous or batch.flags.f_contiguous else batch.copy()
    if kind is dict:
        return {name: as_sent(each, classes) for name, each in batch.items()}
    if kind in classes:
        vars(batch).update(as_sent(vars(batch), classes))
    return kind(as_sent(each, classes) for each in batch) if kind in (list, tuple) else batch
