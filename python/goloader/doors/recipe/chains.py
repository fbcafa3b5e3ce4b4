"""Containers of torchvision's transforms that meet a stand-in for an image.

A transform takes 50 to 100 us of Python until what it does is recorded. Of those that plan.transforms knows, the core
draws what they do, all that stand in a row in one call, with torch's own generator: 20 us.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from operator import is_
from typing import Any

import torch

from ..._core import Augmentation, Drawn
from ..._errors import CoreError
from ..._native import Library
from ..._steps import are_moves
from ...plan.refusal import RefusalError
from ...plan.transforms.torchvision import Run, Tail, check_defaults, runs
from ...plan.trust.calls import calls_of
from ...plan.trust.watch import State
from ...state.generators import Twin
from . import switch
from .recipe import Size
from .session import Session
from .stand_ins.image import StandInImage, derive, gives_its_like, is_plain, is_sure, recipe_of
from .stand_ins.tensor import made_of
from .stand_ins.value import of_image

__all__ = ["Chain", "call"]

_CHAINS_MAX = 64  # of a loader that are kept
_SIZES_MAX = 256  # of images
_keys: dict[Hashable, int] = {}


def call(kind: type, original: Any, container: Any, *images: Any) -> Any:
    """What a container makes of what it is called with.

    kind      of containers that are known
    original  their method that calls the transforms one after the other
    """
    session = switch.current()
    recorder = None if session is None else session.recorder
    if (
        session is None
        or recorder is None
        or len(images) != 1
        or type(images[0]) is not StandInImage
        or type(container) is not kind
    ):
        return original(container, *images)
    (image,) = images
    place = id(container), image.mode
    chain = recorder.chains.get(place)
    if chain is None or not chain.stands(container, session):
        with switch.off():
            library = recorder.library() if is_plain(image, 0) else None
            if library is None:
                chain = None
            else:
                if len(recorder.chains) >= _CHAINS_MAX:
                    recorder.chains.clear()
                chain = recorder.chains[place] = Chain(container, image.mode, library)
    return original(container, image) if chain is None else chain.call(original, image)


class Chain:
    """What a container does to images of a mode, while it and its transforms that are known stay as they are."""

    def __init__(self, container: Any, mode: str, library: Library) -> None:
        self._container, self._transforms = container, container.transforms
        self._items: tuple[Any, ...] = ()
        # Each with a container of its own, which calls just these.
        self._parts: list[tuple[Any, Callable[[StandInImage], Any] | None]] = []
        if type(self._transforms) is not list:
            return
        self._items = (*self._transforms,)
        try:
            check_defaults()
        except RefusalError:
            return
        parts = runs(self._items, 3 if mode == "RGB" else 1)
        known = [each for part in parts if not isinstance(part, list) for each in part.given]
        self._state = State((None, *known))
        self._state.calls = calls_of(())  # those are the hook's
        for part in parts if self._state.is_known else ():
            own = copy.copy(container)
            own.transforms = [*(part if isinstance(part, list) else part.given)]
            self._parts.append((own, _recorder(part, library)))
        if all(record is None for _, record in self._parts):
            self._parts = []

    def stands(self, container: Any, session: Session) -> bool:
        """Whether it is still what that does. Classes and settings of libraries are looked at once a batch."""
        transforms = container.transforms
        if container is not self._container or transforms is not self._transforms:
            return False
        if not self._parts:
            return type(transforms) is not list or len(transforms) == len(self._items)
        if len(transforms) != len(self._items) or not all(map(is_, transforms, self._items)):
            return False
        if self in session.checked:
            return self._state.holds()
        session.checked.add(self)
        return self._state.stands()

    def call(self, original: Any, image: Any) -> Any:
        """What the container makes of an image."""
        if not self._parts:
            return original(self._container, image)
        for own, record in self._parts:
            made = None if record is None or type(image) is not StandInImage else record(image)
            image = original(own, image) if made is None else made
        return image


def _recorder(part: Run | Tail | list[Any], library: Library) -> Callable[[StandInImage], Any] | None:
    """What records a part of a container, or gives None for what it cannot record; None if that would be all."""
    try:
        if isinstance(part, Run):
            return _Steps(part, library).record
        return None if isinstance(part, list) else _Made(part).record
    except (RefusalError, CoreError):
        return None


class _Made:
    """A tensor that transforms make of an image."""

    def __init__(self, part: Tail) -> None:
        # Of the key alone the hash takes as long as the rest.
        self._key = "transforms", _keys.setdefault(part.key, len(_keys))
        self._transforms = copy.deepcopy(part.given)

    def record(self, image: StandInImage) -> Any:
        if not is_plain(image, 0):
            return None
        dims = "chw" if image.mode == "RGB" else "_hw"
        return made_of(of_image(recipe_of(image), self._key, self._run, dims))

    def _run(self, image: Any) -> Any:
        return _each(self._transforms, image)


class _Steps:
    """Steps that transforms make of an image and of torch's random numbers."""

    def __init__(self, part: Run, library: Library) -> None:
        self._core = Augmentation(part.to_json(), library)
        self._random = any(step.random for step in part.steps)
        self._transforms = copy.deepcopy(part.given)
        self._before, self._after = ("RGB" if channels == 3 else "L" for channels in part.channels)
        # By the size of images, where nothing is random.
        self._known: dict[Size, Drawn | None] = {}
        self._twin = Twin()

    def record(self, image: StandInImage) -> Any:
        if image.mode != self._before or not is_plain(image, 0) or not is_sure(image):
            return None
        state, drawn = self._drawn(image) if self._random else (None, self._fixed(image.size))
        if drawn is None or not is_plain(image, len(drawn.steps)):
            return None
        again = _moved if are_moves(drawn.steps) else _again
        return derive(image, again, (self._transforms, state), drawn.steps, drawn.size, self._after)

    def _fixed(self, size: Size) -> Drawn | None:
        if size not in self._known:
            if len(self._known) >= _SIZES_MAX:
                self._known.clear()
            drawn = self._core.draw(*size, None)
            # Where there is nothing to do, torchvision may give the image itself, or a copy.
            self._known[size] = drawn if drawn is not None and drawn.steps else None
        return self._known[size]

    def _drawn(self, image: StandInImage) -> tuple[Any, Drawn | None]:
        """What is drawn, and the state of torch's generator that it follows; None before anything is drawn."""
        state, taken = torch.default_generator.get_state(), 0
        while True:
            drawn = self._core.draw(*image.size, state.data_ptr())
            if drawn is None or not drawn.steps or not is_plain(image, len(drawn.steps)):
                return state, None
            count = len(drawn.words) // 4
            if count <= taken:
                return state, drawn
            follow = self._twin.take(state, count, drawn.words)
            if follow is state:
                return state, drawn
            state, taken = follow, count  # another thread has drawn meanwhile


def _again(image: Any, transforms: tuple[Any, ...], state: torch.Tensor | None) -> Any:
    """What transforms make of an image, with torch's generator as it was."""
    if state is None:
        return _each(transforms, image)
    generator = torch.default_generator
    now = generator.get_state()
    try:
        generator.set_state(state)
        return _each(transforms, image)
    finally:
        generator.set_state(now)


@gives_its_like
def _moved(image: Any, transforms: tuple[Any, ...], state: torch.Tensor | None) -> Any:
    """The same where they only move pixels."""
    return _again(image, transforms, state)


def _each(transforms: tuple[Any, ...], image: Any) -> Any:
    for transform in transforms:
        image = transform(image)
    return image
