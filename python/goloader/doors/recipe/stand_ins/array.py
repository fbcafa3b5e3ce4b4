"""The stand-in for a numpy array made of images: a view of a block of memory that nobody has made yet (value.py).

It is no ndarray, though isinstance says so: C code refuses it, or asks for the real array by __array__. Recorded are
functions of each number by itself, views and copies; at anything else the block is made, and what numpy gives for the
real array is what the user gets. The object stays what it is: a name for that array.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from .. import switch
from ..as_user import as_user
from ..guarded import guarded
from ..recipe import ONE_CHANNEL, STEPS_MAX, Recipe
from .call import Recorder, attempt, by_place, put
from .image import StandInImage, recipe_of
from .layout import Layout, dense, indexed, viewed
from .tail import zoomed
from .tensor import RECORDED as RECORDED_OF_TENSORS
from .tensor import is_open as is_open_tensor
from .tensor import made_of as tensor_of
from .tensor import over as tensor_over
from .value import Memory, Recorded, Value, as_array, bytes_of, of_image, see, upright


class StandInArray:
    """An array that nobody has made yet; made by over and of_pixels.

    memory  the block that it is a view of
    layout_ how it lies there
    made    the array for which it is a name, once there is one
    """

    __slots__ = ("__weakref__", "layout_", "made", "memory", "writeable")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    memory: Memory
    layout_: Layout
    made: Any
    writeable: bool

    def __init__(self) -> None:
        raise TypeError("stand-ins are made by goloader.doors.recipe")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    # ---- what needs no numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout_.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        become_real(self, "ndarray.shape = ...").shape = value

    @property
    def dtype(self) -> Any:
        return self.memory.value.tail.array_dtype

    @property
    def ndim(self) -> int:
        return len(self.layout_.shape)

    @property
    def size(self) -> int:
        size = 1
        for length in self.layout_.shape:
            size *= length
        return size

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(stride * self.itemsize for stride in self.layout_.strides)

    def __len__(self) -> int:
        if not self.layout_.shape:
            raise TypeError("len() of unsized object")
        return self.layout_.shape[0]

    # ---- what is recorded

    @property
    def T(self) -> Any:  # noqa: N802
        return self.transpose()

    def __getitem__(self, key: Any) -> Any:
        if type(key) is StandInArray:
            become_real(self, "ndarray[mask]")
            key = become_real(key, "ndarray[mask]")
        elif type(key) is tuple:
            key = tuple(become_real(each, "ndarray[...]") if type(each) is StandInArray else each for each in key)
        made = _item(self, key)
        return become_real(self, "ndarray.[...]")[key] if made is None else made

    def copy(self, order: Any = "C") -> Any:
        made = record_function(("copy", order), np.ndarray.copy, (self,), order=order)
        return become_real(self, "ndarray.copy").copy(order) if made is None else made

    def __copy__(self) -> Any:
        return self.copy("K")

    def astype(self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True) -> Any:
        options = {"order": order, "casting": casting, "subok": subok, "copy": copy}
        try:
            wanted = np.dtype(dtype)
        except TypeError:
            wanted = None
        if copy is True and wanted is not None:
            made = record_function("astype", np.ndarray.astype, (self, wanted), **options)
            if made is not None:
                return made
        elif copy is False and wanted == self.dtype and order == "K" and subok:
            return self
        return become_real(self, f"ndarray.astype({dtype})").astype(dtype, **options)

    def clip(self, *bounds: Any, **options: Any) -> Any:
        made = _clip(self, *bounds, **options)
        if made is not None:
            return made
        return become_real(self, "ndarray.clip").clip(*made_real(bounds), **made_real(options))

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is StandInArray and key.dtype == bool:
            if isinstance(value, (bool, int, float, np.generic)) and _write("setitem", put, (self, key, value)):
                return
            key = become_real(key, "ndarray[mask] = ...")
        elif _set_items(self, key, value):
            return
        become_real(self, "ndarray[...] = ...")[made_real(key)] = made_real(value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and ufunc in _UFUNCS:
            out = options.pop("out", None)
            if out is None:
                made = record_function(ufunc, ufunc, inputs, **options)
                if made is not None:
                    return made
            elif not options and len(out) == 1 and out[0] is inputs[0] and _into(ufunc, inputs):
                return out[0]
            if out is not None:
                options["out"] = tuple(map(made_real, out))
        name = f"numpy.{ufunc.__name__}"
        options = {key: made_real(value, name) for key, value in options.items()}
        return as_user(getattr(ufunc, method), [made_real(value, name) for value in inputs], options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        known = _FUNCTIONS.get(function)
        if known is not None:
            made = attempt(
                known, *(by_place(_parameters(function), arguments, options) if options else (arguments, {}))
            )
            if made is not None:
                return made
        name = f"numpy.{function.__name__}"
        return as_user(function, made_real(arguments, name), made_real(options, name))

    # ---- what needs the numbers

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        real = become_real(self, "ndarray.__array__")
        return real if dtype is None and copy is None else np.array(real, dtype=dtype, copy=copy)

    def __bytes__(self) -> bytes:
        return bytes(become_real(self, "bytes"))

    @property
    def __array_interface__(self) -> Any:
        return become_real(self, "ndarray.__array_interface__").__array_interface__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_"):
            raise AttributeError(name)
        return getattr(become_real(self, f"ndarray.{name}"), name)

    def __deepcopy__(self, memo: Any) -> Any:
        return become_real(self, "ndarray.__deepcopy__").__deepcopy__(memo)


# What other code asks types for.
StandInArray.__name__ = StandInArray.__qualname__ = "ndarray"
StandInArray.__module__ = "numpy"


def _operator(name: str, ufunc: Any, reflected: bool) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        # As numpy's arrays do: who knows better gets the word.
        if getattr(type(other), "__array_ufunc__", _operator) is None:
            return NotImplemented
        if not isinstance(other, (np.ndarray, np.generic, int, float, complex, list, tuple)):
            return getattr(become_real(self, f"ndarray.{name}"), name)(other)
        return ufunc(other, self) if reflected else ufunc(self, other)

    return operate


def _inplace(name: str, ufunc: Any) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        if _into(ufunc, (self, other)):
            return self
        return getattr(become_real(self, f"ndarray.{name}"), name)(made_real(other))

    return operate


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        real = become_real(self, f"ndarray.{name}")
        return getattr(real, name)(*made_real(arguments), **made_real(options))

    return method


def _view(name: str) -> Callable[..., Any]:
    record = _of_first(getattr(np.ndarray, name))

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        made = record(self, *arguments, **options)
        return getattr(become_real(self, f"ndarray.{name}"), name)(*arguments, **options) if made is None else made

    return method


_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_COMPARED = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
for _name, _ufunc in _BINARY.items():
    setattr(StandInArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc, False))
    setattr(StandInArray, f"__r{_name}__", _operator(f"__r{_name}__", _ufunc, True))
    setattr(StandInArray, f"__i{_name}__", _inplace(f"__i{_name}__", _ufunc))
for _name, _ufunc in _COMPARED.items():
    setattr(StandInArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc, False))
for _name, _alone in {"neg": np.negative, "abs": np.absolute, "invert": np.invert}.items():
    setattr(StandInArray, f"__{_name}__", lambda self, ufunc=_alone: ufunc(self))
for _name in dir(np.ndarray):
    if _name.startswith("__") and not _name.startswith("__array_") and _name not in {*vars(StandInArray), *dir(object)}:
        setattr(StandInArray, _name, _forwarded(_name))
for _name in ("__repr__", "__str__", "__format__", "__sizeof__", "__reduce_ex__"):
    setattr(StandInArray, _name, _forwarded(_name))

# Exact by IEEE 754, so that every loop of numpy's gives the same bits.
_UFUNCS: set[Any] = {*_BINARY.values(), *_COMPARED.values(), np.negative, np.absolute, np.invert, np.sqrt}
_UFUNCS |= {np.maximum, np.minimum, np.clip, np.floor, np.ceil, np.rint, np.trunc, np.positive, np.square}
_UFUNCS |= {np.logical_and, np.logical_or, np.logical_not, np.isfinite, np.isnan}


def over(memory: Memory, layout: Layout, writeable: bool = True) -> Any:
    """A view of a block: the array itself where an error may be handled, as C code raises that wants an ndarray."""
    made = object.__new__(StandInArray)
    made.memory, made.layout_, made.made, made.writeable = memory, layout, None, writeable
    memory.session.register(made)
    return become_real(made, "an array in a try") if guarded(ended=True) else made


def become_real(array: StandInArray, what: str) -> Any:
    """The real array. Raises what eager code raises."""
    if array.made is None:
        array.made = as_array(array.memory.become_real(what), array.layout_, array.writeable)
    return array.made


def made_real(value: Any, what: str = "numpy") -> Any:
    """Arguments with real arrays in place of stand-ins for them."""
    kind = type(value)
    if kind is StandInArray:
        return become_real(value, what)
    if kind in (list, tuple):
        return kind(made_real(each, what) for each in value)
    if kind is dict:
        return {key: made_real(each, what) for key, each in value.items()}
    return value


# ---- recording


_recorder = Recorder(StandInArray, True, (np.ndarray, list, tuple))
_is_open = _recorder.is_open


def _of_first(view: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy's that gives a view of its first argument."""

    def record(array: Any, *arguments: Any, **options: Any) -> Any:
        layout = viewed(view, array.layout_, arguments, options, numpy=True) if _is_open(array) else None
        return None if layout is None else over(array.memory, layout, array.writeable)

    return record


