"""A class of the user's own, read for a script: calls that draw random numbers are told apart, containers of transforms
are read through, and a branch that depends on what a sample is like is followed both ways."""

from __future__ import annotations

import math
import operator
import random
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, chain
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch

from ...bytecode import (
    NONE,
    Attribute,
    Binary,
    Branch,
    Call,
    Callee,
    Choice,
    Chosen,
    Constant,
    Display,
    Drawn,
    Either,
    Expression,
    Extended,
    Index,
    Inner,
    Item,
    Mapping,
    Name,
    Part,
    Reader,
    Reading,
    Repeated,
    Several,
    Shuffled,
    UnreadableError,
    parts_of,
)
from ...trust.look import hiding, in_class, is_a
from ...trust.originals import is_original, module_of
from ...trust.watch import has_global_hooks, has_hooks
from ..own.code import ERRORS, OwnCode, is_left, is_of_library, is_plain, length_of
from ..own.columns import Columns
from ..own.pure import Pure
from ..reads.images import converts_arrays, is_row, makes_image, reads_image
from ..reads.sounds import reader_of
from ..tree import Indices
from .images.arrays import ARITHMETIC

# Samples that show whether lists differ in length before all are looked at.
_LOOKED_AT = 16


@dataclass(frozen=True)
class AllItems(Expression):
    """The items of all lists in a list, or in a dict by integers: one list after the other, by ascending keys."""

    spelling = "all items of {0.of!s}"
    of: Expression

    @staticmethod
    def lists(whole: Any) -> list[Any]:
        """The lists. Raises UnreadableError for what has others in it."""
        kind = type(whole)
        if kind in (dict, OrderedDict, defaultdict) and {*map(type, whole)} <= {int}:
            whole = [whole[key] for key in sorted(whole)]
        if type(whole) not in (list, tuple) or not {*map(type, whole)} <= {list, tuple}:
            raise UnreadableError("takes items of items")
        return list(whole)


