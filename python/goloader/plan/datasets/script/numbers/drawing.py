"""Random draws: the numbers and places that calls of `random`, numpy and torch draw, as instructions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np
import torch

from .....selfcheck import value
from ....bytecode import Call, Choice, Display, Drawn, Expression, Item, Shuffled, Spread, UnreadableError
from ..code import CHOSEN_MAX
from ..images import noise
from ..images.pil import bind
from . import arithmetic
from .arithmetic import Number, Vector
from .rows import Place, count_of, item_drawn, lists_of

if TYPE_CHECKING:
    from ..compiler import Compiler


def draw(c: Compiler, drawn: Drawn) -> None:
    """What a call draws: a number, several, or an item of what it draws of. Raises UnreadableError."""
    call = drawn.call
    assert isinstance(call, Call)
    name = c.own.drawn(call)
    if name is None:
        raise UnreadableError(f"draws by {call}", call)
    if name == "torch.uniform":
        c.account(call.function)
        c.needs[name] = None
    else:
        c.own.means(call.function)
    library, _, kind = name.partition(".")
    c.accounted.add(id(drawn))
    if kind in _STATES:
        _STATES[kind](c, drawn.number, call, _GENERATORS[library])
        return
    if library == "torch" and c.crops is None and (made := noise.drawn(c, call, kind)) is not None:
        c.noise[drawn.number] = made
        return
    choice = c.own.chosen(call)
    if choice is not None and choice.kind is Shuffled:
        c.drawn[drawn.number] = _shuffled(c, call)
    elif choice is None:
        c.drawn[drawn.number] = _vector(c, call, library, kind) or _by_kind(c, call, library, kind)
    elif choice.orders:
        assert choice.count is not None
        c.places[drawn.number] = _order(c, library, choice.count)
    else:
        c.places[drawn.number] = [_place(c, kind, library, choice) for _ in range(choice.count or 1)]


_GENERATORS = {"random": "python", "numpy": "numpy", "torch": "torch"}


def _seed(c: Compiler, number: int, call: Call, generator: str) -> None:
    """A generator starts over, from a number that its function takes."""
    found = c.number(_alone(call, {"python": "a"}.get(generator, "seed")))
    if found.kind not in {"python": ("int",), "numpy": arithmetic.PLACES}.get(generator, arithmetic.INTEGERS):
        raise UnreadableError(f"seeds by {call}", call)
    c.into.append({"do": "seed", "generator": generator, "value": c.sure(found)._replace(kind="int").json})


def _cuda(c: Compiler, number: int, call: Call, generator: str) -> None:
    """The generators of devices, which nothing here draws from."""
    if c.number(_alone(call, "seed")).kind not in arithmetic.INTEGERS:
        raise UnreadableError(f"seeds by {call}", call)


def _save(c: Compiler, number: int, call: Call, generator: str) -> None:
    """The state of a generator, which code may put it into again."""
    if call.arguments or call.options:
        raise UnreadableError(f"asks for {call}", call)
    c.states[number] = generator, len(c.states), c.into
    c.into.append({"do": "save", "generator": generator, "slot": c.states[number][1]})


def _restore(c: Compiler, number: int, call: Call, generator: str) -> None:
    of = _alone(call, {"torch": "new_state"}.get(generator, "state"))
    kept, slot, block = c.states.get(of.number, ("", 0, [])) if isinstance(of, Drawn) else ("", 0, [])
    if kept != generator or not c.is_in(block):
        raise UnreadableError(f"puts a generator into {of}", of)
    c.into.append({"do": "restore", "generator": generator, "slot": slot})


_STATES: dict[str, Callable[[Compiler, int, Call, str], None]] = {
    "seed": _seed, "cuda": _cuda, "save": _save, "restore": _restore,
}  # fmt: skip


def _alone(call: Call, name: str) -> Expression:
    """The one argument of a call. Raises UnreadableError."""
    given = bind(call, (name,))
    if name not in given:
        raise UnreadableError(f"seeds by {call}", call)
    return given[name]


def _place(c: Compiler, kind: str, library: str, choice: Choice) -> Number:
    """A place in what is chosen from, as one of these functions draws it."""
    count = len(choice.items)
    if kind == "choices":
        drawn = c.let(["python.random"], "float")
        if choice.weights:  # bisect.bisect finds how many of them are not above
            *below, total = (Number(each, "float") for each in choice.weights)
            at = arithmetic.binary("*", drawn, total)
            passed = [arithmetic.binary("<=", each, at) for each in below]
            return c.sure(reduce(partial(arithmetic.binary, "+"), passed, Number(0, "int")))
        return c.sure(arithmetic.unary("int", arithmetic.binary("*", drawn, Number(float(count), "float"))))
    return c.let(["python.randbelow" if library == "random" else "numpy.randint", count], "int")


def _order(c: Compiler, library: str, count: int) -> list[Number]:
    """All places below a count, as random.shuffle and torch.randperm put them in order: by exchanging two, again and
    again."""
    order = [Number(n, "int") for n in range(count)]
    by_torch = library == "torch"
    if by_torch:
        c.needs["torch.randperm"] = None
    for n in range(count - 1) if by_torch else range(count - 1, 0, -1):
        begin, end = (n, count) if by_torch else (0, n + 1)
        drawn = c.let(["torch.randint" if by_torch else "python.randbelow", end - begin], "int")
        here = order[n]
        for other in range(begin, end):
            if other == n:
                continue
            holds = Number(["==", drawn.json, other - begin], "bool")
            here, order[other] = c.either(holds, order[other], here), c.either(holds, order[n], order[other])
        order[n] = here
    return [each._replace(kind="int64") for each in order] if by_torch else order


def _multinomial(c: Compiler, call: Call) -> Number:
    """One place, by weights that are the same for all samples."""
    (tensor, count) = call.arguments if len(call.arguments) == 2 and not call.options else (None, None)
    match tensor:
        case Call(function=function, arguments=(weights,), options=()) if c.function(function) is torch.tensor:
            found = c.constant(weights)
        case _:
            raise UnreadableError(f"draws by {call}", call)
    assert count is not None
    plain = type(found) in (list, tuple) and all(type(each) in (int, float) and 0 <= each < 1e12 for each in found)
    weights32 = [float(np.float32(each)) for each in found] if plain else []
    # torch's sum, of float32, has to be above 0.
    if c.constant(count) != 1 or not math.fsum(weights32) > 1e-30 or len(weights32) > CHOSEN_MAX:
        raise UnreadableError(f"draws by {call}", call)
    c.account(tensor)
    c.needs["torch.multinomial"] = None
    return c.let(["torch.multinomial", *weights32], "int")._replace(kind="int64")


# What draws each number of several. These functions take extents one by one,
_BY_EXTENTS = {
    "numpy.rand": "numpy.random", "numpy.randn": "numpy.gauss",
    "torch.rand": "torch.rand", "torch.randn": "torch.randn",
}  # fmt: skip
# and these, of numpy's, take a size behind their other parameters.
_SIZED = {
    "random": "numpy.random", "random_sample": "numpy.random", "standard_normal": "numpy.gauss",
    "uniform": "numpy.random", "normal": "numpy.gauss",
}  # fmt: skip
_BEFORE_SIZE = {"uniform": ("low", "high"), "normal": ("loc", "scale")}
# Of so many numbers and more torch draws normal ones together; single ones are left to it.
_RANDN_MIN = 16
_NORMAL = Number(0.0, "float"), Number(1.0, "float")
# What the core takes for each, in ns, and what a sample's may take together: the core draws as a batch is asked for, a
# sample after the other, and torch's workers side by side.
_COST_NS = {
    "numpy.random": 6, "numpy.gauss": 70, "numpy.randint": 3, "numpy.permutation": 12,
    "torch.rand": 3, "torch.randn": 28, "torch.randint": 8, "torch.randperm": 6,
}  # fmt: skip
# A row that numpy.random.shuffle moves: numpy itself takes 400.
_SHUFFLED_NS = 3
_COST_MAX_NS = 20_000
_NEEDS = {
    "torch.rand": "torch.random", "torch.randint": "torch.random", "torch.randn": "torch.randn",
    "torch.randperm": "torch.randperm",
}  # fmt: skip
# Those that draw integers.
_INTEGERS = ("numpy.randint", "numpy.permutation", "torch.randint", "torch.randperm")


def _vector(c: Compiler, call: Call, library: str, kind: str) -> Vector | None:
    """An array or a tensor of numbers; None for a call that draws one, or other things. Raises UnreadableError."""
    by = f"{library}.{kind}"
    if c.crops is None:
        return None
    if by in _BY_EXTENTS:
        match call.arguments:
            case _ if call.options:
                return None
            case (Spread(owner=size),):
                shape = c.crops.shape(size)
            case (size,) if library == "torch":
                shape = c.crops.shape(size)
            case (_, *_) as extents:
                shape = c.crops.shape(Display(tuple, tuple(extents)))
            case _:
                return None
        one = by == "torch.rand" and shape in ((), (1,))  # a number, which .item() gives
        return None if shape is None or one else _filled(c, _BY_EXTENTS[by], shape)
    if by == "torch.bernoulli":
        return _chances(c, call)
    if by in ("torch.rand_like", "torch.randn_like"):
        (of,) = call.arguments if len(call.arguments) == 1 and not call.options else (call,)
        if (shape := c.crops.shape_like(of)) is None:
            raise UnreadableError(f"draws by {call}", call)
        return _filled(c, by.removesuffix("_like"), shape)
    if by in ("numpy.permutation", "torch.randperm"):
        count = c.crops.shape(call.arguments[0]) if len(call.arguments) == 1 and not call.options else None
        if count is None or len(count) != 1:
            raise UnreadableError(f"draws by {call}", call)
        return _filled(c, by, count)
    if by in ("numpy.choice", "numpy.randint", "torch.randint"):
        return _places(c, call, library, kind)
    if library != "numpy" or kind not in _SIZED:
        return None
    names = _BEFORE_SIZE.get(kind, ())
    bound = bind(call, (*names, "size"))
    if "size" not in bound or (shape := c.crops.shape(bound["size"])) is None:
        return None
    made = _filled(c, _SIZED[kind], shape)
    if not names:
        return made
    shift, scale = _moved(c, kind, [bound.get(name) for name in names])
    return made._replace(shift=shift, scale=scale)


def _chances(c: Compiler, call: Call) -> Vector:
    """What torch.bernoulli draws by a tensor that says how likely each is."""
    assert c.crops is not None
    (chances,) = call.arguments if len(call.arguments) == 1 and not call.options else (call,)
    shape = c.crops.chances(chances)
    if shape is None:
        raise UnreadableError(f"draws by {call}", call)
    c.needs["torch.bernoulli"] = None
    return _filled(c, "torch.rand", shape)._replace(chances=chances)


def _places(c: Compiler, call: Call, library: str, kind: str) -> Vector | None:
    """Integers from a range; None for a call that draws one, or of something else."""
    assert c.crops is not None
    if library == "torch" and "dtype" in dict(call.options):
        if c.constant(dict(call.options)["dtype"]) is not torch.int64:
            raise UnreadableError(f"draws by {call}", call)
        call = replace(call, options=tuple(each for each in call.options if each[0] != "dtype"))
    below, names = f"{library}.randint", ["a", "size", "replace"] if kind == "choice" else ["low", "high", "size"]
    if library == "torch" and len(call.arguments) + len(call.options) == 2 and "high" not in dict(call.options):
        names = ["high", "size"]
    bound = bind(call, names)
    ends = [bound[name] for name in ("a", "low", "high") if name in bound]
    if not ends or "size" not in bound or (shape := c.crops.shape(bound["size"])) is None:
        return None
    if library == "torch" and shape in ((), (1,)):
        return None
    if kind == "choice":
        count, again = _integer(c, ends[0]), c.constant(bound["replace"]) if "replace" in bound else True
        if again is False and count.is_constant and len(shape) == 1 and shape[0] <= count.value:
            return _filled(c, "numpy.permutation", (count.value,))._replace(first=shape[0])
        if again is not True:
            raise UnreadableError(f"draws by {call}", call)
        return _filled(c, below, shape, count)
    if len(ends) == 1:
        return _filled(c, below, shape, _integer(c, ends[0]))
    low, high = (_integer(c, each) for each in ends)
    return _filled(c, below, shape, arithmetic.binary("-", high, low))._replace(shift=c.sure(low))


def _shuffled(c: Compiler, call: Call) -> Vector:
    """In which order numpy.random.shuffle puts rows of an array that was made for its sample."""
    rows = None if c.crops is None else c.crops.own_rows(call)
    if rows is None:
        raise UnreadableError(f"draws by {call}", call)
    return _filled(c, "numpy.permutation", (rows,), ns=_SHUFFLED_NS)


def _filled(c: Compiler, by: str, shape: tuple[int, ...], *arguments: Number, ns: int | None = None) -> Vector:
    """A vector that is drawn now. `ns` is what each of its numbers takes, if not what they usually do."""
    count = math.prod(shape)
    c.needs[_NEEDS.get(by, "numpy.random")] = None
    c.drawing_ns += (_COST_NS[by] if ns is None else ns) * count
    if count < (_RANDN_MIN if by == "torch.randn" else 1) or c.drawing_ns > _COST_MAX_NS:
        raise UnreadableError(f"draws {count} numbers a sample")
    if by == "torch.randn" and value("torch.randn") == "avx2":
        by = "torch.randn.avx2"
    is_int = by in _INTEGERS
    number = c.fill([by, *(each.json for each in arguments)], "int" if is_int else "float", count)
    return Vector(number, shape, by.startswith("torch."), is_int)


def _moved(c: Compiler, kind: str, ends: Sequence[Expression | None]) -> tuple[Number, Number]:
    """Of numpy's uniform or normal, what is added to what is drawn, and what that is multiplied with before."""
    found = [other if each is None else arithmetic.unary("float", c.number(each))
             for each, other in zip(ends, _NORMAL, strict=True)]  # fmt: skip
    if not all(each.is_python for each in found):
        raise UnreadableError("draws by numbers that are not Python's")
    shift, other = map(c.sure, found)
    if kind == "uniform":
        return shift, _width(c, shift, other)
    if not other.is_constant:
        c.check(["<", 0, other.json])
    elif math.copysign(1.0, other.value) < 0:
        raise UnreadableError(f"draws by a deviation of {other.value}")
    return shift, other


