"""Functions and methods of numpy's, torch's and Python's: a table of what becomes of a call of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...bytecode import IN_PLACE, Attribute, Binary, Call, Expression, Unary, UnreadableError
from ...trust.look import in_class
from . import reductions
from .arithmetic import SIZED, Arithmetic, Rule, Value, are_constant, kind_of

if TYPE_CHECKING:
    from ..own.code import Code


def _plain(values: Sequence[Any], options: Mapping[str, Any], count: int) -> Sequence[Value]:
    """The arguments of a function that takes so many, none of them a list. Raises UnreadableError."""
    if len(values) != count or options or not all(isinstance(each, Value) for each in values):
        raise UnreadableError("calls it with other arguments")
    return values


def _two(values: Sequence[Any], options: Mapping[str, Any]) -> tuple[Value, Value]:
    one, other = _plain(values, options, 2)
    return one, other


def _constants(values: Sequence[Any], options: Mapping[str, Any]) -> None:
    if not are_constant([*values, *options.values()]):
        raise UnreadableError("calls it with arguments that depend on the index")


def _binary(name: str) -> Rule:
    return _item_by_item(lambda a, function, values, options: a.binary(name, *_two(values, options), function))


def _unary(op: str) -> Rule:
    return _item_by_item(lambda a, function, values, options: a.unary(op, function, *_plain(values, options, 1)))


_ITEM_BY_ITEM: set[Rule] = set()


def _item_by_item(rule: Rule) -> Rule:
    _ITEM_BY_ITEM.add(rule)
    return rule


@_item_by_item
def _convert(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    first, *rest = values
    _constants(rest, options)
    if isinstance(first, list):
        if any(isinstance(each, Value) and kind_of(each.sample) == "array" for each in first) and function in _LISTED:
            raise UnreadableError("makes a tensor of a list of arrays, which torch warns of")
        named = {name: each.sample for name, each in options.items()}
        return a.joined(lambda parts: function(parts, *(each.sample for each in rest), **named), first, True)
    if len(rest) > 1 or not {*options} <= {"dtype", "copy"}:
        raise UnreadableError("calls it with other arguments")
    return a.converted(function, first, rest, options)


@_item_by_item
def _view(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    first, *rest = values
    _constants(rest, options)
    if isinstance(first, list):
        raise UnreadableError("calls it with a list")
    return a.viewed(function, first, rest, options)


def _where(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    return a.chosen(function, *_plain(values, options, 3))


def _fill(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    named = [options[name] for name in ("mask", "value") if name in options]
    return a.filled(function, *_plain([*values, *named], {}, 3))


@_item_by_item
def _clip(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    first, *rest = values
    _constants(rest, options)
    names = [("min", "a_min"), ("max", "a_max")]
    if isinstance(first, list) or len(rest) > 2 or not {*options} <= {"min", "max", "a_min", "a_max"}:
        raise UnreadableError("calls it with other arguments")
    limits = [*rest, None, None][:2]
    for place, either in enumerate(names):
        for name in either:
            limits[place] = options.get(name, limits[place])
    return a.limited(function, first, limits, lambda: a.done(function, values, options))


def _join(stacked: bool) -> Rule:
    def rule(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
        if len(values) > 2 or not values or not isinstance(values[0], list):
            raise UnreadableError("joins what is no list of arrays")
        _constants(values[1:], options)
        (axis,) = [each.sample for each in (*values[1:], *options.values())] or [0]
        if type(axis) is not int or not {*options} <= {"dim", "axis"}:
            raise UnreadableError("joins arrays along no dimension")
        if axis == 0:
            return a.joined(function, values[0], stacked)
        return a.joined(lambda parts: function(parts, axis), values[0], stacked, axis)

    return rule


def _one_hot(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    if options.keys() == {"num_classes"}:
        values, options = [*values, options["num_classes"]], {}
    value, classes = _plain(values, options, 2)
    return a.one_hot(function, value, classes)


def _filled(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    """zeros(size) and the like, arange and eye."""
    _constants(values, options)
    if not {*options} <= {"dtype"}:
        raise UnreadableError("makes an array in another way")
    made = a.done(function, values, options)
    if function is torch.arange and made.is_floating_point():  # how floats are rounded is up to its threads
        raise UnreadableError("makes floats by torch.arange")
    return Value(made, constant=True)


def is_filled(called: Any) -> bool:
    """Whether it is a function that makes an array, which nobody else has, of numbers that are always the same."""
    return rule_of(called) is _filled


def _named(owner: Any, names: str, rule: Rule) -> list[tuple[Any, Rule]]:
    return [(getattr(owner, name), rule) for name in names.split() if hasattr(owner, name)]


def _reductions(owner: Any, library: str, names: str) -> list[tuple[str, Rule]]:
    """Those of the names that an owner has, and their rules."""
    return [(name, reductions.rule(library, name)) for name in names.split() if hasattr(owner, name)]


_REDUCING = "sum mean std var max amax min amin argmax argmin"


# Functions, known by what they are.
_RULES: list[tuple[Any, Rule]] = [
    *_named(torch, "tensor as_tensor from_numpy Tensor FloatTensor LongTensor DoubleTensor IntTensor clone", _convert),
    *_named(np, "array asarray ascontiguousarray copy", _convert),
    *_named(np, "float32 float64 int64 int32 int16 int8 uint8 uint16 uint32", _convert),
    *[(kind, _convert) for kind in (int, float)],
    *_named(torch, "unsqueeze squeeze flatten permute reshape transpose movedim ravel flip fliplr flipud", _view),
    *_named(np, "expand_dims squeeze ravel transpose reshape moveaxis swapaxes flip fliplr flipud", _view),
    *_named(torch, "where", _where),
    *_named(np, "where", _where),
    *_named(torch, "masked_fill", _fill),
    *_named(torch, "clamp clip", _clip),
    *_named(np, "clip", _clip),
    *_named(torch, "cat concat concatenate", _join(False)),
    *_named(np, "concatenate", _join(False)),
    *_named(torch, "stack", _join(True)),
    *_named(np, "stack", _join(True)),
    (abs, _unary("abs")),
    *[pair for library in (torch, np) for pair in _named(library, "abs absolute", _unary("abs"))],
    *_named(np, "sqrt", _unary("sqrt")),  # torch's is not rounded as IEEE 754 has it
    *[pair for library in (torch, np) for pair in _named(library, "negative", _unary("neg"))],
    *[pair for library in (torch, np) for pair in _named(library, "logical_not", _unary("not"))],
    *[
        pair
        for names, sign in (
            ("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide true_divide", "/"), ("less", "<"),
            ("greater", ">"), ("equal", "=="), ("not_equal", "!="),
        )
        for library in ((torch, np) if sign not in ("==",) else (np,))
        for pair in _named(library, names, _binary(sign))
    ],
    (torch.nn.functional.one_hot, _one_hot),
    *[pair for library in (torch, np) for pair in _named(library, "zeros ones full arange eye", _filled)],
    *[
        (getattr(owner, name), rule)
        for owner, library, names in (
            (np, "array", _REDUCING), (np.linalg, "array", "norm"), (torch, "tensor", _REDUCING)
        )
        for name, rule in _reductions(owner, library, names)
    ],
]  # fmt: skip


def converts(rule: Rule | None) -> bool:
    """Whether a rule is of what gives the same numbers as another type, or in another kind of container."""
    return rule is _convert


def goes_item_by_item(rule: Rule) -> bool:
    """Whether a rule is of what makes each number of one number, in its place, or gives them another shape."""
    return rule in _ITEM_BY_ITEM


def makes_anew(own: Code, of: Expression) -> bool:
    """Whether it gives an array or a tensor with memory of its own each time, whatever it is made of."""
    match of:
        case Binary(operator=operator):
            return operator not in IN_PLACE
        case Unary():
            return True
        case Call(function=Attribute(name="clone" | "copy"), arguments=(), options=()):
            return True
        case Call(function=Attribute(name="astype"), arguments=(_,), options=()):
            return True
        case Call(function=Attribute(name=name)) if name in ("masked_fill", *_REDUCING.split()):
            return True
        case Call(function=function) if is_filled(own.if_seen(function)):
            return True
        case Call(function=function, arguments=(_, *_), options=options):
            called = own.if_seen(function)
            return any(called is known for known in _COPYING) and dict(options).keys() <= {"axis", "dim", "dtype"}
    return False


_COPYING = (
    np.array, np.concatenate, np.copy, np.stack, np.where,
    torch.cat, torch.clone, torch.stack, torch.tensor, torch.where,
)  # fmt: skip


def rule_of(function: Any) -> Rule | None:
    return next((rule for known, rule in _RULES if known is function), None)


# What warns of lists of arrays.
_LISTED = (torch.tensor, torch.as_tensor, *SIZED)

# Methods, by the class that has them.
METHODS: dict[tuple[type, str], tuple[Any, Rule]] = {
    (owner, name): (in_class(owner, name), rule)
    for owner, names, rule in (
        (np.ndarray, "astype copy", _convert),
        (np.generic, "astype copy item", _convert),
        (np.ndarray, "reshape transpose swapaxes squeeze flatten ravel", _view),
        (np.ndarray, "clip", _clip),
        (torch.Tensor, "to type float double long int short bool clone contiguous detach cpu numpy item", _convert),
        (torch.Tensor, "view reshape permute transpose t unsqueeze squeeze flatten movedim flip", _view),
        (torch.Tensor, "masked_fill", _fill),
        (torch.Tensor, "clamp clip", _clip),
        (torch.Tensor, "abs", _unary("abs")),
        (torch.Tensor, "neg", _unary("neg")),
        (torch.Tensor, "add", _binary("+")),
        (torch.Tensor, "sub", _binary("-")),
        (torch.Tensor, "mul", _binary("*")),
        (torch.Tensor, "div", _binary("/")),
    )
    for name in names.split()
} | {
    (owner, name): (in_class(owner, name), rule)
    for owner, library in ((np.ndarray, "array"), (torch.Tensor, "tensor"))
    for name, rule in _reductions(owner, library, _REDUCING)
}


def method_of(sample: Any, name: str) -> tuple[Callable[..., Any], Rule] | None:
    """A method of a value, as a function that takes the value first, and its rule."""
    owner = {"tensor": torch.Tensor, "array": np.ndarray, "scalar": np.generic}.get(kind_of(sample))
    known = METHODS.get((owner, name)) if owner is not None else None
    if known is None or in_class(type(sample), name) is not known[0]:
        return None
    return operator_of(name), known[1]


def operator_of(name: str) -> Callable[..., Any]:
    return lambda value, *arguments, **options: getattr(value, name)(*arguments, **options)
