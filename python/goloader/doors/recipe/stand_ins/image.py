"""The stand-in for a PIL image: records what the core can do, becomes the image at anything else.

Becoming real is a change of class: the object that the user's code holds is from then on what Pillow itself would have
given it, so that nothing has to be forwarded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from .... import _pillow_steps, _steps
from .. import switch
from ..guarded import guarded
from ..recipe import PILLOW, STEPS_MAX, Decoded, Recipe, Source
from ..session import Session, TroubleError
from .value import Value, by_core, bytes_of_image

__all__ = ["StandInImage", "become_real", "is_made", "is_movable", "is_plain", "prepare", "stand_in"]

# What an image that was opened and not decoded yet tells from its header. Asking does not make it real.
_HEADER_ATTRIBUTES = {
    "app", "applist", "bits", "custom_mimetype", "encoderinfo", "filename", "getexif", "get_format_mimetype", "getxmp",
    "icclist", "info", "is_animated", "layer", "layers", "n_frames", "tell", "text",
}  # fmt: skip

# Methods that are Pillow's own: they need no pixels, or copy, transpose or transform.
_OWN = ("getbands", "rotate")

_base = Image.Image
_SIDE_MAX = 1 << 20


class StandInImage(Image.Image):
    """An image that nobody has made yet. See Recipe; made by stand_in."""

    def __init__(self) -> None:
        raise TypeError("stand-ins are made by goloader.doors.recipe")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Pillow's class of a file of that format, which isinstance() asks for."""
        if not _is_fresh(self):
            return Image.Image
        kind = self.__dict__["_recipe"].source.kind
        if kind is None:
            return type(_peer(self))
        Image.preinit()  # as Image.open does first: which plugins there are, and in which order, is Pillow's to say
        return getattr(sys.modules[f"PIL.{kind.removesuffix('File')}Plugin"], kind)

    @property
    def format(self) -> str | None:  # type: ignore[override]
        """Pillow's name of the file's format; None for what was made from one."""
        return _peer(self).format if _is_fresh(self) else None

    @property
    def format_description(self) -> str | None:  # type: ignore[override]
        return _peer(self).format_description if _is_fresh(self) else None

    def __getattr__(self, name: str) -> Any:
        if (name.startswith("__") and name.endswith("__")) or "_recipe" not in self.__dict__:
            raise AttributeError(name)
        if name in _HEADER_ATTRIBUTES and _is_fresh(self):
            peer = _peer(self)
            if self.__dict__["_loaded"] and peer.format != "JPEG":  # other files may say more behind their pixels
                peer.load()
            return getattr(peer, name)
        become_real(self, f"Image.{name}")
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        become_real(self, f"Image.{name} = ...")
        setattr(self, name, value)

    def __delattr__(self, name: str) -> None:
        become_real(self, f"del Image.{name}")
        delattr(self, name)

    def __eq__(self, other: object) -> bool:
        become_real(self, "Image.__eq__")
        if type(other) is StandInImage:
            become_real(other, "Image.__eq__")
        return bool(self == other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        become_real(self, "Image.__reduce_ex__")
        return self.__reduce_ex__(protocol)

    @property
    def __array_interface__(self) -> Any:
        become_real(self, "Image.__array_interface__")
        return self.__array_interface__

    def __enter__(self) -> StandInImage:
        return self

    def __exit__(self, *arguments: object) -> None:
        if _is_fresh(self) and not self.__dict__["_loaded"]:
            # Pillow's image is of no use behind its with block if nothing made it load.
            become_real(self, "Image.__exit__")
        if type(self) is not StandInImage:  # since the block began, perhaps
            self.__exit__(*arguments)

    def close(self) -> None:
        become_real(self, "Image.close", note=not _is_fresh(self))
        self.close()

    def load(self) -> Any:
        _begin(self)
        return _Pixels(self)

    def copy(self) -> Any:
        made = _begin(self)
        if made is not None:
            return derive(made, _base.copy, (), (), made.size, made.mode)
        become_real(self, "Image.copy")
        return self.copy()

    __copy__ = copy

    def convert(
        self,
        mode: str | None = None,
        matrix: Any = None,
        dither: Any = None,
        palette: Any = Image.Palette.WEB,
        colors: int = 256,
    ) -> Any:
        made = _begin(self)
        arguments = (mode, matrix, dither, palette, colors)
        if made is not None and mode in ("RGB", "L") and not matrix:
            if mode == made.mode:
                return derive(made, _base.convert, arguments, (), made.size, mode)
            if made.mode in ("RGB", "L"):
                steps = (_steps.grayscale(3 if mode == "RGB" else 1),)
                if len(made.steps) < STEPS_MAX:
                    return derive(made, _base.convert, arguments, steps, made.size, mode)
            elif mode == "RGB" and not made.steps:  # as the core's decoders give it
                return derive(made, _base.convert, arguments, (), made.size, mode)
        if made is not None and mode == "YCbCr" and not matrix and _records(made):
            return derive(made, _base.convert, arguments, (_steps.TO_YCBCR,), made.size, mode)
        become_real(self, f"Image.convert from {self.mode} to {mode}")
        return self.convert(*arguments)

    def resize(self, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None) -> Any:
        made = _begin(self)
        number = Image.Resampling.BICUBIC if resample is None else resample
        plain = box is None and reducing_gap is None and isinstance(number, int) and 0 <= number <= 5
        if made is not None and plain and _moves(made):
            if made.mode == "P":
                number = Image.Resampling.NEAREST  # Pillow takes no other
            pair = tuple(size) if isinstance(size, (tuple, list)) else ()
            if len(pair) == 2 and all(type(side) is int and 0 < side < _SIDE_MAX for side in pair):
                steps = () if pair == made.size else (_steps.resize(*pair, int(number)),)
                return derive(made, _base.resize, (pair, resample), steps, pair, made.mode)
        become_real(self, "Image.resize")
        return self.resize(size, resample, box, reducing_gap)

    def crop(self, box: Any = None) -> Any:
        made = _begin(self)
        window = _window(box, self.size)
        if made is not None and window is not None and _moves(made, 2):
            steps = () if window == (0, 0, *made.size) else _crop_steps(window, made.size)
            if steps is not None:
                return derive(made, _base.crop, (box,), steps, window[2:], made.mode)
        become_real(self, "Image.crop")
        return self.crop(box)

    def transpose(self, method: Any) -> Any:
        made = _begin(self)
        if made is not None and _moves(made, 3) and isinstance(method, int) and int(method) in _pillow_steps.TRANSPOSES:
            steps, turns = _pillow_steps.TRANSPOSES[int(method)]
            size = made.size[::-1] if turns else made.size
            return derive(made, _base.transpose, (method,), steps, size, made.mode)
        become_real(self, "Image.transpose")
        return self.transpose(method)

    def point(self, lut: Any, mode: str | None = None) -> Any:
        made = _begin(self)
        if made is not None and _records(made) and mode in (None, made.mode):
            if callable(lut) and not isinstance(lut, Image.ImagePointHandler):
                lut = [lut(i) for i in range(256)] * len(self.getbands())  # as Pillow calls it
            table = _pillow_steps.table_of(made.mode, lut)
            if table is not None:
                steps = (_steps.lookup(table),)
                return derive(made, _base.point, (lut, mode), steps, made.size, made.mode)
        become_real(self, "Image.point")
        return self.point(lut, mode)

    def filter(self, filter: Any) -> Any:
        made = _begin(self)
        if made is not None and _records(made):
            found = _pillow_steps.filter_of(filter)
            if found is not None:
                chosen, steps = found
                return derive(made, _base.filter, (chosen,), steps, made.size, made.mode)
        become_real(self, "Image.filter")
        return self.filter(filter)

    def split(self) -> Any:
        made = _begin(self)
        bands = self.getbands()
        if made is not None and _has_channels(made):
            return tuple(_channel(made, bands, number) for number in range(len(bands)))
        become_real(self, "Image.split")
        return self.split()

    def getchannel(self, channel: Any) -> Any:
        made = _begin(self)
        bands = self.getbands()
        number = bands.index(channel) if type(channel) is str and channel in bands else channel
        if made is not None and type(number) is int and 0 <= number < len(bands) and _has_channels(made):
            return _channel(made, bands, number)
        become_real(self, "Image.getchannel")
        return self.getchannel(channel)

    def transform(
        self,
        size: Any,
        method: Any,
        data: Any = None,
        resample: int = Image.Resampling.NEAREST,
        fill: int = 1,
        fillcolor: Any = None,
    ) -> Any:
        made = _begin(self)
        if made is not None and _records(made):
            step = _pillow_steps.transform_of(made.mode, size, method, data, resample, fillcolor)
            if step is not None:
                arguments = (tuple(size), method, tuple(data), resample, fill, fillcolor)
                return derive(made, _base.transform, arguments, (step,), tuple(size), made.mode)
        become_real(self, "Image.transform")
        return self.transform(size, method, data, resample, fill, fillcolor)


def _becoming(name: str) -> Callable[..., Any]:
    def method(self: StandInImage, *arguments: Any, **options: Any) -> Any:
        if name in _HEADER_ATTRIBUTES and _is_fresh(self):
            return getattr(_peer(self), name)(*arguments, **options)
        become_real(self, f"Image.{name}")
        return getattr(self, name)(*arguments, **options)

    method.__name__ = name
    return method


# Every other method of Pillow's image needs its pixels, or changes it.
for _name, _value in list(vars(Image.Image).items()):
    if callable(_value) and _name not in _OWN and _name not in vars(StandInImage):
        setattr(StandInImage, _name, _becoming(_name))


class _Pixels:
    """What load() gives: the image becomes real at the first pixel that is looked at."""

    def __init__(self, image: StandInImage) -> None:
        self._image: Any = image

    def _access(self) -> Any:
        if type(self._image) is StandInImage:
            become_real(self._image, "a pixel")
        return self._image.load()

    def __getitem__(self, place: Any) -> Any:
        return self._access()[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._access()[place] = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._access(), name)


# Where an image keeps its mode: Pillow before 10.1 has no property for it.
_MODE = "_mode" if isinstance(vars(Image.Image).get("mode"), property) else "mode"


def stand_in(made: Recipe, session: Session) -> StandInImage:
    image = object.__new__(StandInImage)
    image.__dict__.update(_recipe=made, _size=made.size, _session=session, _loaded=made.before is not None)
    image.__dict__[_MODE] = made.mode
    session.register(image)
    return image


def opened(source: Source, session: Session) -> StandInImage:
    """The stand-in for a file that was opened."""
    return stand_in(Recipe.of(source), session)


def decoded(image: Image.Image, session: Session) -> StandInImage:
    """The stand-in for an image of mode RGB or L that Pillow has made of a file, and that nobody else refers to."""
    made = Recipe.of(Decoded(image)).then(lambda whole: whole, (), (), image.size, image.mode)
    made.give(image)
    return stand_in(made, session)


def is_plain(image: Any, steps: int = 1) -> bool:
    """True for a stand-in to which as many more steps can be recorded."""
    return type(image) is StandInImage and _records(image.__dict__["_recipe"], steps)


def is_movable(image: Any, steps: int = 1) -> bool:
    """True for a stand-in to which as many steps can be recorded that only move its bytes: also of palette indices."""
    return type(image) is StandInImage and _moves(image.__dict__["_recipe"], steps)


def is_sure(image: StandInImage) -> bool:
    """Whether decoding it raises nothing that the user's code might handle."""
    state = image.__dict__
    made: Recipe = state["_recipe"]
    return bool(state["_loaded"] or not (state["_session"].streams or guarded()) or made.source.sound)


def recipe_of(image: StandInImage) -> Recipe:
    """The recipe of an image from which something is made in a thread that records."""
    made = _begin(image)
    assert made is not None  # hooks look whether this thread records
    made.followed = True
    return made


# Sets the class that an object has; StandInImage's own only tells one.
_set_class = vars(object)["__class__"].__set__


def become_real(image: Any, what: str, note: bool = True) -> None:
    """Turns a stand-in into the image that Pillow would have given the user. Raises what Pillow raises."""
    if type(image) is not StandInImage:
        return  # its method was looked up while it was one
    state = image.__dict__
    made: Recipe = state["_recipe"]
    session: Session = state["_session"]
    with session.noting_failure():
        prepare([image], what)
        if note and switch.current() is session and not made.is_made:
            session.became_real(what)
        real = _real(state)
    if (real.size, real.mode) != (made.size, made.mode):
        raise TroubleError(f"Pillow makes {real.mode} {real.size} where {made.mode} {made.size} was expected")
    adopted = dict(real.__dict__)
    _set_class(image, type(real))
    image.__dict__.clear()
    image.__dict__.update(adopted)


def _real(state: dict[str, Any]) -> Image.Image:
    """What a stand-in, of which this is the state, becomes."""
    made: Recipe = state["_recipe"]
    if made.before is not None:
        return made.hand_over()
    real: Image.Image | None = state.get("_peer")
    if real is None and not made.source.closed:
        real = made.source.open_as_given()
    elif real is None and state["_loaded"]:
        real = made.source.load()
    elif real is None:
        raise TroubleError("the file was closed before the image was decoded")
    if state["_loaded"]:
        with switch.off():
            real.load()
    return real


# Methods of Pillow's that give an image like theirs: of its own class, with the same info, without a palette. And
# functions that call nothing else.
_LIKE_METHODS = ("convert", "copy", "crop", "getchannel", "point", "resize", "transform", "transpose")
_LIKE = {getattr(_base, name) for name in _LIKE_METHODS}


def gives_its_like(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says so of a function."""
    _LIKE.add(function)
    return function


def is_made(image: StandInImage) -> bool:
    """Whether it becomes real as it is."""
    made: Recipe = image.__dict__["_recipe"]
    return made.is_made


def prepare(images: Sequence[Any], what: str) -> None:
    """Has the core make images that `what` needs, or what they are made of, as far as that is just what Pillow would
    make."""
    found = {id(image): image for image in images if type(image) is StandInImage and not _is_fresh(image)}
    session: Session | None = next((image.__dict__["_session"] for image in found.values()), None)
    if session is None or session.native is None:
        return
    values: list[Value] = []
    taken: list[tuple[Recipe, Any]] = []
    for made in filter(None, (_like_its_file(image.__dict__["_recipe"]) for image in found.values())):
        value = bytes_of_image(made)
        info = None if value is None or any(made is other for other, _ in taken) else made.source.info()
        if value is not None and info is not None:
            values.append(value)
            taken.append((made, info))
    for (made, info), block in zip(taken, by_core(session, values, what), strict=True):
        if block is not None:
            real = Image.frombytes(made.mode, made.size, block.numpy())
            real.info = info
            made.give(real)


def _like_its_file(made: Recipe) -> Recipe | None:
    """What such methods alone gave, of an image and of those that it is made of."""
    chain = [made]
    while chain[-1].before is not None:
        chain.append(chain[-1].before)
    if chain[-1].call is not None or made.source.reader != PILLOW:
        return None
    found = None
    for each in reversed(chain[:-1]):
        if each.call is None or each.call[0] not in _LIKE:
            break
        found = each
    return found


def _is_fresh(image: StandInImage) -> bool:
    """True for a file as it was opened."""
    return type(image) is StandInImage and image.__dict__["_recipe"].before is None


def _peer(image: StandInImage) -> Image.Image:
    """The file opened by Pillow, for what its header tells."""
    state = image.__dict__
    peer: Image.Image | None = state.get("_peer")
    if peer is None:
        peer = state["_peer"] = state["_recipe"].source.open_as_given()
    return peer


def _begin(image: StandInImage) -> Recipe | None:
    """The recipe to go on from, where Pillow would decode; None if this thread does not record."""
    if switch.current() is None or type(image) is not StandInImage:
        return None
    state = image.__dict__
    made: Recipe = state["_recipe"]
    if not state["_loaded"]:
        if made.source.closed:
            raise TroubleError("the file was closed before the image was decoded")
        # A stream's code goes on from where an error is raised, or ends there.
        sure = is_sure(image)
        state["_loaded"] = True
        if not sure:
            _decode(image, made)
    return made


def _decode(image: StandInImage, made: Recipe) -> None:
    """Raises what Pillow raises where it decodes a file, for code that handles that."""
    state = image.__dict__
    value, native = bytes_of_image(made), state["_session"].native
    try:
        if value is None or native is None:
            made.carry_out()
        else:
            native.run([value])
    except Exception:
        state["_loaded"] = False
        become_real(image, "", note=False)  # as Pillow leaves it
        raise


def _records(made: Recipe, steps: int = 1) -> bool:
    return made.mode in ("RGB", "L") and len(made.steps) + steps <= STEPS_MAX


def _moves(made: Recipe, steps: int = 1) -> bool:
    return made.mode in ("RGB", "L", "P", "YCbCr") and len(made.steps) + steps <= STEPS_MAX


def _has_channels(made: Recipe) -> bool:
    """Whether one of them can be recorded: a palette's indices are none of its colours."""
    return made.mode != "P" and _moves(made)


def _channel(made: Recipe, bands: tuple[str, ...], number: int) -> StandInImage:
    steps = (_steps.select((number,)),) if len(bands) > 1 else ()
    return derive(made, _base.getchannel, (number,), steps, made.size, "L")


def derive(
    of: StandInImage | Recipe,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    steps: tuple[bytes, ...],
    size: tuple[int, int],
    mode: str,
) -> StandInImage:
    """Records that `function(image, *arguments)` was called, in a thread that records."""
    session = switch.current()
    assert session is not None  # hooks and _begin look
    made = of if isinstance(of, Recipe) else recipe_of(of)
    return stand_in(made.then(function, arguments, steps, size, mode), session)


def _window(box: Any, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """(left, top, width, height) of what Image.crop keeps; None where it raises or warns."""
    if box is None:
        return (0, 0, *size)
    try:
        left, top, right, bottom = map(int, map(round, box))
        in_order = box[0] <= box[2] and box[1] <= box[3]
    except (TypeError, ValueError, OverflowError):
        return None
    width, height = right - left, bottom - top
    limit = Image.MAX_IMAGE_PIXELS
    if not in_order or not (0 < width < _SIDE_MAX and 0 < height < _SIDE_MAX):
        return None
    return None if limit is not None and width * height > limit else (left, top, width, height)


def _crop_steps(window: tuple[int, int, int, int], size: tuple[int, int]) -> tuple[bytes, ...] | None:
    """A crop, and black where it leaves the image; None if it misses the image."""
    left, top, width, height = window
    inner_left, inner_top = max(left, 0), max(top, 0)
    inner_right, inner_bottom = min(left + width, size[0]), min(top + height, size[1])
    if inner_left >= inner_right or inner_top >= inner_bottom:
        return None
    inner = _steps.crop(inner_left, inner_top, inner_right - inner_left, inner_bottom - inner_top)
    border = (inner_left - left, inner_top - top, left + width - inner_right, top + height - inner_bottom)
    return (inner, _steps.pad(*border, "constant")) if any(border) else (inner,)
