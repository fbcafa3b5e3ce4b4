"""The stand-in for a tensor made of images: one image, or a stack of such, all with the same tail.

It has no storage. What the core can make is recorded: functions of each number by itself (a longer Tail) and
torch.stack. At anything else the object itself becomes the real tensor (torch.utils.swap_tensors), so that aliasing,
in-place writes and types are torch's own from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import switch
from .recipe import Recipe
from .session import Session, TroubleError
from .tail import Tail

__all__ = ["StandInTensor", "become_real", "make", "of_image", "record_tail", "replace"]

_new = torch.Tensor._make_wrapper_subclass


class StandInTensor(torch.Tensor):
    """A tensor that nobody has made yet; made by of_image and stack.

    images  recipes, in the order of the tensor's outer extents
    tail    what makes a tensor of each
    """

    images: list[Recipe]
    tail: Tail
    session: Session

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        options = options or {}
        if function in _METADATA:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*arguments, **options)
        record = _RECORDED.get(function)
        if record is not None and switch.current() is not None:
            made = record(*arguments, **options)
            if made is not None:
                return made
        name = f"Tensor.{_name(function)}"
        for each in _stand_ins((arguments, options)):
            if type(each) is StandInTensor:  # not listed twice
                become_real(each, name)
        return function(*arguments, **options)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        # Code that goes round __torch_function__: torch holds the object here, so it cannot become another.
        raise TroubleError(f"{function} met a stand-in")

    def __parcel__(self) -> Any:
        """How it is pickled into a batch that a worker process sends: what is on its way is made by the core."""
        recipes = switch.packing()
        return NotImplemented if recipes is None else recipes.put(self)

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


def _make(
    session: Session, images: list[Recipe], tail: Tail, outer: tuple[int, ...], planar: bool = True
) -> StandInTensor:
    width, height = images[0].size
    channels = tail.table.channels
    shape = (*outer, channels, height, width)
    if planar:
        made = _new(StandInTensor, shape, dtype=tail.dtype)
    else:
        made = _new(StandInTensor, shape, strides=(1, width * channels, channels), dtype=tail.dtype)
    torch._C._set_throw_on_mutable_data_ptr(made)  # an extension that asks for memory there is none of
    made.__dict__.update(images=images, tail=tail, session=session)
    session.register(made)
    return made


def of_image(image: Recipe, tail: Tail, session: Session) -> StandInTensor:
    """The tensor [channels, height, width] of one image."""
    return _make(session, [image], tail, (), tail.planar)


def record_tail(tensor: Any, key: Any, function: Callable[[Any], Any], inplace: bool = False) -> StandInTensor | None:
    """The tensor after a function of each number by itself; None if it cannot be recorded."""
    if type(tensor) is not StandInTensor or len(tensor.shape) != 3:
        return None
    tail = tensor.tail.then(key, function)
    if tail is None:
        return None
    if inplace:
        if tail.dtype != tensor.tail.dtype:
            return None
        tensor.__dict__["tail"] = tail
        return tensor
    return of_image(tensor.images[0], tail, tensor.session)


def stack(tensors: Any, dim: Any = 0, *, out: Any = None) -> StandInTensor | None:
    """torch.stack of stand-ins alike, along a new first dimension."""
    if dim != 0 or out is not None or not isinstance(tensors, (list, tuple)) or not tensors:
        return None
    head = tensors[0]
    if type(head) is not StandInTensor:
        return None
    shape, tail, session = head.shape, head.tail, head.session
    for each in tensors:
        if type(each) is not StandInTensor or each.shape != shape or each.tail is not tail:
            return None
    images = [image for each in tensors for image in each.images]
    return _make(session, images, tail, (len(tensors), *shape[:-3]))


def make(tensor: StandInTensor) -> torch.Tensor:
    """The tensor, made by Pillow and torch as eager code makes it."""
    made = [tensor.tail.apply(image.carry_out()) for image in tensor.images]
    if len(tensor.shape) == 3:
        return made[0]
    with switch.off():
        return torch.stack(made).view(tensor.shape)


def become_real(tensor: StandInTensor, what: str) -> None:
    """Turns a stand-in into the tensor that eager code would have made. Raises what that raises."""
    session = tensor.session
    if switch.current() is session:
        session.became_real(what)
    native = session.native if len(tensor.shape) > 3 else None
    replace(tensor, make(tensor) if native is None else native.run([tensor])[0])


def replace(tensor: StandInTensor, real: torch.Tensor) -> None:
    """Makes the object be that tensor. Nobody else may refer to `real`."""
    shape, dtype = tensor.shape, tensor.dtype
    # How far apart the items of an extent of 1 are said to be is anybody's choice.
    apart = (
        one == other for length, one, other in zip(shape, tensor.stride(), real.stride(), strict=False) if length > 1
    )
    if (real.shape, real.dtype) != (shape, dtype) or not all(apart):
        raise TroubleError(f"{real.dtype} {tuple(real.shape)} was made where {dtype} {tuple(shape)} was expected")
    state = dict(tensor.__dict__)
    try:
        torch.utils.swap_tensors(tensor, real)
    except RuntimeError as error:  # a weak reference
        raise TroubleError(str(error)) from None
    state.clear()


def _scalar(name: str) -> Callable[..., StandInTensor | None]:
    function = getattr(torch.Tensor, name)

    def record(tensor: Any, other: Any, **options: Any) -> StandInTensor | None:
        if options or type(other) not in (int, float):
            return None
        return record_tail(tensor, (name, type(other), repr(other)), lambda each: function(each, other))

    return record


def _cast(dtype: torch.dtype) -> Callable[..., StandInTensor | None]:
    def record(tensor: Any, **options: Any) -> StandInTensor | None:
        return None if options else _to(tensor, dtype)

    return record


def _to(tensor: Any, dtype: Any = None, **options: Any) -> StandInTensor | None:
    if options or not isinstance(dtype, torch.dtype):
        return None
    if tensor.dtype == dtype:
        return tensor if type(tensor) is StandInTensor else None
    return record_tail(tensor, ("to", dtype), lambda each: each.to(dtype))


_RECORDED: dict[Any, Any] = {torch.stack: stack, torch.Tensor.to: _to}
_CASTS = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
_RECORDED |= {getattr(torch.Tensor, method): _cast(getattr(torch, dtype)) for method, dtype in _CASTS.items()}
# Operators come as these methods, but for subtraction from a number.
_SCALARS = ("add", "sub", "mul", "div", "__rsub__")
_RECORDED |= {getattr(torch.Tensor, method): _scalar(method) for method in _SCALARS}
