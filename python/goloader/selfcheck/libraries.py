"""What a result depends on besides the tables: the library's files, the processor, and settings that choose kernels."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._native import LIBRARY

# How people call them, by the first part of a behaviour's name.
NAMES = {
    "pillow": "Pillow", "torch": "torch", "torchvision": "torchvision", "opencv": "OpenCV", "scipy": "SciPy",
    "soundfile": "soundfile", "numpy": "numpy", "imageio": "imageio", "skimage": "scikit-image",
    "matplotlib": "matplotlib",
}  # fmt: skip
_MODULES = {name: name for name in NAMES} | {"pillow": "PIL", "opencv": "cv2"}
# Of each those with behaviours.
_TRIED = (
    "PIL.Image", "torch", "torchvision.transforms.v2", "torchvision.io", "cv2", "scipy.io.wavfile", "soundfile",
    "imageio.v2", "imageio.v3", "skimage.io", "skimage.transform._warps", "matplotlib.image",
)  # fmt: skip
# Whose transforms or readers call others.
_CALLED = {"torchvision": ("torch", "pillow"), "imageio": ("pillow",), "matplotlib": ("pillow",),
           "skimage": ("imageio", "pillow", "scipy", "numpy")}  # fmt: skip
# Of libraries of which a few files of Python's matter.
_SOURCES = {
    "scipy": ("version.py", "io/wavfile.py", "ndimage/*.py", "ndimage/*.so"),
    "imageio": ("v2.py", "v3.py", "config/*.py", "core/*.py", "plugins/pillow.py"),
    "skimage": ("_shared/utils.py", "io/*.py", "io/_plugins/*.py", "transform/_warps.py", "util/dtype.py"),
    "matplotlib": ("image.py", "pyplot.py"),
}
_ABOUT_PROCESSORS = ("flags", "Features", "model")  # lines of /proc/cpuinfo
_CODECS = ("libjpeg", "libz", "libwebp", "libtiff")  # that Pillow decodes with
# Settings by which users choose other kernels.
_SETTINGS = ("ATEN_", "DNNL_", "MKL_", "ONEDNN_", "OPENCV_")


def imported() -> list[str]:
    """Imports all that is installed: of which behaviours can be tried."""
    for module in _TRIED:
        with suppress(Exception):  # whatever is wrong with it, it is not there
            import_module(module)
    return [library for library in NAMES if _is_there(library)]


def version(library: str) -> str:
    """Its name and version, for a person."""
    return f"{NAMES[library]} {getattr(sys.modules.get(_MODULES[library]), '__version__', '')}".rstrip()


def stamp(library: str) -> str:
    """What remembered results of an imported library are kept under; another one where anything differs."""
    return f"{library} {_tables():08x} {_processor():08x} {_stamp(library)}"


def core() -> str:
    """The same of goloader's own library."""
    return f"{_processor():08x} {_about(str(LIBRARY))}"


@cache
def _stamp(library: str) -> str:
    folder = os.path.dirname(_file(library))
    files = sorted(set(_files(library, folder)))
    about = ((path, *_about(path)) for path in files)
    rest = "".join(f" {_stamp(each)}" for each in _CALLED.get(library, ()) if _file(each))
    return f"{folder} {zlib.crc32(repr(list(about)).encode()):08x}{rest}"


def _is_there(library: str) -> bool:
    return _MODULES[library] in sys.modules


def _file(library: str) -> str:
    """Where it is installed, also before others import it; "" if it is not."""
    name = _MODULES[library]
    if name in sys.modules:
        return str(sys.modules[name].__file__)
    with suppress(ImportError, ValueError):
        spec = find_spec(name)
        return "" if spec is None else str(spec.origin)
    return ""


def _files(library: str, folder: str) -> Iterator[str]:
    yield _file(library)
    if library == "pillow":
        yield str(getattr(sys.modules.get("PIL._imaging"), "__file__", ""))
        yield from _decoders(os.path.dirname(folder))
    elif library == "torch":
        yield from (os.path.join(folder, *part) for part in (("version.py",), ("lib", "libtorch_cpu.so")))
    elif library == "torchvision":
        yield os.path.join(folder, "version.py")
        yield from map(str, Path(folder).glob("*.so"))
        yield from map(str, Path(folder, "transforms").glob("**/*.py"))
    elif library in _SOURCES:
        yield from (str(path) for pattern in _SOURCES[library] for path in Path(folder).glob(pattern))
    elif library == "soundfile":
        yield str(getattr(sys.modules["soundfile"], "_full_path", ""))  # of libsndfile
    else:
        yield from map(str, Path(folder).glob("*.so"))


def _decoders(packages: str) -> Iterator[str]:
    """The system's libraries that Pillow decodes with, if it did not bring its own: they are replaced without it."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.rpartition(" ")[2].strip() for line in maps if any(map(line.__contains__, _CODECS))}
    except OSError:
        return
    yield from (path for path in paths if not path.startswith(packages))


def _about(path: str) -> tuple[Any, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns


@cache
def _tables() -> int:
    """Digest of the tables and their pictures: other tables, other answers."""
    crc, folder = 0, Path(__file__).parent
    for path in sorted((*folder.glob("*.py"), *folder.glob("pictures/*/*"))):
        crc = zlib.crc32(path.read_bytes(), crc)
    return crc


@cache
def _processor() -> int:
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file.read(1 << 14).splitlines() if line.startswith(_ABOUT_PROCESSORS)]
    except OSError:
        lines = []
    settings = sorted(item for item in os.environ.items() if item[0].startswith(_SETTINGS))
    return zlib.crc32(repr((sorted(set(lines)), settings, os.uname().machine)).encode())