def _width(c: Compiler, low: Number, high: Number) -> Number:
    """Of numpy's uniform: one that is not finite is numpy's error."""
    width = c.sure(arithmetic.binary("-", high, low))
    if not width.is_constant:
        c.check(["<=", width.json, sys.float_info.max], ["<=", -sys.float_info.max, width.json])
    return width


def _by_kind(c: Compiler, call: Call, library: str, kind: str) -> Number | Expression:
    random, below = {
        "random": ("python.random", "python.randbelow"),
        "numpy": ("numpy.random", "numpy.randint"),
        "torch": ("torch.rand", "torch.randint"),
    }[library]
    if kind in ("random", "random_sample", "rand", "randn", "standard_normal") and library != "torch":
        if call.arguments or call.options:
            raise UnreadableError(f"draws several numbers: {call}", call)
        return c.let([_numpys(c, kind) if library == "numpy" else random], "float")
    if kind == "normal":
        names = _BEFORE_SIZE[kind]
        bound = bind(call, names)
        mean, deviation = _moved(c, kind, [bound.get(name) for name in names])
        drawn = c.let([_numpys(c, kind)], "float")
        return c.sure(arithmetic.binary("+", mean, arithmetic.binary("*", deviation, drawn)))
    if kind == "multinomial":
        return _multinomial(c, call)
    if kind == "rand":
        _only_one(c, call, call.arguments, set())
        return c.let([random], "float32")
    if kind == "gauss":
        bound = bind(call, ("mu", "sigma"))
        mean, deviation = (c.number(bound[name]) if name in bound else Number(value, "float")
                           for name, value in (("mu", 0.0), ("sigma", 1.0)))  # fmt: skip
        drawn = c.let(["python.gauss"], "float")
        return c.sure(arithmetic.binary("+", mean, arithmetic.binary("*", drawn, deviation)))
    if kind == "uniform":
        names = {"random": ("a", "b"), "numpy": ("low", "high"), "torch": ("from", "to")}[library]
        bound = bind(call, names)
        if len(bound) != 2:
            raise UnreadableError(f"draws by {call}", call)
        ends = [c.number(bound[name]) for name in names]
        if library == "torch":
            if not all(each.is_python for each in ends):
                raise UnreadableError(f"draws by {call}", call)
            return c.let(["torch.uniform", *(each.json for each in ends)], "float")._replace(kind="float32")
        drawn = c.let([random], "float")
        width = arithmetic.binary("-", ends[1], ends[0]) if library == "random" else _width(c, *ends)
        return c.sure(arithmetic.binary("+", ends[0], arithmetic.binary("*", width, drawn)))
    if kind == "choice":
        (of,) = call.arguments if len(call.arguments) == 1 and not call.options else (None,)
        if of is None:
            raise UnreadableError(f"draws by {call}", call)
        lists = lists_of(c, of, by_numpy=library == "numpy")  # of a list numpy makes an array
        if lists is not None:
            return c.sure(lists.item(c.let([below, lists.length.json], "int")))
        if library == "numpy":
            return c.let([below, _integer(c, of).json], "numpy")
        if (item := item_drawn(c, of, below)) is not None:
            return item
        place = c.let([below, count_of(c, of).json], "int")
        return Item(of, Place(place))
    if kind not in ("randint", "randrange"):
        raise UnreadableError(f"draws by {call}", call)
    return _from_range(c, call, library, kind, below)


