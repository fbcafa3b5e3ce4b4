"""What Pillow keeps private: where its libwebp is, and whether the function that opens a format is the original."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

# For each format the plugin's module; settings of it by which files get other modes; the decoders that it names, in
# whose place a program may register others.
_PLUGINS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "JPEG": ("PIL.JpegImagePlugin", {}, ()),
    "PNG": ("PIL.PngImagePlugin", {}, ()),
    "WEBP": ("PIL.WebPImagePlugin", {}, ("raw",)),
    "BMP": ("PIL.BmpImagePlugin", {"USE_RAW_ALPHA": False}, ("raw",)),
    "GIF": ("PIL.GifImagePlugin", {"LOADING_STRATEGY": 0}, ("gif",)),
    "TIFF": ("PIL.TiffImagePlugin", {"READ_LIBTIFF": False}, ("raw", "libtiff")),
}


def opens_as_shipped(name: str) -> str | None:
    """None if Pillow opens a format's files by its own means and settings; else why not."""
    image: Any = sys.modules.get("PIL.Image")
    opener = None if image is None else image.OPEN.get(name)
    if opener is None:  # not registered yet: Pillow does that when it first meets such a file
        return None
    module, settings, decoders = _PLUGINS[name]
    if opener[0].__module__.partition(".")[0] != "PIL":
        return f"{opener[0].__module__} is registered to open {name} files"
    plugin = sys.modules.get(module)
    changed = [f"{module}.{each}" for each, was in settings.items() if getattr(plugin, each, was) != was]
    changed += [f"PIL.Image.DECODERS[{each!r}]" for each in decoders if each in image.DECODERS]
    return f"{changed[0]} was changed" if changed else None


def libwebp() -> tuple[int, int, int] | None:
    """Addresses of WebPInitDecoderConfigInternal, WebPGetFeaturesInternal and WebPDecode.

    They are in the libwebp that Pillow decodes with; None if it has none, or none that can be seen from outside.
    """
    return _libwebp() if "PIL.Image" in sys.modules else None


@cache
def _libwebp() -> tuple[int, int, int] | None:
    try:
        from PIL import _webp

        # A library that is loaded already, and those it needs: the one that Pillow's own calls go to.
        library = ctypes.CDLL(_webp.__file__)
        functions = library.WebPInitDecoderConfigInternal, library.WebPGetFeaturesInternal, library.WebPDecode
        init_config, get_features, decode = (ctypes.cast(each, ctypes.c_void_p).value for each in functions)
    except (ImportError, AttributeError, OSError):
        return None
    return (init_config, get_features, decode) if init_config and get_features and decode else None
