"""The functions of other libraries behind which stand-ins are made and met, one file a library.

Each hook is of one function, and stands where that function, and all that it calls, is as the library ships it and
takes the arguments that the hook knows. Otherwise that function is left alone: users' own functions run as ever, and
get real images where nothing opened a stand-in for them. A library that the program has not imported is not imported
for this.

Hooks are installed while somebody holds them: around each batch that is recorded. A hook looks first whether its thread
records; to others it costs about 0.2 us a call.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from ....adapters.python import Standing
from ....plan.refusal import Refusal
from ....plan.trust.calls import Calls, calls_of_all
from .. import switch
from ..opens import OPENERS
from .front import Front, Fronts
from .swap import Hook, LeftAloneError, Swap

# Whose import says that the program uses a library -> the file here. First what others use.
_LIBRARIES = {
    "torch": "torch",
    "numpy": "numpy",
    "PIL.Image": "pillow",
    "torchvision.transforms.functional": "torchvision_v1",
    "torchvision.transforms.v2": "torchvision_v2",
    "cv2": "opencv",
    "albucore": "albucore",
    "albumentations": "albumentations",
    "imageio.v3": "imageio",
    "skimage.io._plugins.imageio_plugin": "skimage",
    "skimage.transform._warps": "skimage_resize",
    "matplotlib.image": "matplotlib",
    "webdataset.tariterators": "webdataset",
}


class _Hooks:
    """The hooks of all libraries in use."""

    def __init__(self) -> None:
        self.left_alone: dict[str, str] = {}
        self.fronts: dict[str, Front] = {}
        self.of_modules: tuple[Fronts, ...] = ()
        self.swaps: dict[str, Swap] = {}
        self._parts: dict[str, ModuleType] = {}
        self._hooks: list[Hook] = []
        self._made: dict[str, Swap] = {}
        self._calls: Calls | None = None
        self._replaced = False

    def look(self, again: bool = False) -> None:
        """Sees to it that those hooks stand that may.

        That is looked at once, and anew where somebody replaced something, or a library was imported since.

        again  those that were left alone are looked at once more
        """
        new = [module for module in _LIBRARIES if module in sys.modules and module not in self._parts]
        if not new and not (again and self.left_alone) and self._calls is not None and not self._calls.look():
            return
        for module in new:
            self._add(module)
        # One look at all that any of them calls is cheaper than one for each, while nothing is replaced.
        self._replaced = self._replaced or bool(_calls(self._hooks).look())
        known = None if self._replaced else ""
        standing = [hook for hook in self._hooks if self._stands(hook, known)]
        self.swaps = {hook.text: self._made[hook.text] for hook in standing}
        for part in self._parts.values():
            if hasattr(part, "settle"):
                part.settle(self.swaps)
        self._calls = _calls(standing if self._replaced else self._hooks)

    def _add(self, module: str) -> None:
        try:
            part = self._parts[module] = import_module(f".{_LIBRARIES[module]}", __name__)
            self._hooks += part.hooks() if hasattr(part, "hooks") else ()  # a builtin has a front
            fronts = part.fronts() if hasattr(part, "fronts") else ()
        except (AttributeError, ImportError) as error:  # they name something that other versions do not have
            self._parts[module] = ModuleType(module)
            self.left_alone[module] = f"this version is another than those known: {error}"
            return
        for owner, name, make in fronts:
            text = f"{owner.__name__}.{name}"
            try:
                self.fronts[text] = Front(owner, name, make)
            except LeftAloneError as why:
                self.left_alone[text] = str(why)
        modules = dict.fromkeys(id(each.module) for each in self.fronts.values())
        self.of_modules = tuple(
            Fronts(each for each in self.fronts.values() if id(each.module) == module) for module in modules
        )

    def _stands(self, hook: Hook, replaced: str | None) -> bool:
        """`replaced`: as Calls.look() says it; None if that is to be asked."""
        try:
            replaced = hook.calls.look() if replaced is None else replaced
            if replaced:
                raise LeftAloneError(f"{replaced} was replaced")
            if hook.text not in self._made:
                self._made[hook.text] = Swap(hook)
        except LeftAloneError as why:
            self.left_alone[hook.text] = str(why)
            return False
        self.left_alone.pop(hook.text, None)
        return True


def _calls(hooks: Iterable[Hook]) -> Calls:
    """All that any of their functions calls."""
    return calls_of_all((((hook.owner, hook.name),), hook.classes, hook.names) for hook in hooks)


_hooks = _Hooks()
_installed = Standing()


def refusal() -> Refusal | None:
    """Why nothing can be recorded here; None if some image can."""
    _installed.unless_held(lambda: _hooks.look(again=True))
    if OPENERS.isdisjoint({*_hooks.swaps, *_hooks.fronts}):
        left = ((name, why) for name, why in _hooks.left_alone.items() if name in OPENERS or name in _LIBRARIES)
        name, why = next(left, ("images", "nothing has imported what opens them"))
        return Refusal("trace", name, why, "FUNCTION_REPLACED")
    return None


def left_alone() -> dict[str, str]:
    """The functions that have no hook though one is known, and why; so what they make is not recorded."""
    return dict(_hooks.left_alone)


def _found() -> Iterable[Swap]:
    _hooks.look()
    switch.fronts = _hooks.of_modules
    return _hooks.swaps.values()


def hold() -> None:
    """Installs the hooks of all libraries in use, until as many releases as holds were called: all, or none."""
    _installed.hold(_found)


release = _installed.release


@contextmanager
def held() -> Iterator[None]:
    """Within it, the hooks are installed."""
    hold()
    try:
        yield
    finally:
        release()
