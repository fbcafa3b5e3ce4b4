"""The stand-in for a tensor made of images: a view of a block of memory that nobody has made yet (value.py).

It has no storage. Recorded are functions of each number by itself, views, copies, torch.stack, and what pads: pad, and
copies into a tensor that a collate_fn makes for the images of a batch (canvas.py). At anything else the block is made,
and the object itself becomes a real tensor over it (torch.utils.swap_tensors), so that aliasing, types and writes are
torch's own from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import torch

from .. import switch
from ..as_user import as_user
from ..recipe import Recipe
from ..session import Session, TroubleError
from . import value
from .call import Recorder, attempt, by_place, put
from .canvas import Canvas, canvas_for, padded
from .layout import Layout, are_places, dense, indexed, viewed
from .value import Memory, Recorded, Value, as_tensor, become_real_together, copied, see

_new = torch.Tensor._make_wrapper_subclass


class StandInTensor(torch.Tensor):
    """A tensor that nobody has made yet; made by over.

    memory  the block that it is a view of
    layout_ how it lies there
    real_class  of the tensor that it stands for
    """

    real_class: type[torch.Tensor] = torch.Tensor
    memory: Memory
    layout_: Layout
    session: Session

    # What code that pads asks of each image, several times: a step through __torch_function__ takes longer.

    @property
    def shape(self) -> torch.Size:  # type: ignore[override]
        return torch.Size(self.layout_.shape)

    @property
    def ndim(self) -> int:  # type: ignore[override]
        return len(self.layout_.shape)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        options = options or {}
        if function in _METADATA:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*arguments, **options)
        made = recorded(function, arguments, options)
        if made is not None:
            return made
        name = f"Tensor.{_name(function)}"
        met = _stand_ins((arguments, options))
        become_real_together([each.memory for each in met], name, others=True)
        for each in met:
            if isinstance(each, StandInTensor):  # not listed twice
                become_real(each, name)
        return as_user(function, arguments, options)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        # Code that goes round __torch_function__: torch holds the object here, so it cannot become another.
        raise TroubleError(f"{function} met a stand-in")

    def __parcel__(self) -> Any:
        """How it is pickled into a batch that a worker process sends: what is on its way is made by the core."""
        recipes = switch.packing()
        if recipes is None or self.real_class is not torch.Tensor:
            return NotImplemented
        return recipes.put(self.memory, self.layout_)

    def as_subclass(self, cls: Any) -> Any:
        # torch does not ask __torch_function__ for it.
        kind = CLASSES.get(cls)
        if kind is not None and is_open(self):
            return over(self.memory, self.layout_, kind)
        become_real(self, "Tensor.as_subclass")
        return self.as_subclass(cls)

    def __reduce_ex__(self, protocol: Any) -> Any:
        become_real(self, "Tensor.__reduce_ex__")
        return self.__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Any:
        become_real(self, "Tensor.__deepcopy__")
        return self.__deepcopy__(memo)


def _name(function: Any) -> str:
    name = getattr(function, "__name__", str(function))
    # A property's getter and setter are called so.
    return getattr(getattr(function, "__self__", None), "__name__", name) if name in ("__get__", "__set__") else name


# What tells of a tensor's shape and kind only.
_METADATA: frozenset[Any] = frozenset(
    [getattr(torch.Tensor, name).__get__ for name in ("device", "dtype", "grad", "grad_fn", "is_cpu", "is_cuda")]
    + [getattr(torch.Tensor, name).__get__ for name in ("is_leaf", "is_meta", "is_mkldnn", "is_mps", "is_nested")]
    + [getattr(torch.Tensor, name).__get__ for name in ("is_quantized", "is_sparse", "is_sparse_csr", "layout")]
    + [getattr(torch.Tensor, name).__get__ for name in ("itemsize", "nbytes", "ndim", "requires_grad", "shape")]
    + [getattr(torch.Tensor, name) for name in ("__len__", "dim", "element_size", "get_device", "is_complex")]
    + [getattr(torch.Tensor, name) for name in ("is_contiguous", "is_floating_point", "is_signed", "ndimension")]
    + [getattr(torch.Tensor, name) for name in ("nelement", "numel", "size", "storage_offset", "stride")]
    + [torch.is_floating_point, torch.is_complex, torch.numel]
)


def _stand_ins(value: Any) -> list[StandInTensor]:
    if isinstance(value, StandInTensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _stand_ins(item)]
    if isinstance(value, dict):
        return [each for item in value.values() for each in _stand_ins(item)]
    return []


# What stands for tensors of a class.
CLASSES: dict[type, type[StandInTensor]] = {torch.Tensor: StandInTensor}


def over(memory: Memory, layout: Layout, kind: type[StandInTensor] = StandInTensor) -> StandInTensor:
    """A view of a block."""
    made = _new(
        kind,
        layout.shape,
        strides=layout.strides,
        storage_offset=layout.offset,
        dtype=memory.value.tail.dtype,
    )
    torch._C._set_throw_on_mutable_data_ptr(made)  # an extension that asks for memory there is none of
    made.__dict__.update(memory=memory, layout_=layout, session=memory.session)
    memory.session.register(made)
    return made


def made_of(made: Recorded | None) -> StandInTensor | None:
    """The tensor that was recorded in a thread that records."""
    session = switch.current()
    return None if made is None or session is None else over(Memory(made.value, session), made.layout)


def become_real(tensor: StandInTensor, what: str) -> None:
    """Turns a stand-in into the tensor that eager code would have made. Raises what that raises."""
    replace(tensor, tensor.memory.become_real(what))


def replace(tensor: StandInTensor, real: Any) -> None:
    """Makes the object be a view of a real block."""
    state = dict(tensor.__dict__)
    try:
        made = as_tensor(real, tensor.layout_)
        torch.utils.swap_tensors(
            tensor, made if tensor.real_class is torch.Tensor else made.as_subclass(tensor.real_class)
        )
    except RuntimeError as error:  # a weak reference
        raise TroubleError(str(error)) from None
    state.clear()


# ---- recording


def recorded(function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a torch function gives if it can be recorded; None if it cannot."""
    known = None if switch.current() is None else RECORDED.get(function)
    if known is None:
        return None
    if options:
        arguments, options = by_place(
            _PARAMETERS.get(function.__name__, ("input", "other")),
            arguments,
            {_SYNONYMS.get(name, name): value for name, value in options.items()},
        )
    return attempt(known, arguments, options)


