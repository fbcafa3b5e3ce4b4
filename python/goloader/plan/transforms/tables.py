"""What the tail of a pipeline makes of every byte: run once, by the very code that the table replaces."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...selfcheck import memory
from ..refusal import TransformRefusal
from .lowered import ITEMSIZES

_KIND, _KEPT_MAX = "tables", 1000


class Table:
    """What a tail makes of every byte.

    contiguous  a tensor that it makes is, and
    pixel       strides of one of a single pixel, which torch leaves as they come
    """

    def __init__(self, out: torch.Tensor) -> None:
        self.dtype = str(out.dtype).removeprefix("torch.")
        self.channels = out.shape[0]
        self.data = _bytes(out).tobytes()
        self.digest = hashlib.blake2b(self.data, digest_size=16).hexdigest()
        self.tensor = type(out).__name__
        self.contiguous = True
        self.pixel: tuple[int, ...] = (1, 1, 1)
        self.sample = out[:1, :1, :1].as_subclass(type(out))


def as_pil(pixels: NDArray[np.uint8]) -> Any:
    """[height, width, 1 or 3] as a PIL image, of mode L or RGB."""
    from PIL import Image

    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def probes(channels: int) -> Iterator[NDArray[np.uint8]]:
    """Images [height, width, channels] that show whether a byte becomes the same bits wherever it stands: in a vector
    loop, in the few elements left behind one, in any row and channel.

    The first has all bytes, in order. Five pixels are fewer than any vector; the last image differs in each channel.
    """
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], channels, axis=2)
    yield ramp
    for at in range(0, 256, 5):
        yield ramp[:, at : at + 5]
    yield np.random.default_rng(0).integers(0, 256, (6, 43, channels), dtype=np.uint8)


def run_tail(
    tail: Sequence[Callable[[Any], Any]],
    channels: int,
    names: str,
    begin: Callable[[NDArray[np.uint8]], Any] = as_pil,
    key: str = "",
    proved: set[Any] | None = None,
) -> Table:
    """The table of functions that are called one after the other, from an image of 1 or 3 channels to a tensor.

    begin  makes what the first of them is given of pixels, [height, width, channels]
    key    names them with all that what they make depends on, if that can be said: a table that was the same on all
           probes is kept on disk by it, and is then tried on the first alone
    proved tables that were the same on all probes, with their functions, which somebody keeps: such a one is noted
           here, and is tried on two of them from then on

    Raises RefusalError, in which `names` is what they are called, if they are no function of each byte by itself.
    """

    def run(pixels: NDArray[np.uint8]) -> torch.Tensor:
        """The tail on one image; pixels is [height, width, channels]."""
        out: Any = begin(pixels)
        with torch.enable_grad():
            for each in tail:
                out = each(out)
        if not isinstance(out, torch.Tensor) or out.ndim != 3 or out.shape[0] not in (1, 3):
            raise TransformRefusal(names, "it does not make an image tensor of 1 or 3 channels", "TENSOR_STEPS")
        if out.shape[1:] != pixels.shape[:2]:
            raise TransformRefusal(names, f"it changes the image's size to {tuple(out.shape[1:])}", "TENSOR_STEPS")
        if out.layout != torch.strided or out.device.type != "cpu" or out.requires_grad:
            raise TransformRefusal(
                names, "it makes a tensor that is not plain CPU memory, or that has a gradient", "TENSOR_STEPS"
            )
        return out

    ramp, *others = probes(channels)
    out = run(ramp)
    if str(out.dtype).removeprefix("torch.") not in ITEMSIZES:
        raise TransformRefusal(names, f"goloader has no {out.dtype}", "TENSOR_STEPS")
    table = Table(out)
    kept = memory.find(_KIND, key) if key else None
    if kept is not None and kept.get("digest") == table.digest and type(kept.get("pixel")) is list:
        table.contiguous, table.pixel = bool(kept.get("contiguous")), tuple(kept["pixel"])
        return table
    known, of = _bytes(out), (table.digest, *map(id, tail))
    for pixels in others[-1:] if proved and of in proved else others:
        out = run(pixels)
        planes = pixels.transpose(2, 0, 1)
        if planes.shape[0] != table.channels:
            planes = np.repeat(planes, table.channels, axis=0)
        want = np.stack([known[channel, 0][planes[channel]] for channel in range(table.channels)])
        if not np.array_equal(_bytes(out), want):
            raise TransformRefusal(names, "its result for a pixel depends on the pixel's position", "TENSOR_STEPS")
    table.contiguous, table.pixel = out.is_contiguous(), run(ramp[:, :1]).stride()
    if key:
        found = {"digest": table.digest, "contiguous": table.contiguous, "pixel": list(table.pixel)}
        memory.keep(_KIND, key, found, _KEPT_MAX)
    if proved is not None:
        proved.add(of)
    return table


def _bytes(out: torch.Tensor) -> NDArray[np.uint8]:
    """[channels, height, width, itemsize]: the bits, which compare where numbers (NaN, -0.0) do not."""
    plain = out.as_subclass(torch.Tensor).detach().contiguous()
    flat: NDArray[np.uint8] = plain.reshape(-1).view(torch.uint8).numpy()
    return flat.reshape(*plain.shape, plain.element_size())