class ScriptCode(OwnCode):
    """What `dataset[index]` does, whatever is drawn for it.

    calls  of libraries that it goes by
    needs  what these have to do (goloader.selfcheck)
    turns  it has a loop of which one turn is enough to know what it makes; functions that are called as they are may
           have some that are not read
    """

    turns = False

    def __init__(self, dataset: Any, *, by_turns: bool = False) -> None:
        """`by_turns`: one turn is read of loops that cannot be followed item by item."""
        self.by_turns = by_turns
        self.calls: dict[tuple[Any, str], None] = {}
        self.needs: dict[str, None] = {}
        # Transforms that the code makes for each sample, of constants: one is enough.
        self._objects: dict[Call, Any] = {}
        # Lists that are drawn of, and how long they are.
        self.lengths: list[tuple[Expression, int]] = []
        # Numbers and weights to draw by, with what they are.
        self._settings: list[tuple[Expression, Any, str]] = []
        # How many items lists have that differ with the index.
        self._counts: dict[Expression, int] = {}
        # How conditions came out for every index; None where they differ, or nobody knows.
        self._outcomes: dict[Expression, tuple[Columns, bool] | None] = {}
        # Functions that are called as they are.
        self._pure: list[Pure] = []
        # What calls draw by, which numpy's generator and torch's default type say as well.
        self._drawn: dict[Call, str] = {}
        # What expressions stand for, while that is not to change.
        self._values: dict[Expression, tuple[Any, Any]] | None = {}
        super().__init__(dataset)

    def _check_imports(self, modules: tuple[str, ...]) -> None:
        super()._check_imports(modules)
        for name in modules:
            if name not in sys.modules and not is_of_library(name):  # whose module may draw as it is imported
                raise UnreadableError(f"imports {name}, which is not imported yet")

    def unchanged(self, dataset: Any) -> bool:
        before = self._values
        self._values = {}  # a thousand expressions have most of their parts in common
        try:
            return (
                super().unchanged(dataset)
                and all(len(self.value(of)) == length for of, length in self.lengths)
                and all(self.value(of) is was and repr(was) == spelt for of, was, spelt in self._settings)
                and all(self._draws_by(call) == name for call, name in self._drawn.items())
                and self.calls_the_same()
            )
        finally:
            self._values = before

    def calls_the_same(self) -> bool:
        """Whether functions that are called as they are do what they did."""
        return all(each.unchanged() for each in self._pure)

    @property
    def called(self) -> tuple[FunctionType, ...]:
        """Functions that are called as they are, with those that these call."""
        return tuple(dict.fromkeys(each for pure in self._pure for each in pure.functions))

    def _apart(self, expression: Expression, callee: Callee) -> bool:
        """Whether a function of the user's may be called as it is."""
        given = len(expression.arguments) if isinstance(expression, Call) else int(isinstance(expression, Item))
        first = callee.arguments[: len(callee.arguments) - given]
        # A partial's may be texts and numbers.
        receivers = [seen for each in first if not isinstance(seen := self.if_seen(each), str | bytes | int | float)]
        others = [*callee.arguments[len(first) :], *(each for _, each in callee.options)]
        known = [self.if_seen(each) for each in others if not isinstance(each, Display | Extended | Mapping)]
        if len(receivers) > 1 or callee.defaults or callee.function.__code__.co_name.startswith("<"):
            return False
        if any(each.has(Inner) for each in others):
            return False
        try:
            receiver = receivers[0] if receivers else None
            pure = Pure(callee.function, receiver, [each for each in known if each is not None])
        except UnreadableError:
            return False
        self._pure.append(pure)
        return True

    def _turns(self) -> bool:
        self.turns = True
        return self.by_turns

    def _reading(self) -> Reading:
        try:
            return self._read_once()
        except UnreadableError:
            if not self.turns or self.by_turns:
                raise
            self.by_turns = True
            return self._read_once()

    def _read_once(self) -> Reading:
        reader = Reader(
            self._decide, self._callee, self.means, self._draws, self._given, self.chosen, self._listed, self._keeps,
            self._apart, self._count_of_all, self._turns, self.told, self._numbers_alone,
        )  # fmt: skip
        return reader.read(self._function, self.arguments)

    def _numbers_alone(self, evaluated: Iterable[Expression]) -> bool:
        """Whether no image was read, or made."""
        return not any(self._takes_image(each) for each in evaluated if isinstance(each, Call))

    def _takes_image(self, call: Call) -> bool:
        """Whether it reads an image, or takes one out of an array."""
        called = self.if_seen(call.function)
        of_row = bool(call.arguments) and converts_arrays(called) and is_row(self, call.arguments[0])
        return of_row or reads_image(called) or makes_image(called)

    def _count_of_all(self, of: Expression) -> int:
        """How many items a list or tuple has, or a tensor of several, the same for every index; 0 for others."""
        match of:
            case Call(function=function, arguments=(Display(items=items, spread=False),), options=()) if (
                self.if_seen(function) is torch.stack
            ):
                return len(items)
        if not of.has(Index):
            return 0
        if of not in self._counts:
            self._counts[of] = 0
            with suppress(UnreadableError, *ERRORS):
                self._counts[of] = self._counted(of)
        return self._counts[of]

    def _columns(self, of: Expression) -> Columns:
        """What says what a value is for each index."""
        return Columns(self, (of,), length=lambda: length_of(self.dataset))

    def _counted(self, of: Expression) -> int:
        """How many items a value has, if that is the same for every index; 0 for others, which most show soon."""
        columns = self._columns(of)
        every, count = range(columns.length), 0
        for indices in (every[:: len(every) // _LOOKED_AT + 1], every):
            wholes = columns.work_out(indices)[0]
            counts = {*map(len, wholes)} if {*map(type, wholes)} <= {list, tuple} else set()
            if len(counts) != 1:
                return 0
            count = counts.pop()
        return count

    @property
    def opens_images(self) -> int:
        """How many images it opens, or takes out of arrays, at most."""
        return self._opened(self.reading.evaluated)

    @property
    def opens_sounds(self) -> bool:
        calls = (part for part in parts_of(self.reading.result) if isinstance(part, Call))
        return any(reader_of(self.if_seen(each.function)) is not None for each in calls)

    @property
    def does_more(self) -> bool:
        """Whether it does what scripts alone do: it reads images or sounds, draws random numbers, or branches."""
        does = any(isinstance(each, Branch | Drawn) for each in self.reading.evaluated)
        return bool(does or self.opens_images or self.opens_sounds)

    def _opened(self, evaluated: Sequence[Any]) -> int:
        count = 0
        for each in evaluated:
            if isinstance(each, Repeated):
                count += self._opened(each.turn)
            elif isinstance(each, Branch):
                count += self._opened((*each.then, *each.otherwise))
            elif isinstance(each, Call):
                count += self._takes_image(each)
        return count

    def settle(self) -> None:
        """From here on values may change."""
        self._values = None

    def value(self, expression: Expression) -> Any:
        values = self._values
        if values is None or isinstance(expression, Constant):  # of which some hold lists, and have no hash
            return self._settled(expression)
        known = values.get(expression)
        if known is None:
            try:
                known = self._settled(expression), None
            except UnreadableError as error:
                # Not the error itself, which would keep the frames that it went through.
                known = None, (error.args[0], error.of, error.place)
            values[expression] = known
        value, refused = known
        if refused is not None:
            raise UnreadableError(*refused)
        return value

    def _settled(self, expression: Expression) -> Any:
        if isinstance(expression, Call) and (kind := self._made(expression)) is not None:
            if expression not in self._objects:
                arguments = map(self._constant, expression.arguments)
                options = {name: self._constant(each) for name, each in expression.options}
                self._objects[expression] = kind(*arguments, **options)
            return self._objects[expression]
        if isinstance(expression, AllItems):
            return list(chain.from_iterable(AllItems.lists(self.value(expression.of))))
        if isinstance(expression, Attribute):
            owner = self.value(expression.owner)
            found = in_class(owner, expression.name) if type(owner) is type else None
            if type(found) is staticmethod:
                return found.__func__
        return super().value(expression)

    def is_known(self, of: Expression) -> bool:
        """Whether it stands for something, or comes out in one way, whatever the index."""
        try:
            self.known(of)
            return True
        except UnreadableError:
            pass
        try:
            return self._outcome(of) is not None
        except UnreadableError:
            return False

    def decided(self, condition: Expression) -> bool:
        """How a condition comes out, whatever the index. Raises UnreadableError."""
        return self._decide(condition)

    def _outcome(self, condition: Expression) -> bool | None:
        match condition:
            case Call(function=function, arguments=(of, *kinds), options=()) if len(kinds) < 2 and self._is_image(of):
                called = self.value(function)
                asked = self.known(kinds[0]) if kinds else ()
                asked = asked if type(asked) is tuple else (asked,)
                of_others = all(any(each is kind for kind in NO_IMAGES) for each in asked)
                if called is (isinstance if kinds else torch.is_tensor) and of_others:
                    return False
            case Call(function=Name(name="isinstance" | "hasattr"), arguments=(Item() | Part() as of, _)):
                if of.has(Index):
                    return self._same_for_all(condition)
        return super()._outcome(condition)

    def _same_for_all(self, condition: Expression) -> bool | None:
        """How a condition came out for every index; None where it differed, or nobody knows."""
        if condition not in self._outcomes:
            self._outcomes[condition] = None
            with suppress(UnreadableError, *ERRORS):
                columns = self._columns(condition)
                if len(outcomes := {*columns.work_out(range(columns.length))[0]}) == 1:
                    self._outcomes[condition] = columns, outcomes.pop()
        known = self._outcomes[condition]
        return None if known is None else known[1]

    @property
    def asked(self) -> list[Columns]:
        """What these conditions are of."""
        return [columns for columns, _ in filter(None, self._outcomes.values())]

    def goes_the_same_way(self, at: Indices | None) -> bool:
        """Whether conditions come out for these indices, or for all, as they did for every index.

        Raises UnreadableError, or as the code may.
        """
        return all(
            {*columns.work_out(range(columns.length) if at is None else at.tolist())[0]} <= {outcome}
            for columns, outcome in filter(None, self._outcomes.values())
        )

    def _is_image(self, of: Expression) -> bool:
        """Whether it is an image of Pillow's or an array, if there is one: OpenCV gives None for what is no image."""
        match of:
            case Call(function=Attribute(owner=owner, name="astype" | "convert" | "copy")) if self._is_image(owner):
                return True
            case Call(function=function, arguments=arguments):
                called = self.if_seen(function)
                if any(called is each for each in _ARRAYS):
                    return bool(arguments) and self._is_image(arguments[0])
                return reads_image(called)
            case Binary(left=left, right=right, operator=sign) if sign in ARITHMETIC:
                return self._is_image(left) or self._is_image(right)
            case Item(owner=owner):
                return self._is_image(owner)
            case Either(then=then, otherwise=otherwise):
                return self._is_image(then) and self._is_image(otherwise)
        return False

    def length_of(self, of: Expression) -> Expression | None:
        """What a `__len__` of the user's takes the length of, or the number that it gives; None for all others."""
        whole = self.value(of)
        function = in_class(type(whole), "__len__") if is_plain(whole) else None
        if type(function) is not FunctionType or is_left(function):
            return None
        reading = Reader(self._decide).read(function, (of,))
        self._keep(Attribute(of, "__len__"), function)
        match reading.result:
            case _ if reading.loose or reading.conditions:
                return None
            case Call(function=Name() as name, arguments=(inner,), options=()):
                return inner if inner != of and self.means(name) is len else None
            case number:
                found = self.means(number)
                return Constant(found, int) if type(found) is int and found >= 0 else None

    def _constant(self, expression: Expression) -> Any:
        if isinstance(expression, Display) and expression.kind in (list, tuple):
            return expression.kind(map(self._constant, expression.items))
        return self.value(expression)

    def _made(self, call: Call) -> type | None:
        """The class of a transform of torchvision's that a call makes."""
        try:
            kind = super().value(call.function)
        except UnreadableError:
            return None
        if type(kind) is not type or not module_of(kind).startswith("torchvision.transforms."):
            return None
        made = in_class(kind, "__init__")
        return kind if type(made) is FunctionType and is_original(made, "torchvision", "torch") else None

    def _given(self, made: Call, name: str) -> Expression | None:
        """What a transform that the code makes has by a name, if that is all that matters of it."""
        transforms, v2 = map(sys.modules.get, ("torchvision.transforms.transforms", "torchvision.transforms.v2"))
        if transforms is None or (kind := self._made(made)) is None:
            return None
        composes = kind is transforms.Compose or kind is getattr(v2, "Compose", None)
        if name == ("transforms" if composes else "lambd" if kind is transforms.Lambda else ""):
            return dict(zip((name,), made.arguments, strict=False)).get(name, dict(made.options).get(name))
        return None

    def _draws(self, expression: Expression) -> bool:
        if not isinstance(expression, Call):
            return False
        try:
            return self.drawn(expression) is not None
        except UnreadableError:
            return False

    def drawn(self, call: Call) -> str | None:
        """What a call draws by, as drawn_by has it. Raises UnreadableError."""
        name = self._draws_by(call)
        if name is not None:
            self._drawn[call] = name
        return name

    def _draws_by(self, call: Call) -> str | None:
        match call.function:
            case Attribute(owner=Call(function=maker, arguments=(Constant(value=1),), options=()), name="uniform_"):
                plain = "uniform_" not in vars(torch.Tensor) and torch.get_default_dtype() is torch.float32
                return "torch.uniform" if self.value(maker) is torch.empty and plain else None
        return drawn_by(self.value(call.function))

    def chosen(self, call: Call) -> Choice | None:
        """What a call draws of a list of things that code calls, or looks into; None where it draws other things."""
        name = self.drawn(call)
        if name in ("random.shuffle", "torch.randperm"):
            return self._order(call)
        if name == "numpy.shuffle" and len(call.arguments) == 1 and not call.options:
            return Choice((), Shuffled, of=call.arguments[0])
        if name not in ("random.choice", "random.choices", "numpy.choice") or not call.arguments:
            return None
        of, options = call.arguments[0], dict(call.options)
        if (items := self._things_of(of)) is None:
            return None
        things = list(map(self._thing, items))
        if name == "random.choice":
            return Choice(items) if len(call.arguments) == 1 and not options else None
        if name == "random.choices":
            given = dict(zip(("weights",), call.arguments[1:], strict=False)) | options
            count = self.if_seen(given.pop("k", Constant(1, int)))
            weights = self._weights(given.pop("weights", NONE), len(items))
            known = weights is not None and self._weights(given.pop("cum_weights", NONE), 0) is not None and not given
            return Choice(items, list, count, weights or ()) if type(count) is int and known else None
        given = dict(zip(("size", "replace", "p"), call.arguments[1:], strict=False)) | options
        count = self.if_seen(given["size"]) if "size" in given else None
        if "size" in given and type(count) is not int:
            return None
        plain = "replace" not in given or self._drawn_again(given["replace"])
        if self._weights(given.get("p", NONE), 0) is None or not plain or any(map(_is_many, things)):
            return None
        return Choice(items, Several, count)

    def _order(self, call: Call) -> Choice | None:
        """What puts a list that was made here into another order, or draws places in another order."""
        (of,) = call.arguments if len(call.arguments) == 1 and not call.options else (NONE,)
        if self.drawn(call) == "torch.randperm":
            count = self._count(of)
            return Choice((), Several, count, orders=True) if 0 < count <= ORDERED_MAX else None
        if not isinstance(of, Display) or of.kind is not list or of.spread or not 0 < len(of.items) <= ORDERED_MAX:
            return None
        return Choice(of.items, list, len(of.items), orders=True, of=of)

    def _count(self, of: Expression) -> int:
        """A number that is the same for all samples, or the length of a list; 0 for others."""
        match of:
            case Call(function=Name() as function, arguments=(whole,), options=()) if self.value(function) is len:
                length = len(known) if type(known := self.if_seen(whole)) in (list, tuple) else 0
                self.lengths += [(whole, length)] if length else []
                return length
        found: Any = self.if_seen(of)
        if type(found) is not int:
            return 0
        self._settings.append((of, found, repr(found)))
        return int(found)

    def _things_of(self, of: Expression) -> tuple[Expression, ...] | None:
        """The items of a list of things that code calls, or looks into."""
        if isinstance(of, Display) and of.kind in (list, tuple):
            items = of.items
        else:
            whole = self.if_seen(of)
            if type(whole) not in (list, tuple) or len(whole) > CHOSEN_MAX:
                return None
            items = tuple(Item(of, Constant(n, int)) for n in range(len(whole)))
        if not 0 < len(items) <= CHOSEN_MAX or not all(_is_thing(self._thing(each)) for each in items):
            return None
        if not isinstance(of, Display):
            self.lengths.append((of, len(items)))
        return items

    def _listed(self, item: Item) -> tuple[Expression, tuple[Expression, ...]] | None:
        """Which place an item of a list of things is at, if that is drawn, and the things."""
        if not isinstance(item.key, Drawn | Chosen | Binary | Call | Either):
            return None
        if not item.key.has(Drawn, Chosen):
            return None
        items = self._things_of(item.owner)
        return None if items is None else (Call(_INDEX, (item.key,)), items)

    def _weights(self, of: Expression, count: int) -> tuple[float, ...] | None:
        """So many weights that stay what they are, each with those before it; () for None in place of them, and None
        for anything else."""
        try:
            weights = self.value(of)
        except UnreadableError:
            return None
        if weights is not None:
            plain = type(weights) in (list, tuple) and all(type(each) in (int, float) for each in weights)
            if not plain or not weights or len(weights) != count or not all(0 <= each < 2**53 for each in weights):
                return None
        self._settings.append((of, weights, repr(weights)))
        added = tuple(map(float, accumulate(weights or ())))
        return None if added and not 0 < added[-1] < math.inf else added

    def _thing(self, of: Expression) -> Any:
        if isinstance(of, Display) and of.kind in (list, tuple):
            return of.kind(map(self._thing, of.items))
        return self.if_seen(of)

    def _drawn_again(self, replaced: Expression) -> bool:
        """Whether numpy's choice may draw a thing twice."""
        try:
            return self.decided(replaced)
        except UnreadableError:
            return False

    def _callee(self, expression: Expression) -> Callee | None:
        callee = super()._callee(expression)
        if callee is None and isinstance(expression, Call):
            try:
                found = self._through(expression.function)
            except UnreadableError:
                return None
            if found is not None:
                function, bound = found
                self._keep(expression.function, function)
                first = (expression.function,) if bound else ()
                return Callee(function, expression.function, (*first, *expression.arguments), expression.options)
        return callee

    def _called(self, called: Expression, of_item: bool) -> Any:
        function = super()._called(called, of_item)
        if type(function) is FunctionType:
            return function
        found = self._through(called)
        return None if found is None else found[0]

    def _through(self, called: Expression) -> tuple[FunctionType, bool] | None:
        """The code of a library that is read through, and whether it is a method of what is called."""
        if isinstance(called, Call) and (kind := self._made(called)) is not None:
            for name in ("transforms", "lambd"):
                if self._given(called, name) is not None:
                    return self._method(kind, False)
        return self._of_library(self.value(called))

    def _of_library(self, called: Any) -> tuple[FunctionType, bool] | None:
        transforms = sys.modules.get("torchvision.transforms.transforms")
        if transforms is None:
            return None
        if type(called) is FunctionType:
            functional = sys.modules["torchvision.transforms.functional"]
            for name in ("five_crop", "ten_crop"):
                if called is vars(functional)[name]:
                    return self._in_plain(functional, name)
            kinds = transforms.RandomCrop, transforms.ColorJitter
            known = any(called is vars(kind)["get_params"].__func__ for kind in kinds)
            return (called, False) if known and is_original(called, "torchvision") else None
        if hiding(called) or not self._calls_forward(called):
            return None
        kind, v2 = type(called), sys.modules.get("torchvision.transforms.v2")
        if v2 is not None and kind is v2.Lambda and vars(called).get("types") == (object,):
            for name in ("forward", "transform"):
                self.calls[kind, name] = None
            kind = transforms.Lambda  # v2's of one image does what v1's does
        return self._method(kind, is_a(called, torch.nn.Module))

    def _in_plain(self, module: Any, name: str) -> tuple[FunctionType, bool]:
        """What is read in place of a function of torchvision's."""
        from .images import plain  # torchvision is imported by those who use it

        self.calls[module, name] = None
        self.needs[f"torchvision.{name}"] = None
        return vars(plain)[name], False

    def _method(self, kind: type, is_module: bool) -> tuple[FunctionType, bool] | None:
        """What calling an object of a class runs, if that is to be read through."""
        transforms: Any = sys.modules["torchvision.transforms.transforms"]
        v2 = sys.modules.get("torchvision.transforms.v2")
        through = {
            "__call__": (transforms.Compose, transforms.Lambda, transforms.RandomChoice, transforms.RandomOrder),
            "forward": (
                transforms.RandomApply,
                transforms.FiveCrop,
                transforms.TenCrop,
                *(() if v2 is None else (v2.RandomApply, v2.RandomChoice, v2.RandomOrder)),
            ),
        }
        known = next((name for name, kinds in through.items() if any(kind is each for each in kinds)), None)
        if v2 is not None and kind is v2.Compose and is_original(in_class(kind, "forward"), "torchvision"):
            self.calls[kind, "forward"] = None
            method = transforms.Compose.__call__  # of one image v2's does what v1's does
        elif v2 is not None and kind in (v2.FiveCrop, v2.TenCrop):
            self.calls[kind, "forward"] = None
            self.needs[f"torchvision.v2.{kind.__name__}"] = None
            method = in_class(vars(transforms)[kind.__name__], "forward")
        elif known is not None:
            method = in_class(kind, known)
        else:
            method = in_class(kind, "forward") if is_module and not _is_known(kind) else None
        if type(method) is not FunctionType:
            return None
        if is_left(method) and not is_original(method, "torchvision"):
            return None
        return method, True

    def _calls_forward(self, called: Any) -> bool:
        """Whether calling it calls its forward, and nothing else: no hooks."""
        if not is_a(called, torch.nn.Module):
            return True
        self.calls[torch.nn.Module, "__call__"] = None
        return (
            in_class(type(called), "__call__") is torch.nn.Module.__call__
            and not has_hooks(called)
            and not has_global_hooks()
        )


# What neither an image nor an array is.
NO_IMAGES = (list, tuple, dict, str)

# What gives arrays.
_ARRAYS = (np.array, np.asarray, np.ascontiguousarray)

# Items of which one may be drawn, and of which all are, in an order that is drawn: each is read in each place.
CHOSEN_MAX = 64
ORDERED_MAX = 8

# The place in a list that a number is.
_INDEX = Constant(operator.index, type(operator.index))


def _is_thing(value: Any, depth: int = 0) -> bool:
    """Whether it is something that code calls, or a setting of a library's, or a few of these."""
    if type(value) in (list, tuple):
        return depth < 2 and any(_is_thing(each, depth + 1) for each in value)
    if type(value) in (FunctionType, BuiltinFunctionType, MethodType) or is_a(value, Enum):
        return True
    return value is not None and is_plain(value) and in_class(type(value), "__call__") is not None


def _is_many(value: Any) -> bool:
    """Whether numpy would take it for several."""
    return any(in_class(type(value), name) is not None for name in ("__len__", "__array__", "__getitem__", "__index__"))


def _is_known(kind: type) -> bool:
    """Whether it is one of torch's or torchvision's own."""
    return module_of(kind).partition(".")[0] in ("torch", "torchvision")


def drawn_by(called: Any) -> str | None:
    """What draws random numbers, or seeds their generators: its name, as "random.uniform"; None for all else, and for
    what the user replaced."""
    if type(called) is FunctionType:
        within = vars(called).get("__wrapped__", called)  # torch.compile puts a function of torch's around manual_seed
        torchs = is_original(called, "torch") and is_original(within, "torch")
        return _OF_TORCH.get((within.__module__, within.__name__)) if torchs else None
    if called is vars(np.random.mtrand)["seed"]:
        return "numpy.seed" if type(called) in _COMPILED and _numpy_is_its_own() else None
    if type(called) not in (MethodType, BuiltinFunctionType):
        return None
    if called.__self__ is np.random.mtrand._rand:
        if not _numpy_is_its_own():
            return None
        if type(called) is BuiltinFunctionType:  # until numpy 2; a method of C's is what its name says
            name = called.__name__ if called.__name__ in _NUMPY else None
        else:
            name = next((each for each in _NUMPY if vars(np.random.RandomState)[each] is called.__func__), None)
        return name and f"numpy.{_STATES.get(name, name)}"
    if type(called) is MethodType:
        function, owner = called.__func__, called.__self__
        if owner is _python() and is_original(function, "random") and function.__name__ in _PYTHON:
            return f"random.{_STATES.get(function.__name__, function.__name__)}"
    elif type(called) is BuiltinFunctionType:
        if called.__name__ == "random" and called.__self__ is _python():
            return "random.random"
        if called in (torch.randint, torch.randperm):
            return f"torch.{called.__name__}"
        if called in _TORCH and torch.get_default_dtype() is torch.float32:
            return f"torch.{called.__name__}"
    return None


_TORCH = (torch.rand, torch.randn, torch.rand_like, torch.randn_like, torch.multinomial, torch.bernoulli)
_PYTHON = {
    "uniform", "randint", "randrange", "choice", "choices", "gauss", "shuffle", "seed", "getstate", "setstate",
}  # fmt: skip
_NUMPY = {
    "rand", "random", "random_sample", "uniform", "randint", "choice", "randn", "standard_normal", "normal",
    "permutation", "shuffle", "get_state", "set_state",
}  # fmt: skip
# What puts generators into states, and asks for these.
_STATES = {"get_state": "save", "set_state": "restore", "getstate": "save", "setstate": "restore"}
_COMPILED = (BuiltinFunctionType, type(np.random.mtrand.seed))


# Functions of torch's that are written in Python. By those of CUDA a worker process does nothing: torch does not begin
# it there.
_OF_TORCH = {
    ("torch.random", "manual_seed"): "torch.seed", ("torch.random", "get_rng_state"): "torch.save",
    ("torch.random", "set_rng_state"): "torch.restore",
    ("torch.cuda.random", "manual_seed"): "torch.cuda", ("torch.cuda.random", "manual_seed_all"): "torch.cuda",
}  # fmt: skip


def _python() -> Any:
    """The random module's generator, if it is as Python has it."""
    instance = getattr(random, "_inst", None)
    if type(instance) is not random.Random or vars(instance).keys() - {"gauss_next"}:
        return None
    methods = (random.Random.randrange, random.Random._randbelow)  # type: ignore[attr-defined]
    return instance if all(is_original(each, "random") for each in methods) else None


def _numpy_is_its_own() -> bool:
    return type(np.random.get_bit_generator()) is np.random.MT19937  # type: ignore[attr-defined]