_recorder = Recorder(StandInTensor, False, (torch.Tensor,))
is_open = _recorder.is_open


def record_function(
    name: Hashable, function: Callable[..., Any], arguments: Sequence[Any], inplace: bool = False, **options: Any
) -> StandInTensor | None:
    """Records `function(*arguments, **options)`, a function of each number by itself; None if it is none.

    name     of the function and all that is not among its arguments
    inplace  it writes into its first argument
    """
    if not inplace:
        return made_of(_recorder.record(name, function, arguments, options))
    return arguments[0] if _recorder.write(name, function, arguments, options) else None


def _pointwise(owner: Any, name: str) -> Callable[..., StandInTensor | None]:
    function = getattr(owner, name)
    return lambda *arguments, **options: record_function((owner, name), function, arguments, **options)


def _written(name: str) -> Callable[..., StandInTensor | None]:
    function = getattr(torch.Tensor, name)
    return lambda *arguments, **options: record_function(name, function, arguments, inplace=True, **options)


def _cast(dtype: torch.dtype) -> Callable[..., StandInTensor | None]:
    return lambda tensor, **options: None if options else _to(tensor, dtype)


def _to(tensor: Any, *arguments: Any, **options: Any) -> StandInTensor | None:
    if not is_open(tensor) or len(arguments) + len(options) != 1 or not set(options) <= {"dtype", "device"}:
        return None
    (to,) = (*arguments, *options.values())
    if isinstance(to, torch.Tensor):
        return None
    if isinstance(to, torch.dtype):
        return tensor if tensor.dtype == to else record_function("to", torch.Tensor.to, (tensor, to))
    cpu: bool = to == "cpu" or to == torch.device("cpu")
    return tensor if cpu else None