_item = _of_first(operator.getitem)
for _name in ("transpose", "swapaxes", "squeeze"):
    setattr(StandInArray, _name, _view(_name))


def record_function(name: Hashable, function: Callable[..., Any], arguments: Sequence[Any], **options: Any) -> Any:
    """Records `function(*arguments, **options)`, a function of each number of its arrays by itself; None if it is none.

    name  of the function and all that is not among its arguments; the result is an array or a tensor
    """
    return made_of(_recorder.record(name, function, arguments, options))


def _of_tensor(tensor: Any, **options: Any) -> Any:
    if options or not is_open_tensor(tensor) or tensor.memory.value.tail.array_dtype is None:
        return None
    return over(tensor.memory, tensor.layout_)


# Here, as arrays are made of tensors, and tensors of arrays.
RECORDED_OF_TENSORS[torch.Tensor.numpy] = _of_tensor


def made_of(made: Recorded | None) -> Any:
    """The stand-in for what was recorded in a thread that records."""
    session = switch.current()
    if made is None or session is None or not made.numpy:
        return tensor_of(made)
    return over(Memory(made.value, session), made.layout, made.writeable)


def _write(name: Hashable, function: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    """Records a function that writes into its first argument, an array, and returns it; False if it cannot be."""
    return arguments[0].writeable and _recorder.write(name, function, arguments)


def _set_items(array: StandInArray, key: Any, value: Any) -> bool:
    """Records array[key] = numbers, one or one a channel, of a rectangle; False if it cannot be."""
    if not _is_open(array) or not array.writeable:
        return False
    layout = indexed(array.layout_, key, numpy=True)
    if layout is None:
        return False
    if type(value) is StandInArray:  # array[key] *= 2 has written already
        return value.memory is array.memory and value.layout_ == layout
    return _recorder.fill(array, layout, value)


def _into(ufunc: Any, inputs: Any) -> bool:
    """Records ufunc(*inputs, out=inputs[0])."""
    return type(inputs[0]) is StandInArray and _write(
        ("into", ufunc), lambda to, *others: ufunc(to, *others, out=to), inputs
    )


def _stack(arrays: Any, axis: Any = 0, out: Any = None) -> Any:
    if not isinstance(arrays, (list, tuple)) or not arrays or type(axis) is not int or axis != 0 or out is not None:
        return None
    # numpy lays a stack out as its parts are.
    if not all(_is_open(array) and array.layout_.is_contiguous for array in arrays):
        return None
    return made_of(_recorder.join(arrays, np.stack, new=True))


def _where(condition: Any, *values: Any) -> Any:
    return record_function("where", np.where, (condition, *values)) if len(values) == 2 else None


def _clip(*arguments: Any, **options: Any) -> Any:
    # The fourth is an array to write into.
    return record_function("clip", np.clip, arguments, **options) if len(arguments) <= 3 else None


def _copy(*arguments: Any, **options: Any) -> Any:
    return record_function("copy", np.copy, arguments, **options)


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """What numpy calls those parameters of a function that are given by place or by keyword."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a builtin
        return ()
    return tuple(name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD)


# What numpy gives by way of __array_function__.
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{view: _of_first(view) for view in (np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims)},
    **{view: _of_first(view) for view in (np.squeeze, np.flip, np.rot90, np.flipud, np.fliplr)},
    np.stack: _stack,
    np.clip: _clip,
    np.where: _where,
    np.copy: _copy,
    np.shape: lambda array: array.shape,
    np.ndim: lambda array: array.ndim,
    np.size: lambda array, axis=None: array.size if axis is None else None,
}


# ---- from images, to images, to tensors


def of_pixels(image: Recipe, key: Hashable, function: Callable[[Any], Any]) -> Any:
    """The array [height, width] or [height, width, 3] that `function`, known by `key`, makes of a recipe's image."""
    return made_of(of_image(image, key, function, "hw" if image.mode in ONE_CHANNEL else "hwc"))


def of_stand_in(image: StandInImage, key: Hashable, function: Callable[[Any], Any]) -> Any:
    """The same of a stand-in for an image, in a thread that records."""
    session = switch.current()
    if session is None or image.mode not in ("RGB", "YCbCr", *ONE_CHANNEL):
        return None
    return of_pixels(recipe_of(image), key, function)


def to_tensor(array: StandInArray) -> Any:
    """torch.from_numpy: a tensor over the same memory; None if torch refuses that."""
    layout = array.layout_
    if not _is_open(array) or any(stride < 0 for stride in layout.strides):
        return None
    return tensor_over(array.memory, layout)


def pixels_of(array: StandInArray) -> Recipe | None:
    """The recipe of an array that shows an image's bytes as they are, rows of pixels as OpenCV and Pillow take them.

    Its carry_out gives the real array, which nobody may change.
    """
    if not _is_open(array):
        return None
    value, layout = array.memory.value, array.layout_
    as_made = not value.outer and value.axes in ("hwc", "hw") and layout == dense(value.shape)
    if as_made and value.tail.is_identity and not value.patches:
        return value.images[0].shown(value.make)
    seen = see(value, layout, True)
    seen = seen and bytes_of(seen)
    if seen is None or seen.outer:
        return None
    images, axes, _ = upright(seen.images, seen.pattern.dims, ())
    if axes != ("hwc" if seen.tail.channels == 3 else "hw"):
        return None
    return images[0].shown(lambda: as_array(value.make(), layout))


Picture = tuple[tuple[bytes, ...], tuple[int, int], str]  # steps, (width, height), mode


def record_pixels(
    array: StandInArray, function: Callable[[Any], Any], find: Callable[[tuple[int, int], str], Picture | None]
) -> Any:
    """Records `function(array)`, which makes a picture of a picture; None if nothing is known of its pixels.

    find  what it makes of one of (width, height) and of mode RGB or L
    """
    shown = pixels_of(array)
    made = None if shown is None else find(shown.size, shown.mode)
    if shown is None or made is None or len(shown.steps) + len(made[0]) > STEPS_MAX:
        return None
    return of_pixels(shown.then(function, (), *made), "OpenCV", np.array)


def record_call(
    original: Callable[..., Any], steps: Callable[..., Picture | None], array: StandInArray, *rest: Any, **options: Any
) -> Any:
    """Records `original(array, *rest, **options)`; `steps` says what that does to a picture, from (size, mode, *rest).

    None where the core has no such.
    """

    def find(size: tuple[int, int], mode: str) -> Picture | None:
        try:
            return steps(size, mode, *rest, **options)
        except (TypeError, ValueError):  # the library has its own words for wrong arguments
            return None

    return record_pixels(array, lambda real: original(real, *rest, **options), find)


def record_zoom(
    array: StandInArray, function: Callable[[Any], Any], size: tuple[int, int], step: bytes, scale: float
) -> Any:
    """Records `function(array)`, which resizes a picture to numbers of (width, height), as a step _steps.zoom does by
    `scale`; None where the core has no such."""
    shown = pixels_of(array)
    if shown is None or len(shown.steps) == STEPS_MAX:
        return None
    image = shown.with_steps((step,), size, shown.mode)
    channels = 1 if shown.mode in ONE_CHANNEL else 3
    axes, shape = ("hw", size[::-1]) if channels == 1 else ("hwc", (*size[::-1], channels))
    value = Value((image,), (), zoomed(channels, scale), axes, lambda: function(shown.carry_out()))
    return made_of(Recorded(value, dense(shape), True))
