"""goloader's TokenDataset: windows of token files, read and cast in Go."""

from __future__ import annotations

from typing import Any

from ...arrays import FileArray, TokenDataset
from ..refusal import RefusalError
from ..rows import Array
from .tree import Column, Indices, Node, check_class

__all__ = ["Tokens"]


class Tokens(Node):
    """A TokenDataset: two fields, one a token behind the other."""

    structure = (0, 1)

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        _check(dataset)
        self._given = _attributes(dataset)
        self.length = len(dataset)
        stored = {file.dtype for file in dataset.files}
        if len(stored) > 1:
            raise RefusalError("source", "TokenDataset", f"its files hold {' and '.join(sorted(stored))}")
        self.columns = tuple(self._column(behind) for behind in (0, 1))
        self.note = f"read from {', '.join(sorted({file.path for file in dataset.files}))}"

    def _column(self, behind: int) -> Column:
        files = zip(self.dataset.files, self.dataset.windows, strict=True)
        size, stride = self.dataset.block_size, self.dataset.stride
        pieces = tuple(_Windows(file, count, size, stride, behind) for file, count in files if count)
        return Column(pieces, ("int64", (size,), "int64", "array", pieces[0].array.stored))

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset or any(
            one is not other for one, other in zip(_attributes(dataset), self._given, strict=True)
        ):
            return False
        if at is None:
            try:
                _check(dataset)
            except RefusalError:
                return False
        return True


def _attributes(dataset: Any) -> tuple[Any, ...]:
    return dataset.files, dataset.block_size, dataset.stride, dataset.windows, dataset.eos, dataset._ends


def _check(dataset: Any) -> None:
    check_class(dataset, TokenDataset, "goloader", ("files", "block_size", "stride", "windows", "eos", "_ends"))
    if dataset.eos is not None:
        raise RefusalError("source", "TokenDataset", "with eos=... documents are found in Python")


class _Windows:
    """The windows of one file, `behind` tokens later."""

    def __init__(self, file: FileArray, count: int, size: int, stride: int, behind: int) -> None:
        item = file.numpy_dtype.itemsize
        begin = file.offset + behind * item
        windows = FileArray(
            file.path, dtype=file.dtype, shape=(count, size), offset=begin, strides=(stride * item, item),
            direct=file.direct,
        )  # fmt: skip
        self.array = Array.of(windows, self, "" if file.dtype == "int64" else file.dtype)

    def __len__(self) -> int:
        return len(self.array)

    def version(self) -> int:
        """Always 0: a file is nobody's to change."""
        return 0