def _type(tensor: Any, dtype: Any = None, **options: Any) -> StandInTensor | None:
    if options or not is_open(tensor):
        return None
    return _to(tensor, getattr(dtype, "dtype", dtype)) if dtype is not None and not isinstance(dtype, str) else None


def _contiguous(tensor: Any, **options: Any) -> StandInTensor | None:
    if options or not is_open(tensor):
        return None
    return tensor if tensor.layout_.is_contiguous else record_function("contiguous", torch.Tensor.contiguous, (tensor,))


def _viewed(view: Callable[..., Any]) -> Callable[..., StandInTensor | None]:
    def record(tensor: Any, *arguments: Any, **options: Any) -> StandInTensor | None:
        layout = viewed(view, tensor.layout_, arguments, options, numpy=False) if is_open(tensor) else None
        return None if layout is None else over(tensor.memory, layout)

    return record


def _several(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Extents, given one by one or as a sequence."""
    return tuple(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)) else tuple(arguments)


def _item(tensor: Any, key: Any) -> StandInTensor | None:
    layout = indexed(tensor.layout_, key, numpy=False) if is_open(tensor) else None
    return None if layout is None else over(tensor.memory, layout)


def _flipped(function: Callable[..., Any]) -> Callable[..., StandInTensor | None]:
    def flip(tensor: Any, *dims: Any) -> StandInTensor | None:
        if not is_open(tensor):
            return None
        places = _several(dims)
        if not places or not are_places(places, tensor.ndim):
            return None
        backwards = tuple(dim for dim in places if tensor.shape[dim] > 1)
        shown = viewed(np.flip, tensor.layout_, (backwards,), numpy=True)
        if shown is None:
            return None
        return made_of(copied(lambda each: function(each, *dims), _recorder.view_of(tensor), shown))

    return flip


def _join(function: Callable[..., Any], new: bool) -> Callable[..., StandInTensor | None]:
    """Stand-ins alike, one behind the other along the first dimension."""

    def join(tensors: Any, dim: Any = 0, *, out: Any = None) -> StandInTensor | None:
        if type(dim) is not int or dim != 0 or out is not None or not isinstance(tensors, (list, tuple)) or not tensors:
            return None
        return made_of(_recorder.join(tensors, function, new)) if all(map(is_open, tensors)) else None

    return join


def bytes_of(tensor: Any) -> Recipe | None:
    """The recipe of a tensor [channels, height, width] that shows an image's bytes as they are.

    Its carry_out gives the real tensor, which nobody may change.
    """
    if not is_open(tensor):
        return None
    seen = see(tensor.memory.value, tensor.layout_, False)
    seen = seen and value.bytes_of(seen)
    if seen is None or seen.outer:
        return None
    if seen.pattern.dims != ("chw" if seen.tail.channels == 3 else "_hw"):
        return None
    block, layout = tensor.memory.value, tensor.layout_
    return seen.images[0].shown(lambda: as_tensor(block.make(), layout))


def _set_items(tensor: Any, key: Any, value: Any) -> StandInTensor | None:
    """tensor[mask] = a number, or a rectangle of it = numbers"""
    if not is_open(tensor):
        return None
    if is_open(key) and key.dtype == torch.bool and type(value) in (int, float, bool):
        return record_function("setitem", put, (tensor, key, value), inplace=True)
    layout = indexed(tensor.layout_, key, numpy=False)
    if layout is None:
        return None
    if not isinstance(value, StandInTensor):
        return _filled(tensor, layout, value)
    written = value.memory is tensor.memory and value.layout_ == layout  # by tensor[key] *= 2
    return tensor if written else _copied_into(tensor, layout, value)


def _filled(tensor: StandInTensor, layout: Layout, value: Any) -> StandInTensor | None:
    """Records that a number, or one a channel, is written all over a view of a tensor's memory."""
    block = tensor.memory.value
    if isinstance(block, Canvas):
        return _written_into(tensor, block.filled(layout, value))
    known = type(value) in (int, float, bool, torch.Tensor) and _recorder.fill(tensor, layout, value)
    return tensor if known else None


def _copied_into(tensor: StandInTensor, layout: Layout, source: StandInTensor) -> StandInTensor | None:
    """Records that an image is copied into a part of a canvas."""
    block = tensor.memory.value
    if not isinstance(block, Canvas) or not is_open(source):
        return None
    return _written_into(tensor, block.with_image(layout, _recorder.view_of(source), tensor.session))


def _written_into(tensor: StandInTensor, block: Value | None) -> StandInTensor | None:
    if block is None:
        return None
    tensor.memory.value = block
    return tensor


def _copy(tensor: Any, source: Any, non_blocking: bool = False) -> StandInTensor | None:
    both = is_open(tensor) and isinstance(source, StandInTensor)
    return _copied_into(tensor, tensor.layout_, source) if both else None


def _unbound(tensor: Any, dim: int = 0) -> tuple[StandInTensor, ...] | None:
    """As iteration has it."""
    if not is_open(tensor) or type(dim) is not int or not -tensor.ndim <= dim < tensor.ndim:
        return None
    before = (slice(None),) * (dim % tensor.ndim)
    layouts = [indexed(tensor.layout_, (*before, at), numpy=False) for at in range(tensor.shape[dim])]
    made = [over(tensor.memory, layout) for layout in layouts if layout is not None]
    return tuple(made) if len(made) == len(layouts) else None


def canvas(size: Any, number: Any, dtype: Any = None, device: Any = None) -> StandInTensor | None:
    """What a collate_fn makes to copy this batch's images into; None if it is likely to be for something else.

    size    extents, one by one or as a sequence
    number  what it is full of
    """
    session = switch.current()
    if session is None or not session.collating or session.streams or device not in (None, "cpu", _CPU):
        return None
    shape = _several(size) if isinstance(size, (tuple, list)) else ()
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if len(shape) not in (3, 4) or not all(type(length) is int for length in shape):
        return None
    images = [
        (each.memory.value, each.layout_)
        for each in session.living()
        if isinstance(each, StandInTensor) and each.memory.real is None
    ]
    memory = canvas_for(session, images, tuple(shape), dtype, number) if images else None
    return None if memory is None else over(memory, dense(tuple(shape)))


_CPU = torch.device("cpu")


def _blank_like(name: str) -> Callable[..., StandInTensor | None]:
    """Records what a tensor's method makes that is like it but for the extents."""

    def blank(tensor: Any, *size: Any, dtype: Any = None, device: Any = None) -> StandInTensor | None:
        extents, number = size, int(name == "new_ones")
        if name == "new" and len(size) == 1 and type(size[0]) is not torch.Size:  # these are numbers, not extents
            return None
        if name == "new_full":
            if len(size) != 2:
                return None
            extents, number = size[0], size[1]
        return canvas(extents, number, tensor.dtype if dtype is None else dtype, device)

    return blank


def _bordered(tensor: Any, pad: Any, mode: Any = "constant", value: Any = None, **options: Any) -> StandInTensor | None:
    """functional.pad, of the last two extents."""
    if options or not is_open(tensor) or mode != "constant" or not isinstance(pad, (list, tuple)):
        return None
    if len(pad) not in (2, 4) or not all(type(each) is int and each >= 0 for each in pad):
        return None
    if tensor.ndim > 3 and not tensor.layout_.is_contiguous:  # torch keeps the order of channels
        return None
    left, right, top, bottom = (*pad, 0, 0)[:4]
    number = 0 if value is None else value

    def function(real: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(real, pad, mode, value).contiguous()

    return made_of(padded(_recorder.view_of(tensor), (left, top, right, bottom), number, function))


def _fill(tensor: Any, value: Any = 0) -> StandInTensor | None:
    return _filled(tensor, tensor.layout_, value) if is_open(tensor) else None


def _expand_as(tensor: Any, other: Any) -> Any:
    """Of a real tensor, as far as a stand-in goes."""
    return None if isinstance(tensor, StandInTensor) else tensor.expand(other.shape)


# Exact by IEEE 754, so that every loop of torch's gives the same bits.
_POINTWISE = (
    *("abs", "add", "bitwise_and", "bitwise_not", "bitwise_or", "ceil", "clamp", "clamp_max", "clamp_min", "clip"),
    *("clone", "div", "eq", "floor", "ge", "gt", "le", "logical_and", "logical_not", "logical_or", "lt"),
    *("masked_fill", "maximum", "minimum", "mul", "ne", "neg", "round", "sqrt", "sub", "true_divide", "trunc", "where"),
)
_WRITTEN = (
    *("add_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "div_", "masked_fill_", "mul_", "neg_", "round_", "sub_"),
    *("true_divide_", "__iadd__", "__idiv__", "__imul__", "__isub__", "__itruediv__"),
)
_CASTS = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "byte": "uint8"}
_CASTS |= {"bool": "bool", "short": "int16", "char": "int8", "bfloat16": "bfloat16"}

_OPERATORS = ("__and__", "__eq__", "__invert__", "__ne__", "__or__", "__rsub__")

# By torch's function; array.py adds Tensor.numpy.
RECORDED: dict[Any, Any] = {
    getattr(owner, name): _pointwise(owner, name) for owner in (torch, torch.Tensor) for name in _POINTWISE
}
RECORDED |= {getattr(torch.Tensor, name): _pointwise(torch.Tensor, name) for name in _OPERATORS}
RECORDED |= {getattr(torch.Tensor, name): _written(name) for name in _WRITTEN}
RECORDED |= {getattr(torch.Tensor, method): _cast(getattr(torch, dtype)) for method, dtype in _CASTS.items()}
_VIEWS = (
    *("movedim", "moveaxis", "permute", "reshape", "squeeze", "swapaxes", "swapdims", "transpose"),
    *("unsqueeze", "view"),
)
RECORDED |= {
    getattr(owner, name): _viewed(getattr(torch.Tensor, name))
    for owner in (torch, torch.Tensor)
    for name in _VIEWS
    if hasattr(owner, name)
}
RECORDED |= {
    torch.stack: _join(torch.stack, new=True),
    torch.cat: _join(torch.cat, new=False),
    torch.concat: _join(torch.cat, new=False),
    torch.Tensor.to: _to,
    torch.Tensor.type: _type,
    torch.Tensor.contiguous: _contiguous,
    torch.Tensor.detach: _viewed(torch.Tensor.detach),
    torch.Tensor.__getitem__: _item,
    torch.Tensor.flip: _flipped(torch.Tensor.flip),
    torch.flip: _flipped(torch.flip),
    torch.Tensor.__setitem__: _set_items,
    torch.Tensor.copy_: _copy,
    torch.Tensor.unbind: _unbound,
    torch.unbind: _unbound,
    torch.nn.functional.pad: _bordered,
    torch.Tensor.fill_: _fill,
    torch.Tensor.zero_: _fill,
    torch.Tensor.expand_as: _expand_as,
}

RECORDED |= {getattr(torch.Tensor, name): _blank_like(name) for name in ("new", "new_full", "new_ones", "new_zeros")}

# What torch calls parameters that may be given by keyword; of all other functions, input and other.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("cat", "concat", "stack"), ("tensors", "dim")),
    **dict.fromkeys(("clamp", "clamp_", "clip", "clip_"), ("input", "min", "max")),
    **dict.fromkeys(("clamp_max", "clamp_max_"), ("input", "max")),
    **dict.fromkeys(("clamp_min", "clamp_min_"), ("input", "min")),
    "copy_": ("input", "source", "non_blocking"),
    "flip": ("input", "dims"),
    "pad": ("input", "pad", "mode", "value"),
    "unbind": ("input", "dim"),
    **dict.fromkeys(("masked_fill", "masked_fill_"), ("input", "mask", "value")),
    "where": ("condition", "input", "other"),
}
_SYNONYMS = {"axis": "dim"}  # as torch has it, for numpy's sake
