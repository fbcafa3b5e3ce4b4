"""Functions that read the array in a file, and how Go reads such a file in the place of each.

    points = np.fromfile(self.paths[index], dtype=np.float32).reshape(-1, 4)
    signal = np.loadtxt(os.path.join(self.root, self.names[index]), delimiter=",", skiprows=1)
    features = torch.load(f"{self.root}/{index}.pt")
    image = np.load(self.paths[index])["image"]
    with open(self.paths[index], "rb") as file:
        embedding = pickle.load(file)

Each is called for the first file, with what the code calls it with: what that gives is what is expected of all.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from types import BuiltinFunctionType, ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from ....adapters.python import caught_warnings
from ....arrays.file_array import NUMPY_DTYPES
from ...bytecode import Expression, UnreadableError
from ...trust.originals import is_original
from ..own.code import ListItems, OwnCode
from .array_files import FilesAhead, Header, NpyAhead, Within


class _Read(FilesAhead):
    """Files that a function reads as it does the first one."""

    def __init__(
        self,
        own: OwnCode | ListItems,
        place: Expression,
        function: Callable[..., Any],
        given: Mapping[str, Any],
        within: Within | None,
    ) -> None:
        super().__init__(own, place)
        name = function.__name__
        with caught_warnings() as warned:
            try:
                made = function(self.values[0], **given)
                made = made if within is None else within.of(made)
            except Exception as error:
                raise UnreadableError(f"calls {name}, which raises {type(error).__name__}", place) from None
        first = self.first
        alike: bool = type(made) is type(first)
        if alike and type(made) not in (int, float):
            alike = (made.dtype, *made.shape) == (first.dtype, *first.shape)
        if alike and type(made) is torch.Tensor:
            alike = made.is_contiguous() and made.device.type == "cpu"
        elif alike and type(made) is np.ndarray:
            alike = made.flags.carray
        if warned or not alike:
            raise UnreadableError(f"calls {name}, which does more than to read an array", place)


class RawAhead(_Read):
    """Files of nothing but items: [items]."""

    what = named = "binary"

    def __init__(
        self, own: OwnCode | ListItems, place: Expression, given: Mapping[str, Any], within: Within | None
    ) -> None:
        self._dtype = np.dtype(given.get("dtype", float))
        self.format = f"raw:{self._dtype.itemsize}"
        super().__init__(own, place, np.fromfile, given, within)

    def header_of(self, text: str) -> Header | None:
        return Header("", (int(text),), "", self._dtype) if text else None

    def around(self, header: Header, axis: int) -> tuple[str, str]:
        return "", ""


class LinesAhead(_Read):
    """Numbers in lines: [lines, columns], or [lines] where each line has one."""

    what, named = "file of numbers in two lines or more", "text"
    others = (".gz", ".bz2", ".xz", ".lzma")  # which numpy takes for compressed, whatever is in them

    def __init__(
        self, name: str, own: OwnCode | ListItems, place: Expression, given: Mapping[str, Any], within: Within | None
    ) -> None:
        self._dtype = np.dtype(given.get("dtype", float))
        self._skip: int = given.get("skiprows", given.get("skip_header", 0))
        self._delimiter: str | None = given.get("delimiter")
        self.format = f"text:{self._dtype.name}:{self._skip}:{self._delimiter or ''}"
        super().__init__(own, place, vars(np)[name], given, within)

    def header_of(self, text: str) -> Header | None:
        if not text:
            return None
        lines, columns = map(int, text.split())
        return Header("", (lines, columns) if columns > 1 else (lines,), f" {columns}", self._dtype)

    def around(self, header: Header, axis: int) -> tuple[str, str]:
        return header.before, header.behind


class TensorAhead(_Read):
    """A tensor each, or a number, as torch.save writes it, by itself or beside others."""

    what, named = "tensor that torch.save wrote, all of its storage and in C's order", ".pt"
    package: ClassVar = "pt"

    def __init__(
        self, own: OwnCode | ListItems, place: Expression, given: Mapping[str, Any], within: Within | None
    ) -> None:
        self.format = f"{self.package}:{way_to(within)}"
        super().__init__(own, place, self.load, given, within)

    @staticmethod
    def load(path: Any, **given: Any) -> Any:
        return torch.load(path, **given)

    def of(self, array: Any) -> Any:
        return self._made(array)

    def _first(self, text: str) -> Header:
        self._made: Callable[[Any], Any] = _PYTHON_NUMBERS.get(text, torch.from_numpy)
        return super()._first(text)

    def header_of(self, text: str) -> Header | None:
        if text in _PYTHON_NUMBERS:
            return Header(text, (), "", np.dtype(text))
        dtype, *extents = text.split() or [""]
        if dtype not in NUMPY_DTYPES:
            return None
        return Header(f"{dtype} " if extents else dtype, tuple(map(int, extents)), "", np.dtype(dtype))

    def around(self, header: Header, axis: int) -> tuple[str, str]:
        extents = list(map(str, header.shape))
        head = "".join(f"{each} " for each in extents[:axis])
        return header.before + head, "".join(f" {each}" for each in extents[axis + 1 :])


class PickleAhead(TensorAhead):
    """The same of numpy's arrays and numbers, as pickle writes them."""

    what, named = "array that pickle wrote, in C's order, or has other objects beside it", "pickled"
    package = "pickle"

    @staticmethod
    def load(path: Any, **given: Any) -> Any:
        with open(path, "rb") as file:
            return pickle.load(file, **given)

    def _first(self, text: str) -> Header:
        if not all(find_spec(f"numpy.{name}") for name in ("core", "_core")):  # pickles name one, or the other
            raise UnreadableError("calls pickle.load, where numpy is one that reads its own versions' arrays only")
        header = super()._first(text)
        if text not in _PYTHON_NUMBERS:
            self._made = (lambda array: array[()]) if text.startswith(_NUMBER) else np.asarray
        return header

    def header_of(self, text: str) -> Header | None:
        number = text.removeprefix(_NUMBER)
        found = super().header_of(number)
        return found if number == text or found is None else Header(text, (), "", found.dtype)


