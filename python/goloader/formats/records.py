"""What all formats have in common: records that lie one by one in files, with named fields in each."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch.utils import data

from .._kept import Arrays, kept
from ..datasets import MemberImages
from ..plan.paths import SUFFIXES, Files, read_at, suffix_of

# Of a record: (offset, bytes) -> its bytes from there, fewer where it ends.
Read = Callable[[int, int], bytes]
Spans = dict[str, tuple[int, int]]


class Records(ABC):
    """Where the records of a dataset are, found by reading headers and tables.

    files   paths of what they lie in
    number  [records] int32: which of the files
    begin   [records] int64: its first byte there
    size    [records] int64: its bytes
    fields  what they are called, and how each is encoded, in words

    Raises OSError that names file and byte where something is not sound.
    """

    kind: ClassVar[str]

    def __init__(self, files: Sequence[str], tables: Sequence[NDArray[np.int64]], fields: dict[str, str]) -> None:
        """`tables` have [records, 2] for each file: begins and ends."""
        counts = [len(table) for table in tables]
        places = np.concatenate([np.zeros((0, 2), np.int64), *tables])
        self.files, self.fields = list(files), fields
        self.number = np.repeat(np.arange(len(files), dtype=np.int32), counts)
        self.begin, self.size = places[:, 0].copy(), places[:, 1] - places[:, 0]

    def __len__(self) -> int:
        return len(self.begin)

    def place(self, row: int) -> tuple[str, int, int]:
        """File, first byte and bytes of a record."""
        return self.files[self.number[row]], int(self.begin[row]), int(self.size[row])

    def sample(self, row: int) -> dict[str, Any]:
        """What the library that wrote the files gives for a record. Raises OSError for one that is not sound."""
        read = self.reader(row)
        return {name: self.decoded(row, name, read(*span)) for name, span in self.checked(row, read).items()}

    def checked(self, row: int, read: Read) -> Spans:
        """The offset in the record and the bytes of each field. Raises OSError if one lies outside."""
        path, begin, size = self.place(row)
        try:
            spans = self.spans(row, read)
        except (ValueError, IndexError) as error:
            raise OSError(f"{path}: sample {row} at byte {begin}: {error}") from error
        for name, (at, count) in spans.items():
            if at < 0 or count < 0 or at + count > size:
                raise OSError(f"{path}: sample {row} at byte {begin}: {name!r} is not within its {size} bytes")
        return spans

    def decoded(self, row: int, name: str, content: bytes) -> Any:
        """The value of a field. Raises OSError where its bytes make none."""
        try:
            return self.value(row, name, content)
        except Exception as error:
            path, begin, _ = self.place(row)
            raise OSError(f"{path}: sample {row} at byte {begin}: {name!r}: {error}") from error

    def reader(self, row: int) -> Read:
        """What reads in a record. Raises OSError where it cannot be read, or is not what was written."""
        return slices(read_at(*self.place(row)))

    def payload(self, row: int, name: str, read: Read, at: int, count: int) -> tuple[int, int]:
        """Where in a record the file is that a field of so many bytes holds. Raises ValueError if it holds none."""
        return at, count

    @abstractmethod
    def spans(self, row: int, read: Read) -> Spans:
        """As `checked`, of a record that is not known to be sound; raises ValueError or IndexError for one in which no
        fields can be found."""

    @abstractmethod
    def value(self, row: int, name: str, content: bytes) -> Any:
        """What the bytes of a field mean."""


def slices(record: bytes) -> Read:
    """Reads in a record that is in memory."""
    return lambda at, count: record[at : at + count]


class RecordDataset(data.Dataset[Any]):
    """Samples of another library's files, read in place: sample i is what that library gives for it.

    transform  called with the sample; its result is the sample
    records    where the samples are
    kind       the format; `files` has the paths, and `fields` the names of a sample's fields and how each is encoded

    Raises OSError with file and byte for a damaged sample.
    """

    def __init__(self, records: Records, transform: Callable[[dict[str, Any]], Any] | None = None) -> None:
        self.records, self.transform = records, transform
        self.kind, self.files, self.fields = records.kind, records.files, records.fields

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Any:
        sample = self.records.sample(range(len(self))[index])  # raises IndexError
        return sample if self.transform is None else self.transform(sample)

    def __repr__(self) -> str:
        return f"<{self.kind}: {len(self)} samples of {', '.join(self.fields)}>"

    def images(
        self,
        image: str,
        target: str | Sequence[int],
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        *,
        classes: list[str] | None = None,
    ) -> MemberImages:
        """Makes an image dataset of two fields, as ImageFolder's: (transform(image), class number), all in Go.

        image    field with the bytes of an image file
        target   field with its class: an integer, or a name; names are numbered in their order. Or the classes, one
                 integer for each sample
        classes  names of the classes; default: those names, or the numbers

        This reads the headers of all samples and keeps what they say for the next time, in a hidden file beside the
        first of `files` or in the user's cache. It is valid as long as no file has changed. Raises ValueError for a
        field that has no such content, and OSError for a damaged sample.
        """
        for name in (image, target) if isinstance(target, str) else (image,):
            if name not in self.fields:
                raise ValueError(f"there is no field {name!r}, but {', '.join(map(repr, self.fields))}")
        if not isinstance(target, str) and len(target) != len(self):
            raise ValueError(f"{len(target)} classes for {len(self)} samples")
        files, names = _members(self.records, image, target)
        return MemberImages(files, transform, target_transform, classes=names if classes is None else classes)


def _members(records: Records, image: str, target: str | Sequence[int]) -> tuple[Files, list[str] | None]:
    """Files of images with their classes, and the names of these if they have some."""
    field = target if isinstance(target, str) else ""
    what = records.kind, image, field
    found = kept(records.files, what, lambda: _found(records, image, field))
    labels = found["labels"] if field else _numbers(np.asarray(target).tolist())
    names = json.loads(found["names"].tobytes()) if field else None
    paths, ends = bytearray(), [0]
    heads = [os.fsencode(path) + b"\0" for path in records.files]
    for row, (number, suffix) in enumerate(zip(records.number.tolist(), found["suffixes"].tolist(), strict=True)):
        paths += heads[number] + b"%d.%s\0" % (row, SUFFIXES[suffix])
        ends.append(len(paths))
    return Files(np.frombuffer(paths, np.uint8), np.array(ends), labels, spans=found["spans"]), names


def _found(records: Records, image: str, field: str) -> Arrays:
    """Of each sample where its image begins and its bytes, [samples, 2], which of SUFFIXES it has, and its class, if
    there is a field for it; and the names of the classes, in JSON."""
    spans, suffixes = np.empty((len(records), 2), np.int64), np.empty(len(records), np.uint8)
    values: list[Any] = []
    with ExitStack() as stack:
        opened = -1
        for row, number in enumerate(records.number.tolist()):
            path, begin, size = records.place(row)
            if number != opened:
                stack.close()
                file, opened = stack.enter_context(open(path, "rb")).fileno(), number
            read = partial(_read, file, begin, size)
            fields = records.checked(row, read)
            for name in (image, field or image):
                if name not in fields:
                    raise OSError(f"{path}: sample {row} at byte {begin} has no {name!r}")
            try:
                at, count = records.payload(row, image, read, *fields[image])
            except ValueError as error:
                raise ValueError(f"{path}: sample {row} at byte {begin}: {error}") from error
            spans[row], suffixes[row] = (begin + at, count), suffix_of(read(at, min(count, 4)))
            if field:
                values.append(records.decoded(row, field, read(*fields[field])))
    labels, names = _labels(values)
    return {
        "spans": spans,
        "suffixes": suffixes,
        "labels": labels,
        "names": np.frombuffer(json.dumps(names).encode(), np.uint8),
    }


def _read(file: int, begin: int, size: int, at: int, count: int) -> bytes:
    return os.pread(file, max(0, min(count, size - at)), begin + at)


def _labels(values: Sequence[Any]) -> tuple[NDArray[np.int64], list[str] | None]:
    """Class numbers, and what they are called if `values` are names. Raises ValueError for what is no class."""
    if not values or not isinstance(values[0], str | bytes):
        return _numbers(values), None
    texts = [value.decode() if isinstance(value, bytes) else value for value in values]
    if set(map(type, texts)) != {str}:
        raise ValueError("classes are names in some samples, but not in others")
    names = sorted(set(texts))
    numbers = {text: number for number, text in enumerate(names)}
    return np.array([numbers[text] for text in texts], np.int64), names


def _numbers(values: Sequence[Any]) -> NDArray[np.int64]:
    items = [each.item() if isinstance(each, np.ndarray | np.generic) and each.size == 1 else each for each in values]
    for row, value in enumerate(items):
        if type(value) is not int or not 0 <= value < 1 << 31:
            raise ValueError(f"{value!r} of sample {row} is not a class")
    return np.array(items, np.int64)


def table_of(path: str, samples: int) -> NDArray[np.int64]:
    """Begins and ends, [samples, 2], of a shard that begins with their count and one offset more, all uint32.

    MDS and LitData have it so. Raises OSError for a count that is another, and for offsets that decrease or lie outside
    the file.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        (count,) = np.frombuffer(_exactly(path, file.read(4), 4, 0), "<u4").tolist()
        if count != samples:
            raise OSError(f"{path}: {count} samples at byte 0, but {samples} in index.json")
        if 4 * (count + 2) > size:
            raise OSError(f"{path} ends within the offsets of its {count} samples, at byte {size}")
        content = file.read(4 * (count + 1))
    offsets = np.frombuffer(_exactly(path, content, 4 * (count + 1), 4), "<u4").astype(np.int64)
    wrong = np.flatnonzero((np.diff(offsets, prepend=4 * (count + 2)) < 0) | (offsets > size))
    if wrong.size:
        at = int(wrong[0])
        raise OSError(f"{path}: offset {offsets[at]} of sample {at}, at byte {4 + 4 * at}, is not within {size} bytes")
    return np.stack([offsets[:-1], offsets[1:]], axis=1)


def _exactly(path: str, content: bytes, size: int, begin: int) -> bytes:
    if len(content) != size:
        raise OSError(f"{path} ends within {size} bytes from byte {begin} on")
    return content


def within(folder: str, name: Any) -> str:
    """The path of a file that an index names. Raises OSError for one outside the folder."""
    if type(name) is not str or os.path.isabs(name) or ".." in name.split("/"):
        raise OSError(f"{folder}: its index.json names {name!r}, which is not a file in it")
    return os.path.join(folder, name)
