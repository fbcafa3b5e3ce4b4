"""NumpyLoader: the same core without torch, for numpy arrays."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from . import transforms as T
from ._core import Core, Rejected, Run
from ._errors import check_positive
from .arrays import FileArray
from .plan import Explanation
from .plan.neutral import make_arrays, make_folder
from .plan.paths import Files, find_classes
from .seek_index import SeekIndex
from .storage.files import list_files

Batch = tuple[NDArray[Any], ...] | dict[str, NDArray[Any]]


class NumpyLoader:
    """Batches of numpy arrays from an image folder or from arrays; needs neither torch nor Pillow.

    source           a folder with the layout of torchvision's ImageFolder (root/class/image.jpg), or arrays of equal
                     length, in memory, mapped, or in files (FileArray): a sequence of them, or a dict by name
    transforms       for a folder: goloader.transforms, geometry first, then ToArray and Normalize. Without ToArray,
                     images are uint8
    batch_size       samples in a batch, at least 1
    shuffle          a new order in each epoch
    drop_last        leaves out a smaller last batch
    num_workers      goroutines, and random streams: as with torch, results depend on it
    prefetch_factor  batches made ahead for each worker
    seed             of order and random numbers; None takes one from the system
    seek_index       for a folder: as for DataLoader

    Iterating gives (images [batch, channels, height, width], labels int64 [batch]) for a folder, and a tuple or dict of
    arrays [batch, ...] for arrays. With the same seed, number of workers and transforms, these are in each epoch the
    arrays that torch.utils.data.DataLoader gives after torch.manual_seed(seed), except for the 0.01% of random crops
    where torch's exp is not correctly rounded.

    Raises ValueError for wrong arguments and for arrays that differ in length; TypeError for arrays of a dtype that the
    core lacks; FileNotFoundError for a folder without classes, or classes without images. Iterating raises what Pillow
    raises for a damaged file, OSError for a file that cannot be read, and RuntimeError if the images of a batch differ
    in size; the next iteration starts again.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, NDArray[Any] | FileArray] | Sequence[NDArray[Any] | FileArray],
        transforms: Sequence[T.Geometry | T.ToArray | T.Normalize] = (),
        *,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: int = 1,
        prefetch_factor: int = 2,
        seed: int | None = None,
        seek_index: bool | SeekIndex = True,
    ) -> None:
        check_positive(batch_size=batch_size, num_workers=num_workers, prefetch_factor=prefetch_factor)
        if isinstance(source, (str, os.PathLike)):
            root = os.path.expanduser(source)  # as torchvision: a str stays a str, and shows in errors
            classes, numbers = find_classes(root)
            self._plan = make_folder(root, list_files(root, numbers), transforms, seek_index=SeekIndex.of(seek_index))
            self._classes = tuple(classes)
            self._names: list[str] | None = None
        else:
            if transforms:
                raise ValueError("transforms are for image folders")
            self._plan = make_arrays(source)
            self._classes = ()
            self._names = list(source) if isinstance(source, Mapping) else None
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor
        self.seek_index = seek_index
        self.seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
        self._core: Core | None = None
        self._epoch = 0

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of a folder's classes; labels are their numbers."""
        return self._classes

    def __len__(self) -> int:
        full, rest = divmod(self._plan.length, self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def explain(self) -> Explanation:
        """Says, a line a stage, what runs where."""
        rows = self._plan.explanation
        return rows if self._core is None else rows.counted(self._core.stats())

    def __iter__(self) -> Iterator[Batch]:
        if self._core is None:
            self._core = Core(self._plan)
        # The draws of torch's loader: each epoch the workers' base seed, and the shuffle's seed.
        seeds = self._seeds(self._epoch, 2 if self.shuffle else 1)
        self._epoch += 1
        order = self._order(seeds[1] if self.shuffle else None)
        run = self._core.start(workers=self.num_workers, streams=self.num_workers, base_seed=seeds[0])
        return self._batches(run, order)

    def _batches(self, run: Run, order: NDArray[np.int64]) -> Iterator[Batch]:
        helper = _Helper(self._plan.files)
        waiting = deque(order[k * self.batch_size : (k + 1) * self.batch_size] for k in range(len(self)))
        under_way = 0
        try:
            while waiting or under_way:
                while waiting and under_way < self.prefetch_factor * self.num_workers:
                    run.submit(waiting.popleft())
                    under_way += 1
                under_way -= 1
                fields = _received(run, helper)
                yield tuple(fields) if self._names is None else dict(zip(self._names, fields, strict=True))
        finally:
            run.close()

    def _order(self, seed: int | None) -> NDArray[np.int64]:
        order = np.arange(self._plan.length, dtype=np.int64)
        if seed is not None:
            lib = _native.library()
            lib.call(lib.gl_permutation, seed, order.ctypes.data, len(order))
        return order

    def _seeds(self, epoch: int, each: int) -> list[int]:
        seeds, lib = np.empty(each, np.int64), _native.library()
        lib.call(lib.gl_seeds, self.seed, epoch * each, seeds.ctypes.data, each)
        return [int(seed) for seed in seeds]


def _received(run: Run, helper: _Helper) -> list[NDArray[Any]]:
    """The fields of the next batch. Raises what a sample of it raises, with the errors that led to that."""
    try:
        fields = run.receive(helper)
    except Rejected as rejected:
        error = rejected.error
    else:
        assert fields is not None  # there is no time limit
        return fields
    try:
        raise error
    finally:
        del error  # its traceback has this frame


class _Helper:
    """Answers the core's questions, with Pillow if it is there."""

    def __init__(self, files: Files | None) -> None:
        self._files = files

    def _path(self, row: int) -> str:
        assert self._files is not None  # nothing is asked about arrays
        return os.fsdecode(self._files.name(row))

    skips = None

    def pixels(self, row: int) -> tuple[bytes, int, int]:
        path = self._path(row)
        with open(path, "rb") as file:
            content = file.read()
        try:
            from PIL import Image
        except ImportError as error:
            raise RuntimeError(f"{path} is damaged, or only Pillow reads it, and Pillow is not installed") from error
        image = Image.open(io.BytesIO(content)).convert("RGB")
        return image.tobytes(), image.width, image.height

    def refused(self, position: int, row: int, reason: str) -> Exception:
        return ValueError(f"{self._path(row)}: {reason}")

    def exp(self, x: float) -> float:
        # Asked only where torch's result is wanted, which a plan made without torch does not say.
        return float(np.exp(np.float32(x)))
