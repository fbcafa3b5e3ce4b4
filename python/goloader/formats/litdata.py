"""Lightning's LitData: chunks of records, and an index.json that says what they hold.

Source: litdata/streaming/item_loader.py (PyTreeLoader), serializers.py and constants.py. A chunk has the number of
samples, their offsets (both uint32), and the samples: the sizes of the leaves of a tree, then the leaves.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..adapters.torch import pytree
from .encodings import Decode, listed, raw, sized
from .records import Read, Records, Spans, table_of, within

# By LitData's numbers.
_TORCH = (
    "float32", "float32", "float64", "float64", "complex64", "complex64", "complex128", "complex128", "float16",
    "float16", "bfloat16", "uint8", "int8", "int16", "int16", "int32", "int32", "int64", "int64", "bool", "uint16",
)  # fmt: skip
_NUMPY = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", "bool",
)  # fmt: skip
# Those that are left to LitData: they count because "file:mesh" means "mesh".
_LEFT = ("video", "audio", "nifti", "mesh", "pdf", "graph", "tifffile", "json")


class LitData(Records):
    """Samples of a folder with an index.json of LitData."""

    kind = "LitData"

    def __init__(self, folder: str, index: dict[str, Any], allow_unsafe_types: bool = False) -> None:
        try:
            config = index["config"]
            formats = list(map(str, config["data_format"]))
            loader = config.get("item_loader") or "PyTreeLoader"
            packed = config.get("compression") or config.get("encryption")
            chunks = [(within(folder, chunk["filename"]), int(chunk["chunk_size"])) for chunk in index["chunks"]]
            spec = None if loader != "PyTreeLoader" else pytree.treespec_loads(config["data_spec"])
        except (LookupError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
            raise OSError(f"{folder}/index.json: {error!r}") from error
        if spec is None:
            raise ValueError(f"{folder} is for LitData's {loader}, which makes its own samples of the files")
        if packed:
            raise ValueError(
                f"{folder} is compressed or encrypted ({packed}), so its samples cannot be read by position"
            )
        names = _names(spec)
        if len(names) != len(formats):
            raise OSError(f"{folder}/index.json: {len(formats)} formats for {len(names)} leaves of a sample")
        for each in formats:
            if _kind(each) == "pickle" and not allow_unsafe_types:
                raise ValueError(f"{folder} has pickles, which may run any code: allow_unsafe_types=True reads them")
            _decoder(each)
        self._formats = dict(zip(names, formats, strict=True))
        self._sizes, self._spec = dict.fromkeys(names, 0), spec
        super().__init__([path for path, _ in chunks], [table_of(*each) for each in chunks], self._formats)

    def sample(self, row: int) -> Any:
        return pytree.tree_unflatten(list(super().sample(row).values()), self._spec)

    def spans(self, row: int, read: Read) -> Spans:
        return sized(self._sizes, read, int(self.size[row]))

    def value(self, row: int, name: str, content: bytes) -> Any:
        return _decoder(self._formats[name])(content)


def _names(spec: Any) -> list[str]:
    """What the leaves of a sample are called: their keys and numbers, with dots between them."""
    numbers = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    leaves, _ = pytree.tree_flatten_with_path(numbers)
    return [".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path) or "0" for path, _ in leaves]


def _kind(encoding: str) -> str:
    """Which of LitData's serializers an entry of data_format means."""
    kind, _, rest = encoding.partition(":")
    return rest if rest in _DECODERS or rest in _LEFT or rest in _OF_TYPE else kind


@cache
def _decoder(encoding: str) -> Decode:
    """What makes a value of a leaf's bytes. Raises ValueError for an encoding that is not known."""
    kind, rest = _kind(encoding), encoding.partition(":")[2]
    if kind in _OF_TYPE:
        return partial(_OF_TYPE[kind], number=int(rest))
    if kind not in _DECODERS:
        raise ValueError(f"fields of LitData's {encoding!r} are read by LitData only")
    return _DECODERS[kind]


def _image(content: bytes) -> Any:
    """uint8 [3, rows, columns], turned as a JPEG's Exif header says."""
    if _has_exif(content):
        from PIL import Image, ImageOps

        image = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
        return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1).contiguous()
    from torchvision.io import ImageReadMode, decode_image, decode_jpeg

    data = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    with suppress(RuntimeError):
        return decode_jpeg(data, mode=ImageReadMode.RGB)
    return decode_image(data, mode=ImageReadMode.RGB)


def _has_exif(content: bytes) -> bool:
    at = 2
    while content[:2] == b"\xff\xd8" and at + 4 <= len(content) and content[at] == 0xFF and content[at + 1] != 0xDA:
        if 0xD0 <= content[at + 1] <= 0xD9:  # a marker without a length
            at += 2
            continue
        if content[at + 1] == 0xE1 and content[at + 4 : at + 8] == b"Exif":
            return True
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return False


def _tensor(content: bytes) -> torch.Tensor:
    number, rank = struct.unpack_from(">II", content)
    shape = struct.unpack_from(f">{rank}I", content, 8)
    return _flat_tensor(content[8 + 4 * rank :], number).reshape(shape)


def _flat_tensor(content: bytes, number: int) -> torch.Tensor:
    dtype = getattr(torch, _TORCH[number])
    return torch.frombuffer(bytearray(content), dtype=dtype) if content else torch.empty((0,), dtype=dtype)


def _array(content: bytes) -> NDArray[Any]:
    number, rank = struct.unpack_from("<II", content)
    shape: Sequence[int] = struct.unpack_from(f"<{rank}I", content, 8)
    return _flat_array(content[8 + 4 * rank :], number).reshape(shape)


def _flat_array(content: bytes, number: int) -> NDArray[Any]:
    return np.frombuffer(content, _NUMPY[number]).copy()


_DECODERS: dict[str, Decode] = {
    "str": bytes.decode,
    "text": bytes.decode,
    "bool": lambda content: content[0] != 0,
    "int": lambda content: struct.unpack("<q", content)[0],
    "float": lambda content: struct.unpack("<d", content)[0],
    "image": _image,
    "jpeg": _image,
    "jpeg_array": partial(listed, begin=0, decode=_image),
    "pil": raw,
    "bytes": bytes,
    "file": bytes,
    "tensor": _tensor,
    "numpy": _array,
    "pickle": pickle.loads,
}
_OF_TYPE = {"no_header_tensor": _flat_tensor, "no_header_numpy": _flat_array}
