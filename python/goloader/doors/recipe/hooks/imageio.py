"""imageio: its plugin that reads by Pillow, in which scikit-image's imread ends as well."""

from __future__ import annotations

from typing import Any

import numpy as np
from imageio.plugins.pillow import PillowPlugin

from .. import switch
from ..stand_ins.image import StandInImage
from .swap import Hook

_FORMATS = ("JPEG", "PNG")


def hooks() -> tuple[Hook, ...]:
    if not switch.holds("imageio.read.v2", "imageio.read.v3"):
        return ()
    return Hook(PillowPlugin, "read", _read), Hook(PillowPlugin, "close", _close)


def _read(original: Any, self: Any, *, index: Any, writeable_output: Any, **others: Any) -> Any:
    image = vars(self).get("_image")
    plain = index in (None, 0) and writeable_output is True and not any(others.values())
    if switch.current() is None or type(image) is not StandInImage or not plain or image.mode not in ("RGB", "L"):
        return original(self, index=index, writeable_output=writeable_output, **others)
    if image.format not in _FORMATS or image.custom_mimetype == "image/apng":
        return original(self, index=index, writeable_output=writeable_output, **others)
    self.metadata(index=0, exclude_applied=False)  # which raises what is wrong with an EXIF header
    return np.array(image)


def _close(original: Any, self: Any) -> None:
    image = vars(self).get("_image")
    if switch.current() is None or type(image) is not StandInImage:
        original(self)
        return
    self._image = None  # its file is closed all the same
    try:
        original(self)
    finally:
        self._image = image