def _numpys(c: Compiler, kind: str) -> str:
    """What draws one of numpy's numbers."""
    drawn = _SIZED.get(kind) or _BY_EXTENTS[f"numpy.{kind}"]
    if drawn == "numpy.gauss":
        c.needs["numpy.random"] = None
    return drawn


def _integer(c: Compiler, of: Expression) -> Number:
    found = c.number(of)
    if found.kind not in arithmetic.PLACES:
        raise UnreadableError(f"draws below {of}", of)
    return found._replace(kind="int")  # whoever draws takes a np.int64 as an int


def _from_range(c: Compiler, call: Call, library: str, kind: str, below: str) -> Number:
    ends = call.arguments
    if library == "torch":
        *ends_, size = (*call.arguments, *(value for name, value in call.options if name == "size"))
        _only_one(c, call, (size,), {name for name, _ in call.options} - {"size"})
        ends = tuple(ends_)
    elif call.options:
        raise UnreadableError(f"draws by {call}", call)
    if not 1 <= len(ends) <= 2:
        raise UnreadableError(f"draws by {call}", call)
    if kind == "randint" and library == "random" and len(ends) == 1:
        raise UnreadableError(f"draws by {call}", call)
    low, high = (_integer(c, each) for each in ends) if len(ends) == 2 else (Number(0, "int"), _integer(c, ends[0]))
    if kind == "randint" and library == "random":
        high = arithmetic.binary("+", high, Number(1, "int"))
    drawn = c.let([below, arithmetic.binary("-", high, low).json], "int")
    return c.sure(arithmetic.binary("+", low, drawn))._replace(kind="int64" if library == "torch" else "int")


def _only_one(c: Compiler, call: Call, sizes: Sequence[Expression], options: set[str]) -> None:
    """Raises UnreadableError unless a draw of torch's is one number."""
    shapes = [c.constant(each) for each in sizes]
    if options or shapes not in ([1], [(1,)], [[1]], [()]):
        raise UnreadableError(f"draws several numbers: {call}", call)