def way_to(within: Within | None) -> str:
    """As core/source/pickle writes it."""
    match within:
        case None:
            return ""
        case Within(key=str(name)):
            return f"name:{name}"
        case Within(key=number, length=None):
            return f"item:{number}"
    return f"part:{within.key}:{within.length}"


_PYTHON_NUMBERS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float}
_NUMBER = "number "  # before the dtype of numpy's own


class ArrayReader(NamedTuple):
    """A function that reads the array in a file.

    parameters  behind the path, in order
    known       whether Go reads files so, by what is given for them: constants
    ahead       of a dataset's code, the path, what is given, and what is taken of the container that a file has
    keys        the types of keys that are known to be taken of such a container
    opened      whether it takes a file that is open in place of a path
    """

    library: ModuleType
    name: str
    parameters: tuple[str, ...]
    known: Callable[[Mapping[str, Any]], bool]
    ahead: Callable[[Any, Expression, Mapping[str, Any], Within | None], FilesAhead]
    keys: tuple[type, ...] = ()
    opened: bool = False

    @property
    def function(self) -> Any:
        return vars(self.library)[self.name]

    def is_original(self) -> bool:
        library = self.library.__name__
        if type(self.function) is BuiltinFunctionType:
            return str(self.function.__module__).partition(".")[0].lstrip("_") == library
        return is_original(self.function, library)


def _reads_npy(given: Mapping[str, Any]) -> bool:
    return given.keys() <= {"allow_pickle"} and type(given.get("allow_pickle", False)) is bool


def _reads_items(given: Mapping[str, Any]) -> bool:
    return given.keys() <= {"count", "dtype"} and given.get("count", -1) == -1 and _is_of(given, NUMPY_DTYPES)


def _reads_lines(given: Mapping[str, Any]) -> bool:
    delimiter = given.get("delimiter")
    skips = [given[name] for name in ("skiprows", "skip_header") if name in given]
    return (
        given.keys() <= {"delimiter", "dtype", "skip_header", "skiprows"}
        and (delimiter is None or (type(delimiter) is str and delimiter in _DELIMITERS))
        and all(type(each) is int and each >= 0 for each in skips)
        and _is_of(given, ("float32", "float64"))
    )


def _reads_tensor(given: Mapping[str, Any]) -> bool:
    place = given.get("map_location")
    return (
        given.keys() <= {"map_location", "weights_only"}
        and (place is None or (type(place) is str and place == "cpu") or place == torch.device("cpu"))
        and type(given.get("weights_only", False)) is bool
    )


def _reads_pickle(given: Mapping[str, Any]) -> bool:
    # Of the texts of Python 2, which pickles that Go reads do not have.
    return given.keys() <= {"encoding"} and type(given.get("encoding", "")) is str


_DELIMITERS = {",", ";", "|", "\t", " "}


def _is_of(given: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    """Whether it says one of these dtypes, or none."""
    try:
        dtype = np.dtype(given.get("dtype", float))
    except TypeError:
        return False
    return dtype.name in names and dtype.isnative


def reader_of(called: Any) -> ArrayReader | None:
    """The row of a function; None for any other."""
    if called is None:
        return None
    return next((row for row in READERS if row.function is called), None)


READERS = (
    ArrayReader(np, "load", (), _reads_npy, NpyAhead, (str,)),
    ArrayReader(np, "fromfile", ("dtype",), _reads_items, RawAhead),
    ArrayReader(np, "loadtxt", ("dtype",), _reads_lines, partial(LinesAhead, "loadtxt")),
    ArrayReader(np, "genfromtxt", ("dtype",), _reads_lines, partial(LinesAhead, "genfromtxt")),
    ArrayReader(pickle, "load", (), _reads_pickle, PickleAhead, (str, int), opened=True),
    ArrayReader(torch, "load", ("map_location",), _reads_tensor, TensorAhead, (str, int)),
)
