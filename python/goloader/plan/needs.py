"""Which behaviours of the installed libraries (goloader.selfcheck) a plan stands on, and what they tell the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..adapters import pillow
from ..selfcheck import differing, holds, value
from ..transforms import Geometry
from .refusal import Refusal, RefusalError, TransformRefusal
from .transforms.lowered import Lowered

DECODERS = ("pillow.decode.jpeg", "pillow.decode.png")
# Formats whose files go to Pillow where it decodes them otherwise, by Pillow's names for them.
_OTHERS = ("WEBP", "BMP", "GIF", "TIFF")
# Door 2 decides for each resize whether it is recorded.
RESIZES = tuple(f"pillow.resize.{name}" for name in ("lanczos", "bilinear", "bicubic", "box", "hamming"))
_GENERATOR = ("torch.generator", "torch.random")

# What Pillow has unless somebody sets it: a quarter GiB of RGB.
_MAX_PIXELS = 1024 * 1024 * 1024 // 4 // 3


@dataclass(frozen=True)
class Rules:
    """Which variants hold here.

    pass_order             of Pillow's resize
    fma                    torch's uniform_ rounds once, not twice
    correctly_rounded_exp  exp of a float32 is the nearest float32: true only where no torch has a say
    """

    pass_order: str
    fma: bool
    correctly_rounded_exp: bool


def require(stage: str, *names: str) -> None:
    """Raises RefusalError if a library in use behaves otherwise."""
    other = differing(*names)
    if other is not None:
        library, why = other
        raise RefusalError(stage, library, why, "BEHAVIOUR_UNKNOWN")


def require_class(each: Any) -> None:
    """The same for what an object of one of torchvision's known classes draws, and does with it."""
    api = "v2" if ".v2." in type(each).__module__ else "v1"
    require("transform", f"torchvision.{api}.{type(each).__name__}")


def steps_of(parts: Iterable[Lowered]) -> list[str]:
    """The behaviours that the steps of transforms stand for."""
    found: list[str] = []
    for lowered in parts:
        found += of_steps(lowered.steps)
        found += steps_of([] if lowered.target is None else [lowered.target.lowered])
    return list(dict.fromkeys(found))


def of_steps(steps: Sequence[Geometry]) -> list[str]:
    found = [name for step in steps for name in step.needs()]
    return found + list(_GENERATOR if any(step.random for step in steps) else ())


def rules(names: Iterable[str], *, torch: bool = True) -> Rules:
    """The variants of those behaviours among `names` that have some, all of which hold; without `torch` Pillow's alone.

    Raises RefusalError if Pillow's filters are not of one kind.
    """
    orders = {value(name) for name in set(names).intersection(RESIZES)} - {None}
    if len(orders) > 1:
        raise TransformRefusal("Pillow", "its filters resize in different orders", "BEHAVIOUR_UNKNOWN")
    # Where nothing is resized any order will do.
    order = orders.pop() if orders else "shrink_first"
    return Rules(order, fma=not torch or value("torch.uniform") is True, correctly_rounded_exp=not torch)


def max_pixels() -> int | None:
    """Pillow's limit as it is now: it warns of images above, which therefore go to it."""
    try:
        from PIL import Image
    except ImportError:
        return _MAX_PIXELS
    return None if Image.MAX_IMAGE_PIXELS is None else int(Image.MAX_IMAGE_PIXELS)


def check_pillow_plugins() -> Refusal | None:
    """Refuse if another package registered itself for the formats that the core decodes."""
    for name in ("JPEG", "PNG"):
        why = pillow.opens_as_shipped(name)
        if why is not None:
            return Refusal("source", "Pillow", why, "PILLOW_PLUGIN")
    return None


def decoders() -> list[str]:
    """The formats beside JPEG and PNG that the core decodes as the Pillow here does, as it is now."""
    return [
        name.lower()
        for name in _OTHERS
        if pillow.opens_as_shipped(name) is None
        and holds(f"pillow.decode.{name.lower()}")
        and (name != "WEBP" or pillow.libwebp() is not None)
    ]
