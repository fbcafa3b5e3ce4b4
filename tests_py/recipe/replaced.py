"""Run by test_replaced.py: loads images while functions of libraries are replaced, each case in a process of its own.

python replaced.py FOLDER < cases as JSON > results as JSON. A case is (loader, target, way, when, kind, num_workers).
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import os
import random
import sys
import types
import unittest.mock
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision.datasets
from PIL import Image, ImageOps
from torchvision import transforms as T
from torchvision.transforms import _functional_pil as F_pil
from torchvision.transforms import functional as F

TARGETS: dict[str, tuple[Any, str]] = {
    "Image.open": (Image, "open"),
    "exif_transpose": (ImageOps, "exif_transpose"),
    "hflip": (F, "hflip"),
    "resized_crop": (F, "resized_crop"),
    "F_pil.crop": (F_pil, "crop"),
    "Image.convert": (Image.Image, "convert"),
}
OTHERS = {"exif_transpose": ImageOps.mirror, "hflip": F.vflip, "F_pil.crop": F_pil.pad}


def changed(made: Any) -> Any:
    """Of an image, another one."""
    return made.transpose(Image.Transpose.ROTATE_180) if isinstance(made, Image.Image) else made


kept: Any = None  # the function of the library, as a replacement calls it


def _wrapping(function: Any, *arguments: Any, **options: Any) -> Any:
    return changed(function(*arguments, **options))


class _Callable:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return changed(self.function(*arguments, **options))


def as_def(original: Any) -> Any:
    def replacement(*arguments: Any, **options: Any) -> Any:
        return changed(kept(*arguments, **options))

    return replacement


def as_closure(original: Any) -> Any:
    def replacement(*arguments: Any, **options: Any) -> Any:
        return changed(original(*arguments, **options))

    return replacement


def as_wraps(original: Any) -> Any:
    return functools.wraps(original)(as_closure(original))


def as_lambda(original: Any) -> Any:
    return lambda *arguments, **options: changed(original(*arguments, **options))


def as_partial(original: Any) -> Any:
    return functools.partial(_wrapping, original)


def as_mock(original: Any) -> Any:
    return unittest.mock.Mock(side_effect=as_closure(original))


MADE: dict[str, Callable[[Any], Any]] = {
    "def": as_def,
    "closure": as_closure,
    "wraps": as_wraps,
    "lambda": as_lambda,
    "partial": as_partial,
    "object": _Callable,
    "Mock": as_mock,
}
WAYS = (*MADE, "other", "code", "defaults")


def replace(target: str, way: str) -> None:
    global kept
    owner, name = TARGETS[target]
    original = vars(owner)[name]
    kept = types.FunctionType(
        original.__code__, original.__globals__, name, original.__defaults__, original.__closure__
    )
    kept.__kwdefaults__ = original.__kwdefaults__
    if way in MADE:
        setattr(owner, name, MADE[way](kept if way == "def" else original))
    elif way == "other":
        setattr(owner, name, OTHERS.get(target, kept))
    elif way == "code":
        scope: dict[str, Any] = {}
        text = "return __main__.changed(__main__.kept(*given, **named))"
        exec(f"def code(*given, **named):\n import __main__\n {text}", scope)
        original.__code__ = scope["code"].__code__
    else:
        defaults = {"Image.open": ("r", ["PNG"]), "resized_crop": (T.InterpolationMode.NEAREST, True)}
        original.__defaults__ = defaults.get(target, original.__defaults__)
        if original.__kwdefaults__:
            original.__kwdefaults__ = dict.fromkeys(original.__kwdefaults__, True)


class Compiled(torch.utils.data.Dataset[Any]):
    """A class that door 1 reads from its bytecode."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.transform = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        return self.transform(image), index


class Recorded(Compiled):
    """One that is recorded."""

    def __getitem__(self, index: int) -> Any:
        image = ImageOps.exif_transpose(Image.open(self.paths[index])).convert("RGB")
        if random.random() < 0.5:
            image = F.hflip(image)
        image = F.resized_crop(image, 1, 2, 30, 28, [24, 24])
        return F.to_tensor(image), index


def dataset_of(kind: str, folder: str) -> Any:
    paths = sorted(str(path) for path in Path(folder).rglob("*.jpg"))
    if kind == "folder":
        return torchvision.datasets.ImageFolder(folder, Compiled([]).transform)
    return {"compiled": Compiled, "recorded": Recorded}[kind](paths)


def told(load: Callable[[], Any]) -> Any:
    """A digest of what is loaded, or the error."""
    try:
        batch = load()
    except StopIteration:
        raise
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[-1:]
    return [hashlib.sha1(each.numpy().tobytes()).hexdigest() for each in batch]


def epoch(loader: Any, at: dict[int, Callable[[], None]]) -> Iterator[Any]:
    iterator = iter(loader)
    for number in range(100):
        at.get(number, lambda: None)()
        try:
            yield told(lambda: next(iterator))
        except StopIteration:
            return


def run(loader: str, target: str, way: str, when: str, kind: str, workers: int, folder: str) -> Any:
    warnings.simplefilter("ignore")
    torch.manual_seed(3)
    random.seed(4)
    np.random.seed(5)
    change = functools.partial(replace, target, way)
    if when == "before":
        change()
    if loader == "goloader":
        from goloader import DataLoader
    else:
        from torch.utils.data import DataLoader  # type: ignore[assignment]
    made: Any = DataLoader(dataset_of(kind, folder), batch_size=4, shuffle=True, num_workers=workers)
    if when == "made":
        change()
    results = [list(epoch(made, {2: change} if when == "within" else {}))]
    if when == "epochs":
        change()
    stands = [vars(owner)[name] for owner, name in TARGETS.values()]
    codes = [getattr(each, "__code__", None) for each in stands]
    results.append(list(epoch(made, {})))
    results.append([torch.rand(1).item(), random.random(), float(np.random.random())])
    if loader == "goloader":
        now = [vars(owner)[name] for owner, name in TARGETS.values()]
        assert all(one is other for one, other in zip(now, stands, strict=True)), "a function was left replaced"
        assert codes == [getattr(each, "__code__", None) for each in now], "code was left exchanged"
        hooks, switch = (sys.modules.get(f"goloader.doors.recipe.{name}") for name in ("hooks", "switch"))
        assert hooks is None or not hooks._installed.parts, "hooks are left"
        assert switch is None or not switch._standing.parts, "builtins are left replaced"
    return results


def main() -> None:
    folder = sys.argv[1]
    results = []
    # A child that ends looks through all objects that may be in cycles, and copies the memory they are in.
    gc.collect()
    gc.freeze()
    for case in json.load(sys.stdin):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            try:
                result = run(*case, folder)
            except BaseException as error:
                result = f"{type(error).__name__}: {error}"
            with os.fdopen(write, "w") as out:
                json.dump(result, out)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as into:
            results.append(json.load(into))
        os.waitpid(child, 0)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
