"""Arrays that are in a file each, which a `__getitem__` of the user's own reads by the index: .npy and WAV files.

    spectrogram = torch.from_numpy(np.load(os.path.join(self.root, self.names[index])))
    rate, samples = scipy.io.wavfile.read(self.paths[index])

Only headers are read for the plan. The core looks at the header of each file that it reads: of one that has another
array, the dataset's own code makes the batch, and raises or warns as it does.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...._errors import LibraryError
from ....arrays.file_array import NUMPY_DTYPES, contiguous
from ....storage.files import array_headers
from ...bytecode import Expression, UnreadableError
from ...paths import Files
from ...refusal import RefusalError
from ...rows import DIMENSIONS_MAX, Array, ArrayFiles
from ..own.ahead import Ahead, Rows
from ..own.bases import why_not_collated
from ..own.code import ListItems, OwnCode
from ..own.sources import PATHS


@dataclass(frozen=True)
class Header:
    """What a file's header says of its array: the text is before, the extents, and behind.

    shape  of the array
    """

    before: str
    shape: tuple[int, ...]
    behind: str
    dtype: Any


class Within(NamedTuple):
    """Which of the arrays in a file: container[key], or the key-th of the `length` values that it is unpacked to."""

    key: str | int
    length: int | None = None

    def of(self, container: Any) -> Any:
        """Raises LookupError, or TypeError for a container that is none of what Go takes for one."""
        if type(container) not in (dict, list, tuple, np.lib.npyio.NpzFile):
            raise TypeError(type(container).__qualname__)
        if self.length is not None and (type(container) not in (list, tuple) or len(container) != self.length):
            raise LookupError(self.length)
        return container[self.key]


class FilesAhead(Ahead):
    """Arrays that are in a file each, of the same shape, but for one extent perhaps.

    Some headers are read, to see whether extents differ, and all where one does.

    first   an array like the first one
    format  of the files, as capi/goloader.h has it
    what    messages say of one, and
    named   of all of them
    others  names of files end so which are read in another way
    """

    is_list = False
    format: str
    what: ClassVar[str]
    named: str
    others: ClassVar[tuple[str, ...]] = ()

    def __init__(self, own: OwnCode | ListItems, place: Expression) -> None:
        super().__init__(own, place, PATHS)
        try:
            self._files = Files.of(self.values)
        except RefusalError as error:
            raise UnreadableError(f"opens {place}, of which {error.refusal.why}", place) from None
        found = self._headers([0])
        header = self._first(found[0])
        others, begun = _spread(len(self))[1:], time.perf_counter()
        found += self._headers(others)
        self._headers_s = (time.perf_counter() - begun) / max(1, len(others)) * len(self)
        shape = header.shape
        zeros = np.zeros(shape, header.dtype)
        self.first = self.of(zeros)
        if why := why_not_collated(self.first):
            raise UnreadableError(f"reads {place}, of which an array is {why}", place)
        # One that is none is perhaps damaged: its batches are the code's own.
        if {*found} - {""} == {found[0]} and found.count("") <= 1:
            begins = np.arange(len(self) + 1, dtype=np.int64) * zeros.nbytes
            files = ArrayFiles(self.format, self._files, begins, None, found[0], "")
            strides = contiguous((len(self), *shape), zeros.itemsize)
            self.piece = Rows(Array(0, (len(self), *shape), strides, files, path=self._path(0), files=files))
            self.piece.in_one_piece = False
            # Nobody looks at its items.
            self.array = np.lib.stride_tricks.as_strided(zeros, (len(self), *shape), strides, writeable=False)
        else:
            self.axis = self._axis(header, found)
            self.piece = Rows(self._of_any_length(header), self.extents if self.axis else ())

    def _path(self, number: int) -> str:
        return os.fsdecode(self._files.name(number))

    def _headers(self, numbers: Sequence[int]) -> list[str]:
        """Headers' texts; "" of what has none."""
        try:
            texts = array_headers(self.format, self._files, numbers)
        except LibraryError as error:
            raise UnreadableError(f"opens {self.place}, of which no header can be read: {error}", self.place) from None
        if not self.others:
            return texts
        return ["" if self._path(n).endswith(self.others) else text for n, text in zip(numbers, texts, strict=True)]

    def of(self, array: Any) -> Any:
        """What a file gives, of its array."""
        return array

    def header_of(self, text: str) -> Header | None:
        """What it says; None of another format."""
        raise NotImplementedError

    def _first(self, text: str) -> Header:
        """The first header. Raises UnreadableError."""
        found = self.header_of(text)
        if found is None:
            raise UnreadableError(f"opens {self._path(0)}, which is no {self.what}", self.place)
        if found.dtype is None or found.dtype.name not in NUMPY_DTYPES or not found.dtype.isnative:
            raise UnreadableError(f"opens {self._path(0)}, an array of another type: {text}", self.place)
        shape = found.shape
        if (
            len(shape) >= DIMENSIONS_MAX
            or not 0 < int(np.prod(shape, dtype=object)) * found.dtype.itemsize < _BYTES_MAX
        ):
            raise UnreadableError(f"opens {self._path(0)}, an array of the shape {shape}", self.place)
        return found

    def _axis(self, header: Header, texts: Iterable[str]) -> int:
        """Along which arrays differ, by some headers. Raises UnreadableError where more differs."""
        shape = header.shape
        if not shape:
            raise UnreadableError(f"opens {self.place}, numbers and arrays", self.place)
        axes = set()
        for text in texts:
            found = self.header_of(text)
            if found is None or (found.before, found.behind) != (header.before, header.behind):
                continue
            if len(found.shape) == len(shape):
                both = zip(shape, found.shape, strict=True)
                axes |= {axis for axis, (one, extent) in enumerate(both) if one != extent}
        if len(axes) > 1:
            raise UnreadableError(f"opens {self.place}, arrays that differ in more than one extent", self.place)
        return axes.pop() if axes else 0

    @property
    def extents(self) -> tuple[int, ...]:
        """Of each array's shape; -1 for the one that differs."""
        return tuple(-1 if axis == self.axis else extent for axis, extent in enumerate(self.first.shape))

    def _of_any_length(self, header: Header) -> Array:
        """Raises UnreadableError where more than one extent differs, or where it takes long to find out."""
        if self._headers_s > _HEADERS_S_MAX:
            why = f"whose headers take {self._headers_s:.0f} s to read, of {len(self)} files"
            raise UnreadableError(f"opens {self.place}, {why}", self.place)
        assert self.axis is not None
        shape, (head, tail) = header.shape, self.around(header, self.axis)
        extents = np.full(len(self), _OTHER, np.int64)
        each = int(np.prod(shape, dtype=np.int64)) // shape[self.axis]  # numbers there are of one more
        for number, text in enumerate(self._headers(range(len(self)))):
            middle = text[len(head) : len(text) - len(tail)]
            found = text.startswith(head) and text.endswith(tail) and middle.isdecimal() and len(middle) < _DIGITS_MAX
            if found and 0 < int(middle) * each * self.first.itemsize < _BYTES_MAX:
                extents[number] = int(middle)
        if (extents == _OTHER).sum() > _OTHERS_MAX * len(self):
            raise UnreadableError(f"opens {self.place}, arrays that differ in more than one extent", self.place)
        # Of the first extent, rows have as many items; of another, as many numbers.
        item = tuple(shape[1:]) if self.axis == 0 else ()
        self.lengths = np.where(extents == _OTHER, 1, extents)
        lengths = self.lengths if self.axis == 0 else self.lengths * each
        begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths * each * self.first.itemsize)])
        files = ArrayFiles(self.format, self._files, begins, extents, head, tail)
        strides = (0, *contiguous(item, self.first.itemsize))
        return Array(
            0, (len(self), *item), strides, files, path=self._path(0), begins=begins[:-1], lengths=lengths, files=files
        )

    def around(self, header: Header, axis: int) -> tuple[str, str]:
        """A header's text before one of the extents, and behind it."""
        raise NotImplementedError


