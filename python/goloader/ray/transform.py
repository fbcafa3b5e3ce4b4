"""A transform of images for Ray Data's map_batches(): takes blocks with images, returns blocks with tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .._core import Rejected
from .._errors import check_positive
from ..adapters.ray import execution
from ..adapters.torch import exp
from ..plan import Explanation, Plan, Refusal, Row
from ..plan.neutral import make_places
from ..plan.transforms.torchvision import lower
from ..state import generators, seeded
from .columns import PLACE, Images, RowError, images_of, to_arrow
from .engine import ROWS_MAX, Engine


class Transform:
    """Applies a torchvision transform to the images of a block, in Go.

        ds.map_batches(Transform(transform), batch_format="pyarrow")
        ds.map_batches(Transform, fn_constructor_args=(transform,), batch_format="pyarrow", compute=actors)

    transform    called with PIL images: RGB for files, as with ImageFolder, and for uint8 [height, width, 3]; mode L
                 for uint8 [height, width]
    column       column of encoded images (bytes), file paths (str), or uint8 arrays
    output       name of the result, which replaces `column`; None: the same name
    seed, epoch  of random numbers; epoch=None: how often Ray has executed a dataset from the same reading, and 0
                 without Ray
    key          column of integers or strings that identifies a row; None: a hash of the image's length and its first
                 and last 4,096 bytes
    num_workers  goroutines; use the `num_cpus` that you give Ray

    The random numbers of a row depend only on (seed, epoch, key), as with DataLoader(rng="sample"): before the
    transform is called it is as if torch, random and numpy had been seeded with state.seeded.key(seed, epoch, key). So
    a block that is computed again is the same, wherever its rows are.

    Called with a batch, a dict of columns or a pyarrow.Table, it returns the same kind with all other columns. The
    result is [n, ...], as torch.stack makes it. Raises KeyError for a missing column, ValueError for an output that
    exists already, TypeError for a column without images, and RuntimeError for a row that fails (with its number, path
    and key) or for rows that differ in shape.
    """

    def __init__(
        self,
        transform: Any,
        column: str = "bytes",
        output: str | None = "image",
        *,
        seed: int = 0,
        epoch: int | None = None,
        key: str | None = None,
        num_workers: int = 1,
    ) -> None:
        if not callable(transform):
            raise TypeError(f"transform should be callable, but got {transform!r}")
        check_positive(num_workers=num_workers)
        self.transform, self.column, self.output = transform, column, output or column
        self.seed, self.epoch, self.key, self.num_workers = seed, epoch, key, num_workers
        self._engine: Engine | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_engine": None}

    def __call__(self, batch: Any) -> Any:
        columns = list(batch) if isinstance(batch, Mapping) else getattr(batch, "column_names", None)
        if columns is None:
            raise TypeError(
                f'a batch is a dict of columns or a pyarrow.Table, not {type(batch)}: use batch_format="numpy"'
            )
        for name in filter(None, (self.column, self.key)):
            if name not in columns:
                raise KeyError(f"the batch has no column {name!r}; it has {', '.join(map(repr, columns))}")
        if self.output != self.column and self.output in columns:
            raise ValueError(f"the batch has a column {self.output!r} already: give output= another name")
        try:
            images = images_of(batch[self.column])
            made = self._make(images, batch)
        except RowError as error:
            raise RuntimeError(f"{self._name(batch, columns, error.row)}: {error.why}") from error.__cause__
        if isinstance(batch, Mapping):
            return {self.output if name == self.column else name: batch[name] for name in columns} | {self.output: made}
        return batch.set_column(columns.index(self.column), self.output, to_arrow(made))

    def explain(self, channels: int = 3) -> Explanation:
        """Returns, for each stage, where it runs and why. Arrays [height, width] have 1 channel."""
        plan = self._plan("flat" if channels == 1 else None)
        what = f"column {self.column!r}"
        if isinstance(plan, Refusal):
            refused = Row(plan.stage, plan.what, "Python", plan.why, plan.code)
            return Explanation([Row("source", what, "Python", "Pillow opens them"), refused])
        return Explanation([Row("source", what, "Go", "images are read in place"), *plan.rows])

    def _plan(self, layout: str | None) -> Plan | Refusal:
        lowered = lower(self.transform, 1 if layout == "flat" else 3)
        return lowered if isinstance(lowered, Refusal) else make_places(lowered, np.zeros(ROWS_MAX, PLACE), layout)

    def _make(self, images: Images, batch: Any) -> NDArray[Any]:
        if len(images) > ROWS_MAX:
            raise ValueError(f"a batch has {len(images)} rows, more than {ROWS_MAX}")
        plan = self._plan(images.layout)
        if isinstance(plan, Refusal):
            return self._in_python(images, self._seeds(images, batch))
        if plan.dtype == "bfloat16":
            raise TypeError("numpy and Arrow have no bfloat16: leave that cast to the training loop")
        if not len(images):
            return np.empty((0, plan.channels, *(plan.size or (1, 1))), plan.dtype)
        engine = self._engine
        if engine is None or not engine.fits(plan):
            engine = self._engine = Engine(plan, self.num_workers)
        seeds = self._seeds(images, batch) if plan.random else None
        try:
            return engine.make(images, seeds, _Helper(self.transform, images, seeds))
        except Rejected as rejected:
            raise RowError(rejected.row, rejected.error) from rejected.error

    def _in_python(self, images: Images, seeds: NDArray[np.uint64]) -> NDArray[Any]:
        samples = []
        with generators.untouched():
            for row, seed in enumerate(seeds.tolist()):
                try:
                    seeded.seed_all(seed)
                    samples.append(self.transform(images.open(row)))
                except Exception as error:
                    raise RowError(row, error) from error
        if samples and all(isinstance(sample, torch.Tensor) for sample in samples):
            return torch.stack(samples).numpy(force=True)
        return np.stack(list(map(np.asarray, samples))) if samples else np.empty(0, np.float32)

    def _seeds(self, images: Images, batch: Any) -> NDArray[np.uint64]:
        """[n], each row's."""
        epoch = execution() if self.epoch is None else self.epoch
        if self.key is None:
            return seeded.keys(self.seed, epoch, seeded.numbers(map(images.number, range(len(images)))))
        keys = [_plain(value) for value in batch[self.key]]
        if not all(isinstance(key, int | str) for key in keys):
            raise TypeError(f"column {self.key!r} cannot be the key: it must hold integers or strings")
        return seeded.keys(self.seed, epoch, seeded.numbers(keys))

    def _name(self, batch: Any, columns: list[str], row: int) -> str:
        """A row's place for messages."""
        told = [f"row {row} of the batch"]
        for name in dict.fromkeys((self.key, "path", self.column)):
            value = _plain(batch[name][row]) if name in columns else None
            told += [f"{name} {value!r}"] if isinstance(value, int | str) else []
        return ", ".join(told)


def _plain(value: Any) -> Any:
    """An item of a column as Python has it."""
    of_arrow, of_numpy = getattr(value, "as_py", None), getattr(value, "item", None)
    if of_arrow is not None:
        return of_arrow()
    return of_numpy() if of_numpy is not None and np.ndim(value) == 0 else value


class _Helper:
    """Answers the core's questions about a batch."""

    def __init__(self, transform: Any, images: Images, seeds: NDArray[np.uint64] | None) -> None:
        self._transform, self._images, self._seeds = transform, images, seeds

    skips = None

    def pixels(self, row: int) -> tuple[bytes, int, int]:
        image = self._images.open(row)
        return image.tobytes(), image.width, image.height

    def refused(self, position: int, row: int, reason: str) -> Exception:
        try:
            with generators.untouched():
                seeded.seed_all(0 if self._seeds is None else int(self._seeds[row]))
                self._transform(self._images.open(row))
        except Exception as error:
            return error
        return RuntimeError(f"goloader's core refuses it, but the transform takes it: {reason}")

    exp = staticmethod(exp)
