"""Convolutions of a tensor by torch's modules, with weights that are drawn: a blur of the user's own, as SimCLR's.

    x = np.exp(-np.power(np.arange(-r, r + 1), 2) / (2 * sigma * sigma))
    self.down.weight.data.copy_(torch.from_numpy(x / x.sum()).view(1, -1).repeat(3, 1).view(3, 1, k, 1))
    ...
    with torch.no_grad():
        image = ToPILImage()(self.blur(ToTensor()(image).unsqueeze(0)).squeeze())

The core makes bytes of bytes by both convolutions at once. Until the tensor becomes an image again, what is known of it
is what is still to be done (Picture.summed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .....adapters.torch import convolves_plainly
from .....selfcheck import holds
from ....bytecode import Attribute, Call, Expression, UnreadableError
from ....refusal import RefusalError
from ....transforms.tables import run_tail
from ....trust.look import hiding, in_class, own
from ....trust.originals import is_original
from ....trust.watch import has_global_hooks, has_hooks
from ..numbers.arithmetic import Number
from ..numbers.series import Series

if TYPE_CHECKING:
    from ..compiler import Compiler
    from .picture import Picture

TAPS_MAX = 31  # core/plan.WeightsMax


@dataclass(frozen=True, eq=False)
class Summed:
    """A tensor between its convolutions.

    batch    it has a first dimension, of one image
    border   pixels that were added on each side, in mirror order
    weights  down, and then across: as far as it has come
    """

    batch: bool
    border: int = 0
    weights: tuple[tuple[Number, ...], ...] = ()


def copied(c: Compiler, call: Expression) -> bool:
    """Whether it is parameter.data.copy_(numbers), by which a module of the user's gets its weights for this sample."""
    match call:
        case Call(
            function=Attribute(owner=Attribute(owner=weight, name="data"), name="copy_"), arguments=(given,), options=()
        ) if (numbers := c.series(given)) is not None and (parameter := _parameter(c, weight)) is not None:
            try:
                places = numbers.places.expand(parameter.shape)
            except RuntimeError:
                raise UnreadableError(f"copies an array of another shape by {call}", call) from None
            c.written[id(parameter)] = parameter, replace(numbers.float32s(), places=places), c.into
            c.account(call)
            return True
    return False


def _parameter(c: Compiler, of: Expression) -> Any:
    """The weight of a convolution of the user's; None for what is none."""
    match of:
        case Attribute(owner=owner, name="weight"):
            module = c.function(owner)
            if type(module) is nn.Conv2d and "weight" not in own(module):
                found = own(module)["_parameters"].get("weight")
                plain = type(found) is nn.Parameter and found.dtype is torch.float32 and found.device.type == "cpu"
                return found if plain else None
    return None


def takes(module: Any) -> bool:
    """Whether it is a module that convolves, or one of such modules."""
    if type(module) is nn.Sequential:
        return all(map(takes, own(module)["_modules"].values()))
    return type(module) in (nn.ReflectionPad2d, nn.Conv2d)


def through(c: Compiler, p: Picture, module: Any) -> Picture:
    """What a module of torch's makes of a tensor. Raises UnreadableError for one that is not known."""
    _looked(module)
    c.looked.append(lambda c: _looked(module))
    c.settings.append(convolves_plainly)
    if type(module) is nn.Sequential:
        for each in own(module)["_modules"].values():
            p = through(c, p, each)
        return p
    p = _begun(c, p)
    assert p.summed is not None
    if type(module) is nn.ReflectionPad2d:
        sides = {*module.padding}
        if len(sides) != 1 or type(module.padding[0]) is not int or p.summed.border or p.summed.weights:
            raise UnreadableError(f"adds a border by {module}")
        return replace(p, summed=replace(p.summed, border=module.padding[0]))
    weight: Any = module.weight
    _, numbers, block = c.written.get(id(weight), (None, None, []))  # the parameter is kept: no other has its id
    if numbers is None or not c.is_in(block):
        raise UnreadableError(f"convolves by {module}, whose weights it does not set")
    if weight.requires_grad and not c.without_grad:
        raise UnreadableError("convolves with gradients")
    return replace(p, summed=replace(p.summed, weights=(*p.summed.weights, _of_axis(numbers, len(p.summed.weights)))))