class NpyAhead(FilesAhead):
    """.npy files, as np.load gives them, or arrays of .npz files, by their name."""

    what, named = "array that numpy wrote in C's order", ".npy"

    def __init__(
        self, own: OwnCode | ListItems, place: Expression, given: Mapping[str, Any], within: Within | None
    ) -> None:
        self.format = "npy"
        if within is not None:
            self.format, self.named = f"npz:{within.key}", ".npz"
        super().__init__(own, place)

    def header_of(self, text: str) -> Header | None:
        found = _NPY.fullmatch(text)
        if found is None:
            return None
        try:
            dtype = np.dtype(found["dtype"])
        except TypeError:
            dtype = None
        return Header(found["before"], tuple(map(int, re.findall(r"\d+", found["shape"]))), found["after"], dtype)

    def around(self, header: Header, axis: int) -> tuple[str, str]:
        extents = list(map(str, header.shape))
        head = "".join(f"{each}, " for each in extents[:axis])
        tail = "".join(f", {each}" for each in extents[axis + 1 :])
        return f"{header.before}({head}", f"{tail}{')' if len(extents) > 1 else ',)'}{header.behind}"


@dataclass(frozen=True)
class Sounds:
    """How a function reads WAV files.

    made    what it makes of numbers: "stored", "float32" or "float64" (core/source/wav)
    chunks  that it passes over without a word
    always_2d  of one channel, too, it makes [frames, 1]
    """

    made: str
    chunks: tuple[str, ...]
    always_2d: bool = False