def _looked(module: Any) -> Any:
    """All of a module that matters. Raises UnreadableError for one that is not known, or has hooks."""
    kind = type(module)
    if kind not in (nn.Sequential, nn.ReflectionPad2d, nn.Conv2d) or hiding(module) or has_global_hooks():
        raise UnreadableError(f"calls a {kind.__qualname__} with an image")
    methods = ("forward", "_conv_forward", "__iter__") if kind is not nn.ReflectionPad2d else ("forward",)
    shipped = [in_class(kind, name) for name in methods if in_class(kind, name) is not None]
    hooked = has_hooks(module)
    if hooked or not all(is_original(each, "torch") for each in shipped):
        raise UnreadableError(f"calls a {kind.__qualname__} that somebody has changed")
    if kind is nn.Sequential:
        return kind, [*map(id, own(module)["_modules"].values())]
    if kind is nn.ReflectionPad2d:
        return kind, module.padding
    plain = (module.stride, module.padding, module.dilation, module.padding_mode, module.bias, module.in_channels,
             module.out_channels, module.groups)  # fmt: skip
    if plain != ((1, 1), (0, 0), (1, 1), "zeros", None, 3, 3, 3):
        raise UnreadableError(f"convolves by {module}")
    return kind, plain, module.weight.requires_grad


def _of_axis(numbers: Series, done: int) -> tuple[Number, ...]:
    """The weights of an axis: down first. Raises UnreadableError unless they are those of all channels."""
    places = np.asarray(numbers.places)
    down, across = places.shape[2:]
    weights, *others = (numbers.at(each) for each in places)
    if done > 1 or (across, down)[done] != 1 or any(each != weights for each in others):
        raise UnreadableError("convolves otherwise than down and then across")
    if not 3 <= len(weights) <= TAPS_MAX or len(weights) % 2 == 0:
        raise UnreadableError(f"convolves by {len(weights)} weights")
    return weights


def _begun(c: Compiler, p: Picture) -> Picture:
    """A tensor that an image is, as it comes to its first convolution."""
    if p.summed is not None:
        return p
    axes = p.axes()
    if axes not in ("cyx", "1cyx") or p.channels != 3 or torch.get_default_dtype() is not torch.float32:
        raise UnreadableError("convolves a tensor of other dimensions")
    tail = p.tail if axes == "cyx" else (*p.tail, lambda made: made.squeeze(0))
    try:
        table = run_tail(tail, 3, "a convolution", p.begin)
    except RefusalError:
        raise UnreadableError("convolves a tensor that is not in the order of RGB") from None
    unit = np.arange(256, dtype=np.float32) / np.float32(255)
    if table.dtype != "float32" or table.data != unit.tobytes() * 3:
        raise UnreadableError("convolves other numbers than bytes / 255")
    return replace(c.use(p), form="summed", summed=Summed(axes == "1cyx"))


def squeezed(c: Compiler, p: Picture, call: Call) -> Picture:
    """tensor.squeeze(), or tensor.squeeze(0)"""
    given: Sequence[Any] = [c.constant(each) for each in call.arguments]
    assert p.summed is not None
    extents = p.extents()
    large = all(each.is_constant and each.value > 1 for each in extents)
    if call.options or given not in ([], [0]) or not p.summed.batch or not large:
        raise UnreadableError(f"changes the shape of a tensor by {call}", call)
    return replace(p, summed=replace(p.summed, batch=False))


def finished(c: Compiler, p: Picture) -> Picture:
    """The PIL image that torchvision makes of such a tensor: its numbers times 255, cut off."""
    summed = p.summed
    assert summed is not None
    if summed.batch or len(summed.weights) != 2 or any(len(each) // 2 != summed.border for each in summed.weights):
        raise UnreadableError("makes an image of a tensor that has another size by a convolution")
    if not convolves_plainly() or not holds("torch.convolve.axes"):
        raise UnreadableError("convolves by sums of another order")
    down, across = ([number.json for number in weights] for weights in summed.weights)
    step = {"op": "convolve_to", "down": down, "across": across}
    image = replace(p, form="pil", tail=(), summed=None)
    made = c.apply(image, [step], ("torch.convolve.axes",), size=p.size)
    return replace(made, known=p.known)