class WavAhead(FilesAhead):
    """WAV files of one encoding, rate and number of channels: [frames], or [frames, channels].

    rate  frames a second, of all
    """

    what, named = "WAV file that Go reads", "WAV"

    def __init__(self, own: OwnCode | ListItems, place: Expression, how: Sounds) -> None:
        self.how, self.format = how, f"wav:{how.made}:{''.join(how.chunks)}"
        super().__init__(own, place)

    def header_of(self, text: str) -> Header | None:
        found = _WAV.fullmatch(text)
        if found is None or found["encoding"].rstrip("+") not in _STORED:
            return None
        channels, frames = int(found["channels"]), int(found["frames"])
        shape = (frames,) if channels == 1 and not self.how.always_2d else (frames, channels)
        made = _STORED[found["encoding"].rstrip("+")] if self.how.made == "stored" else self.how.made
        return Header(found["before"], shape, "", np.dtype(made))

    def _first(self, text: str) -> Header:
        header = super()._first(text)
        self.rate = int(text.split()[2])
        return header

    @property
    def frame(self) -> int:
        """Bytes of a frame."""
        return self.first[:1].nbytes  # type: ignore[no-any-return]

    def around(self, header: Header, axis: int) -> tuple[str, str]:
        return header.before, header.behind

    def _axis(self, header: Header, texts: Iterable[str]) -> int:
        super()._axis(header, texts)
        return 0


# As numpy writes it.
_NPY = re.compile(
    r"(?P<before>\{'descr': '(?P<dtype>[^']+)', 'fortran_order': False, 'shape': )"
    r"(?P<shape>\((?:\d+,(?: \d+(?:, \d+)*)?)?\))(?P<after>, \})"
)
# As core/source/wav has it, and what numbers are as they are.
_WAV = re.compile(r"(?P<before>(?P<encoding>[a-z]+\d+\+?) (?P<channels>\d+) (?P<rate>\d+) )(?P<frames>\d+)")
_STORED = {
    "pcm8": "uint8", "pcm16": "int16", "pcm24": "int32", "pcm32": "int32", "float32": "float32", "float64": "float64",
}  # fmt: skip
_BYTES_MAX = 1 << 40  # of an array
# All headers are read before the first batch comes; of files that were read in one epoch that is quick in the next.
_HEADERS_S_MAX = 2.0
_DIGITS_MAX = len(str(_BYTES_MAX)) + 1
# Files that are looked at to see whether lengths differ.
_SPREAD = 8
# The extent of an array that is another than all others, or is not there: no header says so.
_OTHER = -1
# The share of such files, of each of which the dataset's own code makes a whole batch.
_OTHERS_MAX = 0.01


def _spread(count: int) -> list[int]:
    return sorted({number * (count - 1) // max(1, _SPREAD - 1) for number in range(_SPREAD)})
