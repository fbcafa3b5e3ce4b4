"""One field of the samples: its expression becomes rows, or a program over rows."""

from __future__ import annotations

import copy
import dataclasses
import math
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import BuiltinFunctionType, MethodType, MethodWrapperType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....arrays.file_array import contiguous
from ...bytecode import (
    IN_PLACE,
    NONE,
    Attribute,
    Binary,
    Call,
    Closed,
    Constant,
    Display,
    Either,
    Entered,
    Expression,
    Filled,
    Index,
    Item,
    Mapping,
    Member,
    Name,
    Part,
    Spread,
    Unary,
    UnreadableError,
)
from ...rows import DIMENSIONS_MAX
from ..known.arrays import is_scattered
from ..own.ahead import Ahead, ArraysAhead, Laid, NumbersAhead, RowsAhead, TextsAhead
from ..own.bases import Base, Numbers, like, why_not_collated
from ..own.integers import INDEX, Integers
from ..reads.array_files import FilesAhead, Within
from ..reads.array_readers import ArrayReader
from ..reads.array_readers import reader_of as array_reader_of
from ..reads.images import opened_path
from ..reads.sounds import Reader, how_read, reader_of
from ..tree import Indices
from .arithmetic import OPERATORS, Arithmetic, Value, dtype_of, kind_of
from .functions import converts, goes_item_by_item, makes_anew, method_of, rule_of
from .inputs import Input, cut, flattened, windows
from .program import INPUT, Items, Writer
from .putting import first_put, is_mask, put, put_chosen

if TYPE_CHECKING:
    from .node import Computed


class Leaf:
    """One field of the samples, compiled."""

    given_type: type
    kind: str
    items: Items
    constant: bool

    def __init__(self, node: Computed) -> None:
        # It keeps this. Another leaf gives what it has.
        self._node: Computed = node if type(node) in weakref.ProxyTypes else weakref.proxy(node)
        node.compiling.append(self)
        self.writer = Writer()
        self.inputs: list[Any] = []  # Input, or what has its `base` too
        self._arithmetic = Arithmetic(self.writer)
        self._known: dict[Expression, Any] = {}

    def give(self, given: Expression, value: Any) -> None:
        """Makes a value the field. Raises UnreadableError."""
        axis: int | None = None
        if isinstance(value, Value) and type(value.sample) is AnyLength:
            axis = value.sample.axis
            value = dataclasses.replace(value, sample=value.sample.first)
        self.extents = (
            tuple(-1 if n == axis else extent for n, extent in enumerate(np.shape(value.sample))) if axis else ()
        )
        is_list = isinstance(value, Value) and type(value.sample) is list and self._node.rows and not value.constant
        if is_list:
            value = dataclasses.replace(value, sample=np.array(value.sample))
        if not isinstance(value, Value) or not kind_of(value.sample):
            sample = value.sample if isinstance(value, Value) else value
            raise UnreadableError(f"gives {given}, a {type(sample).__qualname__}", given)
        self.sample = value.sample
        self.given_type = list if is_list else type(value.sample)
        kind = kind_of(value.sample)
        if why := why_not_collated(value.sample):
            raise UnreadableError(f"gives {given}, which is {why}", given)
        if kind == "array" and not (value.sample.dtype.isnative and min(value.sample.strides, default=0) >= 0):
            raise UnreadableError(f"gives {given}, an array that torch does not take", given)
        self.constant = value.constant
        if value.constant:
            array = value.sample.numpy() if kind == "tensor" else np.asarray(value.sample)
            self.items = self.writer.constant(array)
        else:
            self.items = value.items
        self.items, kept = self.writer.settle(self.items)
        self.inputs = [self.inputs[number] for number in kept]
        if len(self.items.shape) >= DIMENSIONS_MAX:
            raise UnreadableError(f"gives {given}, of too many dimensions", given)
        self.kind = "list" if is_list else type(value.sample).__name__ if kind == "number" else kind

    @property
    def memory(self) -> frozenset[int] | None:
        """The ids of what it may share memory with, where that is made for each sample; None where the dataset may have
        it."""
        if self.kind not in ("tensor", "array"):
            return frozenset()
        bases = [each.base for each in self.inputs if each.base is not None]
        own = (each.kept if isinstance(each, Ahead) else not isinstance(each.piece, Numbers) for each in bases)
        if self.constant or any(own):
            return None
        return frozenset(map(id, bases))

    def forget(self) -> None:
        """Forgets values, which know it, and with them the dataset's arrays."""
        self._known.clear()

    def value(self, expression: Expression) -> Any:
        """A Value, or a list of them."""
        if expression not in self._known:
            try:
                self._known[expression] = self._compiled(expression)
            except UnreadableError as error:
                if error.of is None:
                    error.of = expression
                    error.args = (f"{error.args[0]}, in {expression}",)
                found = self._worked_out(expression)
                if found is None:
                    raise
                self._known[expression] = found
        return self._known[expression]

    def _worked_out(self, expression: Expression) -> Value | None:
        """What is the same number, or array, for an index each time, if it is known ahead."""
        if not isinstance(expression, Attribute | Binary | Call | Item | Part) or not self._depends(expression):
            return None
        kinds: tuple[Callable[..., Ahead], ...] = (NumbersAhead, RowsAhead, ArraysAhead)
        for kind in kinds if isinstance(expression, Item) else kinds[:2]:
            with suppress(UnreadableError):
                return self._taken(self._node.worked_out(kind, expression), INDEX)
        return None

    def _compiled(self, expression: Expression) -> Any:
        if not expression.has(Index, Call, Binary, Unary, Display, Part):
            try:
                return Value(self._constant(expression), constant=True)
            except UnreadableError:
                if not isinstance(expression, Item):
                    raise
        match expression:
            case Index():
                return self._number(INDEX)
            case Display(kind=kind, items=(Spread(item=item, owner=Item(owner=text, key=key)),)) if (
                kind is list and type(self._node.own.means_if_seen(text)) is str
            ):
                return self._tokens(item, text, key)
            case Display(kind=kind, items=(Spread(item=item, owner=owner),)) if kind is list and self._depends(owner):
                return self._words(item, owner)
            case Display(kind=kind, items=items):
                if kind is slice:
                    raise UnreadableError("takes items by a slice that is kept")
                return self._listed(kind, list(map(self.value, items)))
            case Part(owner=owner, number=number, count=count):
                if (call := self._read_by(owner)) is not None:
                    with suppress(UnreadableError):
                        return self._loaded(*call, Within(number, count))
                return self._part(owner, number, count)
            case Item(owner=owner, key=key):
                if (call := self._read_by(owner)) is not None:
                    with suppress(UnreadableError):  # or it is an item of an array
                        return self._loaded(*call, Within(self._key(key)))
                return self._item(owner, key)
            case Attribute(owner=owner, name=name):
                return self._attribute(owner, name)
            case Closed(value=whole) if isinstance(value := self.value(whole), Value):
                return value  # rows of a file that is closed are in memory
            case Filled():
                return self._filled(expression)
            case Unary(operator="-" | "~" as operator, operand=operand):
                op, function = {"-": ("neg", lambda x: -x), "~": ("not", lambda x: ~x)}[operator]
                value = self._single(operand)
                own = value.integers if operator == "-" else None
                negative = Integers(0, 0).joined("-", own) if own is not None else None
                if negative is not None and type(value.sample) is int:
                    return self._number(negative)
                made = self._arithmetic.unary(op, function, value)
                if not made.constant:
                    made.integers = negative
                return made
            case Binary(operator=operator, left=left, right=right):
                if operator in IN_PLACE and kind_of((value := self._single(left)).sample) in ("tensor", "array"):
                    return self._changed(expression, value, self._single(right))
                return self._binary(operator, self._single(left), self._single(right))
            case Call() if (call := self._read_by(expression)) is not None:
                return self._loaded(*call, None)
            case Call(function=function, arguments=(path,), options=options) if (
                self._depends(path) and (reader := reader_of(self._node.own.means_if_seen(function))) is not None
            ):
                return self._sound(reader, function, path, dict(options))
            case Call(function=function) if (
                any(self._node.own.means_if_seen(function) is each for each in RANGES)
                and (places := self._range(expression)) is not None
            ):
                return places
            case Call(function=function, arguments=arguments, options=options):
                return self._call(function, list(map(self.value, arguments)), {n: self.value(o) for n, o in options})
        raise UnreadableError(f"uses {expression}")

    def _range(self, call: Call) -> Value | None:
        """arange between two numbers that the index tells, which are as far apart for all samples; None for another."""
        if len(call.arguments) != 2 or call.options or not self._depends(call.arguments[0]):
            return None
        start, stop = (self._integers(self.value(each)) for each in call.arguments)
        count, called = self._extent(start, stop), self._node.own.means(call.function)
        if count is None or count < 1:
            return None
        return self._arithmetic.binary("+", Value(called(count), constant=True), self._number(start))

    def _filled(self, filled: Filled) -> Value:
        """An array, or a tensor, that was made for its sample, with items that were set."""
        of, key, item = filled.of, filled.key, filled.item
        if filled.owner != NONE:
            raise UnreadableError(f"sets items of {of} in a loop over {filled.owner}", of)
        if not self.is_new(filled):
            raise UnreadableError(f"sets items of {of}", of)
        if isinstance(item, Item) and item.key is key and is_mask(mask := self.value(key)):
            return put_chosen(self._arithmetic, self._single(of), mask, self._single(item.owner))
        value = self._single(item)  # first: what was set before may be of the same texts
        whole = self._single(of)
        of_text = type(value.sample) is AnyLength or self._node.any_texts() is not None
        if isinstance(key, Display) and key.kind is slice and of_text:
            return self._laid(filled, whole, key, value)
        return put(self._arithmetic, whole, list(map(self._ends, keys_of(key))), value)

    def _constant(self, expression: Expression) -> Any:
        return expression.value if isinstance(expression, Constant) else self._node.constant(expression)

    def _listed(self, kind: type, values: list[Any]) -> Any:
        if all(isinstance(each, Value) and each.constant for each in values):
            return Value(kind(each.sample for each in values), constant=True)
        return values

    def _single(self, expression: Expression) -> Value:
        value = self.value(expression)
        if not isinstance(value, Value):
            raise UnreadableError("works with a list", expression)
        return value

    def _number(self, integers: Integers) -> Value:
        """A number of Python's that is known for each index."""
        constant = integers.constant
        if constant is not None:
            return Value(constant, constant=True)

        def make() -> Items:
            self._node.gives_index = True
            if integers.table is None:
                self.inputs.append(Input(None, None, INDEX))
                made = self.writer.input("int64", ())
                for op, number in (("mul", integers.scale), ("add", integers.shift)):
                    if number != (op == "mul"):
                        made = self.writer.step(op, (made, self.writer.constant(np.array(number, np.int64))), "int64")
                return made
            self.inputs.append(Input(None, None, integers))
            return self.writer.input("int64", ())

        return Value(1, make=make, integers=integers, small=integers.table is None)

    def _integers(self, value: Any) -> Integers:
        """A number to take items by. Raises UnreadableError for one that is not known ahead."""
        if isinstance(value, Value):
            if value.constant and type(value.sample) is int:
                return Integers(0, value.sample)
            if value.integers is not None:
                return value.integers
        raise UnreadableError("takes items by what is no number that the index tells")

    def _binary(self, operator: str, left: Value, right: Value) -> Value:
        differs = [each for each in (left, right) if type(each.sample) is AnyLength]
        if differs:
            if len(differs) > 1 or not (left.constant or right.constant) or operator not in OPERATORS:
                raise UnreadableError("works with arrays that differ in length and something else")
            return self._item_by_item(
                differs[0],
                lambda a, each: a.binary(operator, *((each, right) if differs[0] is left else (left, each))),
            )
        squares = operator == "**" and right.constant and type(right.sample) is int and right.sample == 2
        # Single floats are raised by C's pow, which rounds in its own way.
        if squares and (kind_of(left.sample) in ("array", "tensor") or type(left.sample) is int):
            return self._arithmetic.binary("*", left, left, lambda one, other: one**2)
        operator = operator[:-1] if operator in IN_PLACE else operator
        one, other = (
            each.integers or (Integers(0, each.sample) if each.constant and type(each.sample) is int else None)
            for each in (left, right)
        )
        kinds, joined = {type(left.sample), type(right.sample)}, None
        if not (one is None or other is None or (left.constant and right.constant)) and kinds <= {int, np.int64}:
            joined = one.joined(operator, other)
        if joined is not None and kinds == {int}:
            return self._number(joined)
        if operator not in OPERATORS:
            raise UnreadableError(f"works with {operator}")
        made = self._arithmetic.binary(operator, left, right)
        if not made.constant:
            made.integers = joined
        return made

    def _changed(self, change: Binary, left: Value, right: Value) -> Value:
        """left += right, of an array or a tensor that was made for it: other numbers of the same type."""
        if not self.is_new(change.left) or not self._node.uses.changes_alone(change.left, change):
            raise UnreadableError("changes a value in place")
        sample = self._arithmetic.done(
            lambda one, other: IN_PLACE[change.operator](copy.copy(one), other), [left, right]
        )
        made = self._binary(change.operator, left, right)
        if dtype_of(made.sample) != dtype_of(sample):
            name = "to" if kind_of(sample) == "tensor" else "astype"
            made = self._arithmetic.converted(
                lambda one, dtype: getattr(one, name)(dtype), made, [Value(sample.dtype, constant=True)], {}
            )
        if np.shape(made.sample) != np.shape(sample):
            raise UnreadableError("changes a value in place")
        return dataclasses.replace(made, sample=sample)

    def is_new(self, of: Expression) -> bool:
        """Whether an array or a tensor has memory of its own."""
        if self._makes_anew(of):
            return True
        match of:
            case Binary(operator=operator, left=left) if operator in IN_PLACE:
                return self._node.uses.changes_alone(left, of) and self.is_new(left)
            case Filled(of=before):
                return self._node.uses.changes_alone(before, of, self._makes_anew) and self.is_new(before)
            case Either(then=then, otherwise=otherwise):
                return self._node.uses.is_one_of(of) and self.is_new(then) and self.is_new(otherwise)
            case Item(key=key) if self._places(keys_of(key)) is not None:
                return True
            case Call(function=Attribute(owner=given), arguments=()) | Call(arguments=(given,), options=()) if (
                self._converts(of, given)
            ):
                before, after = self.value(given).sample, self._single(of).sample
                if kind_of(before) in ("array", "tensor") and dtype_of(before) != dtype_of(after):
                    return True
                return self._node.uses.is_given_alone(given, of) and self.is_new(given)
        return False

    def _makes_anew(self, of: Expression) -> bool:
        """Whether it gives an array or a tensor with memory of its own each time, whatever it is made of."""
        return makes_anew(self._node.own, of)

    def _converts(self, call: Call, given: Expression) -> bool:
        """Whether a call gives an array or a tensor as another type, or in another kind of container."""
        if isinstance(call.function, Attribute) and call.function.owner is given:
            value = self.value(given)
            found = method_of(value.sample, call.function.name) if isinstance(value, Value) else None
            return found is not None and converts(found[1])
        rule = rule_of(self._node.own.means_if_seen(call.function))
        return rule is not None and converts(rule) and isinstance(self.value(given), Value)

    def _part(self, owner: Expression, number: int, count: int) -> Any:
        value = self.value(owner)
        if isinstance(value, Record):
            if len(value.sample) != count:
                raise UnreadableError(f"unpacks {len(value.sample)} values to {count}")
            return (
                self._member(value, tuple(value.sample)[number])
                if type(value.sample) is dict
                else self._member(value, number)
            )
        if isinstance(value, list):
            if len(value) != count:
                raise UnreadableError(f"unpacks {len(value)} values to {count}")
            return value[number]
        sample = value.sample
        if value.constant and type(sample) in (tuple, list, torch.Size) and len(sample) == count:
            return Value(sample[number], constant=True)
        if kind_of(sample) in ("array", "tensor") and sample.ndim and len(sample) == count:
            return self._arithmetic.viewed(lambda whole: whole[number], value, (), {})
        raise UnreadableError(f"unpacks a {type(sample).__qualname__}")

    def _attribute(self, owner: Expression, name: str) -> Any:
        value = self._single(owner)
        if type(value.sample) is AnyLength and name in ("shape", "dtype", "ndim"):
            if name == "shape":
                return self._listed(tuple, self._shape(value))
            return Value(getattr(value.sample.first, name), constant=True)
        if type(value.sample) is AnyLength and name == "T":
            return self._item_by_item(value, lambda a, each: a.viewed(lambda whole: whole.T, each, (), {}))
        if kind_of(value.sample) not in ("array", "tensor", "scalar"):
            raise UnreadableError(f"uses .{name} of a {type(value.sample).__qualname__}")
        if name in ("shape", "dtype", "ndim", "size") and not (name == "size" and kind_of(value.sample) == "tensor"):
            return Value(getattr(value.sample, name), constant=True)
        if name in ("T", "mT"):
            return self._arithmetic.viewed(lambda whole: getattr(whole, name), value, (), {})
        raise UnreadableError(f"uses .{name}")

    def _call(self, function: Expression, values: list[Any], options: dict[str, Any]) -> Any:
        if isinstance(function, Attribute):
            called = self._node.own.means_if_seen(function)
            bound = called.__self__ if type(called) in (BuiltinFunctionType, MethodType, MethodWrapperType) else None
            if called is None or kind_of(bound):
                return self._method(function.owner, function.name, values, options)
        else:
            called = self._node.own.means(function)
        if called is len:
            (value,) = values
            if isinstance(value, Value) and type(value.sample) is AnyLength and not options:
                return self._shape(value)[0]
            if isinstance(value, Value) and kind_of(value.sample) in ("array", "tensor") and not options:
                if value.constant and isinstance(function, Name):
                    return Value(len(value.sample), constant=True)
                return Value(self._arithmetic.done(len, values), constant=True)
            if isinstance(value, Value) and value.constant and type(value.sample) in (list, tuple, str) and not options:
                return Value(len(value.sample), constant=True)
            raise UnreadableError("asks for the length of what is no array")
        rule = rule_of(called)
        if rule is None or not values:
            raise UnreadableError(f"calls {function}")
        if isinstance(values[0], Value) and type(values[0].sample) is AnyLength:
            return self._each(called, rule, values, options)
        return rule(self._arithmetic, called, values, options)

    def _method(self, owner: Expression, name: str, values: list[Any], options: dict[str, Any]) -> Any:
        value = self._single(owner)
        differs = type(value.sample) is AnyLength
        if (
            name in ("dim", "size")
            and not options
            and kind_of(value.sample.first if differs else value.sample) == "tensor"
        ):
            return self._size(name, value, values)
        found = method_of(value.sample.first if differs else value.sample, name)
        if found is None:
            raise UnreadableError(f"calls .{name} of a {type(value.sample).__qualname__}")
        function, rule = found
        if differs:
            return self._each(function, rule, [value, *values], options)
        return rule(self._arithmetic, function, [value, *values], options)

    def _size(self, name: str, value: Value, values: list[Any]) -> Any:
        """What a tensor says of its shape: all of it, an extent, or how many there are."""
        shape = self._shape(value)
        if name == "dim" and not values:
            return Value(len(shape), constant=True)
        if name == "size" and not values:
            return self._listed(tuple, shape)
        at = self._dimension(values, len(shape))
        if name != "size" or at is None:
            raise UnreadableError(f"calls .{name} with other arguments")
        return shape[at]

    def _dimension(self, values: list[Any], count: int) -> int | None:
        """The number of a dimension, of so many, that is the same for all; None for anything else."""
        (value,) = values if len(values) == 1 else (None,)
        known = value.sample if isinstance(value, Value) and value.constant else None
        return known if type(known) is int and -count <= known < count else None

    def _shape(self, value: Value) -> list[Value]:
        """The extents of an array, or of a tensor. Raises UnreadableError where one is not known ahead."""
        if type(value.sample) is not AnyLength:
            return [Value(extent, constant=True) for extent in value.sample.shape]
        first, base, axis = value.sample.first, value.sample.base, value.sample.axis
        shape = [Value(extent, constant=True) for extent in np.shape(first)]
        if not isinstance(base, Ahead) or axis is None:
            raise UnreadableError("asks for the shape of arrays that differ in length")
        lengths = base.lengths
        assert lengths is not None
        self._node.domain.limit(INDEX, len(base))
        shape[axis] = self._number(Integers(0, 0, lambda indices: lengths[np.clip(indices, 0, len(lengths) - 1)]))
        return shape

    # Values that are worked out ahead

    def _read_by(self, called: Expression) -> tuple[ArrayReader, Expression, Call] | None:
        """What reads the arrays in a file, and the file's path, if that is called, or entered, there."""
        match called:
            case Closed(value=Call(arguments=(Entered(), *_)) as call):
                pass  # all is read by then
            case Entered(manager=call) | call:
                pass
        match call:
            case Call(function=function, arguments=(file, *_)) if self._depends(file):
                reader = array_reader_of(self._node.own.means_if_seen(function))
                path = opened_path(self._node.own, file) if reader is not None and reader.opened else file
                if reader is not None and (path is not file) is reader.opened and not isinstance(path, Entered):
                    return reader, path, call
        return None

    def _loaded(self, reader: ArrayReader, path: Expression, call: Call, within: Within | None) -> Value:
        others = call.arguments[1:]
        options = dict(call.options)
        name = f"{reader.library.__name__}.{reader.name}"
        if not reader.is_original():
            raise UnreadableError(f"calls {name}, which was replaced")
        given = dict(zip(reader.parameters, others, strict=False)) | options
        values = {name: self._single(each) for name, each in given.items()}
        constants = {name: each.sample for name, each in values.items() if each.constant}
        if len(constants) < len(others) + len(options) or not reader.known(constants):
            raise UnreadableError(f"calls {name} with other arguments")
        if within is not None and type(within.key) not in reader.keys:
            raise UnreadableError(f"takes items of what {name} gives")
        return self._of_files(self._node.loaded(path, reader, constants, within))

    def _of_files(self, base: FilesAhead) -> Value:
        self._node.domain.limit(INDEX, len(base))
        if base.array is None:
            return self._of_any_length(base, INDEX)

        def make() -> Items:
            self.inputs.append(Input(base, base.array, INDEX))
            return self.writer.input(_dtype_name(base.array), np.shape(base.first))

        return Value(base.first, make=make, small=type(base.first) is float)

    def _sound(self, reader: Reader, function: Expression, path: Expression, options: dict[str, Expression]) -> Any:
        """A sound and its rate, in the order in which the function gives them."""
        given = {name: self._single(each) for name, each in options.items()}
        if not all(each.constant for each in given.values()):
            raise UnreadableError(f"calls {function} with arguments that depend on the index")
        constants = {name: each.sample for name, each in given.items()}
        base = self._node.sounds(path, how_read(reader, self._node.own.means(function), constants))
        pair = [self._of_files(base), Value(base.rate, constant=True)]
        return pair[::-1] if reader.rate_first else pair

    def _words(self, item: Expression, text: Expression) -> Value:
        """[item for each in text]: the number of each character, or word."""
        table, other = self._looked_up_in(item, Member(text))
        return self._of_any_length(self._node.texts(text, table, other), INDEX)

    def _laid(self, expression: Expression, whole: Value, key: Display, item: Value) -> Value:
        """An array, or a tensor, after array[begin:end] = item, as far as this tells a length of a text."""
        ends = list(map(self._end, key.items))
        before = whole.base if isinstance(whole, _LaidValue) else whole.sample
        several = type(item.sample) is AnyLength
        of = item.sample.base if several else self._node.any_texts()
        known = isinstance(whole, _LaidValue) or (whole.constant and kind_of(before) in ("array", "tensor"))
        if not known or np.ndim(whole.sample) != 1 or not len(whole.sample) or type(of) is not TextsAhead:
            raise UnreadableError("sets a part of an array")
        if len(ends) != 2 or (isinstance(before, Laid) and len(before) != len(of)):
            raise UnreadableError("sets a part of an array in steps, or by other samples")
        number = None
        if several:
            alike = type(item.sample.first) is type(whole.sample) and item.sample.first.dtype == whole.sample.dtype
            if not alike or not of.fit(dtype_of(whole.sample)):
                raise UnreadableError("sets a part of an array to what has another type")
        elif item.constant and type(item.sample) in (int, float, bool):
            number = first_put(self._arithmetic, whole, item)
        else:
            raise UnreadableError("sets a part of an array to what is no number, or not always the same")
        if any(each is not None and each.constant is None for each in ends):
            self._node.domain.plain = False  # what an index below 0 tells is another end
        base = self._node.laid(expression, lambda: Laid(of, before, ends, number))
        made = self._viewed(base, base.array, INDEX, ())
        return _LaidValue(made.sample, make=lambda: made.items, base=base)

    def _each(self, function: Any, rule: Any, values: list[Any], options: dict[str, Value]) -> Value:
        """What a function makes of arrays, or lists, that differ in length."""
        value, *rest = values
        if value.sample.one is None:
            return self._of_cuts(
                self._converted(function, rule, values, options),
                value,
                lambda part: (self._each if type(part.sample) is AnyLength else self._done)(
                    function, rule, [part, *rest], options
                ),
            )
        constant = all(isinstance(each, Value) and each.constant for each in (*rest, *options.values()))
        if not constant or not goes_item_by_item(rule):
            raise UnreadableError(f"calls {function} with arrays that differ in length")
        return self._item_by_item(value, lambda a, each: rule(a, function, [each, *rest], options))

    def _done(self, function: Any, rule: Any, values: list[Any], options: dict[str, Value]) -> Value:
        made: Value = rule(self._arithmetic, function, values, options)
        return made

    def _of_cuts(self, made: Value, of: Value, do: Callable[[Value], Value]) -> Value:
        """What was made of arrays that differ in length, of which slices are what `do` makes of theirs."""
        by, axis = of.sample.cut, made.sample.axis
        if by is None or axis:
            return made
        sample = dataclasses.replace(made.sample, cut=lambda key: do(by(key)))
        return dataclasses.replace(made, sample=sample)

    def _converted(self, function: Any, rule: Any, values: list[Any], options: dict[str, Value]) -> Value:
        """The same of arrays, or lists, that differ in length, each as another type."""
        value, *rest = values
        first, base = value.sample.first, value.sample.base
        if not converts(rule):
            raise UnreadableError("does more with arrays that differ in length than to convert them")
        if type(first) is not list:
            made = rule(self._arithmetic, function, [Value(first, make=lambda: value.items), *rest], options)
        else:
            if not all(isinstance(each, Value) and each.constant for each in (*rest, *options.values())):
                raise UnreadableError("makes an array of a list in a way that depends on the index")
            sample = self._arithmetic.done(function, [Value(first or [0]), *rest], options)
            dtype = dtype_of(sample) if kind_of(sample) in ("array", "tensor") else ""
            if not first:
                raise UnreadableError("makes an array of an empty list")
            if not base.fit(dtype):
                raise UnreadableError(f"makes {dtype or type(sample).__qualname__} of a list")
            made = Value(sample, make=lambda: self._arithmetic.items(value, dtype))
        if kind_of(made.sample) not in ("array", "tensor") or np.shape(made.sample) != np.shape(first):
            raise UnreadableError("makes something else of arrays that differ in length")
        return Value(AnyLength(made.sample, base, value.sample.axis), make=lambda: made.items)

    def _item_by_item(self, value: Value, do: Callable[[Arithmetic, Value], Value]) -> Value:
        """What is done with each item of arrays that differ in length, by itself."""
        of: AnyLength = value.sample
        if of.one is None or of.axis is None:
            raise UnreadableError("does more with arrays that differ in length than to convert them")
        made, other = do(self._arithmetic, of.one), Writer()
        whole = do(Arithmetic(other), Value(of.first, make=lambda: other.input(dtype_of(of.first), of.first.shape)))
        if kind_of(whole.sample) not in ("array", "tensor") or kind_of(made.sample) != kind_of(whole.sample):
            raise UnreadableError("makes something else of arrays that differ in length")
        one, first = tuple(made.sample.shape), tuple(whole.sample.shape)
        axes = [axis for axis, both in enumerate(zip(one, first, strict=False)) if both[0] != both[1]]
        if len(one) != len(first) or len(axes) != 1 or one[axes[0]] != 1 or first[axes[0]] != of.first.shape[of.axis]:
            raise UnreadableError("makes another length of arrays that differ in length")
        (axis,) = axes
        if whole.items.room == INPUT and whole.items.strides[axis] != contiguous(of.first.shape)[of.axis]:
            raise UnreadableError("takes the items of arrays that differ in length in another order")
        self._check_order(first, axis)
        return self._of_cuts(
            Value(AnyLength(whole.sample, of.base, axis, made), make=lambda: made.items),
            value,
            lambda part: self._item_by_item(part, do) if type(part.sample) is AnyLength else do(self._arithmetic, part),
        )

    def _check_order(self, shape: tuple[int, ...], axis: int) -> None:
        """Raises UnreadableError unless items along an axis lie one after the other."""
        if math.prod(shape[:axis]) > 1 or (axis and math.prod(shape[axis + 1 :]) > 1):
            raise UnreadableError("moves dimensions of arrays that differ in length")

    # Items

    def _item(self, owner: Expression, key: Expression) -> Any:
        keys = keys_of(key)
        if not owner.has(Index, Call, Binary) or self._node.is_stored(owner):
            if not any(self._depends(each) for each in keys):
                return Value(self._arithmetic_of_constant(owner, keys), constant=True)
            first = self._node.record(owner)
            if first is None:
                return self._row(self._node.base(owner), keys)
            if len(keys) > 1 or isinstance(keys[0], Display):
                raise UnreadableError("takes windows of a list")
            return self._record(owner, (), self._integers(self.value(keys[0])), first)
        if isinstance(owner, Item) and (base := self._array_of_rows(owner.owner, owner.key, keys)) is not None:
            return self._row(base, [owner.key, *keys])
        value = self.value(owner)
        if isinstance(value, Record):
            return self._member(value, self._key(key))
        if isinstance(value, _Numbers):
            at = self._key(key)
            if type(at) is not slice:
                raise UnreadableError("takes a number of a list that was made")
            return self._listing(self._arithmetic.viewed(lambda whole: whole[at], value.array, (), {}))
        if isinstance(value, Value) and (taken := self._places(keys)) is not None:
            return self._at_places(value, *taken)
        constants = [self._key(each) for each in keys]
        if isinstance(value, list) or type(value.sample) in (tuple, list, torch.Size):
            if len(constants) != 1 or type(constants[0]) is not int:
                raise UnreadableError("takes items of a list by what is no number")
            try:
                return (
                    value[constants[0]] if isinstance(value, list) else Value(value.sample[constants[0]], constant=True)
                )
            except IndexError:
                raise UnreadableError("takes an item that is not there") from None
        at = tuple(constants) if isinstance(key, Display) and key.kind is tuple else constants[0]
        cuts = type(constants[0]) is slice and constants[0] != slice(None)
        if type(value.sample) is AnyLength and cuts and not value.sample.axis:
            value = self._cut(value, constants[0])
            if len(constants) == 1:
                return value
            at = (slice(None), *constants[1:])
        if type(value.sample) is AnyLength:
            places, axis = [each for each in constants if each is not None], value.sample.axis or 0
            if ... in places or type(places[axis] if axis < len(places) else None) is not slice:
                raise UnreadableError("takes some of the items of arrays that differ in length")
            return self._item_by_item(value, lambda a, each: a.viewed(lambda whole: whole[at], each, (), {}))
        return self._arithmetic.viewed(lambda whole: whole[at], value, (), {})

    def _cut(self, value: Value, key: slice) -> Value:
        """Some of the items of arrays, or lists, that differ in length: those of a slice."""
        if value.sample.cut is None or key.step not in (None, 1):
            raise UnreadableError("takes some of the items of arrays that differ in length")
        made: Value = value.sample.cut(key)
        return made

    def _array_of_rows(self, owner: Expression, key: Expression, keys: list[Expression]) -> Base | None:
        """What owner[key] is one row of, if that is an array, and a number or a slice that depends on the index takes
        items of the row: these are the array's."""
        dependent = [each for each in keys if self._depends(each)]
        if not dependent or isinstance(key, Display) or not self._depends(key) or self._depends(owner):
            return None
        for each in dependent:
            if not isinstance(each, Display):
                value = self.value(each)
                if not isinstance(value, Value) or np.ndim(value.sample):
                    return None
        if self._node.record(owner) is not None:
            return None
        base = self._node.base(owner)
        return None if base.is_list else base

    def _places(self, keys: list[Expression]) -> tuple[int, int, Value] | None:
        """How many keys there are, of which one is an array or a list of places and the others are all there is; which
        one it is; and it."""
        found = None
        for axis, key in enumerate(keys):
            if isinstance(key, Display) and key.kind is slice:
                if self._key(key) != slice(None):
                    return None
                continue
            value = self.value(key)
            several = isinstance(value, Value) and (
                (kind_of(value.sample) in ("array", "tensor") and value.sample.ndim == 1)
                or (value.constant and type(value.sample) is list)
            )
            if not several or found is not None:
                return None
            found = axis, value
        return None if found is None else (len(keys), *found)

    def _at_places(self, value: Value, count: int, axis: int, places: Value) -> Value:
        if type(value.sample) is AnyLength:
            raise UnreadableError("takes some of the items of arrays that differ in length")

        def function(whole: Any, at: Any) -> Any:
            return whole[at] if count == 1 else whole[tuple(at if d == axis else slice(None) for d in range(count))]

        return self._arithmetic.taken(function, value, axis, places)

    def _arithmetic_of_constant(self, owner: Expression, keys: list[Expression]) -> Any:
        worked_out = owner.has(Binary, Call, Unary, Display, Part)
        whole = self.value(owner) if worked_out else Value(self._constant(owner), constant=True)
        at = [self._key(each) for each in keys]
        if not kind_of(whole.sample) and type(whole.sample) not in (tuple, list, torch.Size, dict):
            raise UnreadableError("takes items of what is no array")
        return self._arithmetic.done(lambda value: value[tuple(at) if len(at) > 1 else at[0]], [whole])

    def _depends(self, key: Expression) -> bool:
        return key.has(Index)

    def _key(self, key: Expression) -> Any:
        """A constant that items are taken by."""
        if isinstance(key, Display) and key.kind is slice:
            return slice(*map(self._key, key.items))
        value = self.value(key)
        if isinstance(value, Value) and value.constant and type(value.sample) in (int, type(None), type(...), str):
            return value.sample
        raise UnreadableError("takes items of an item by more than constants")

    def _record(self, place: Expression, path: tuple[Any, ...], rows: Integers, first: Any) -> Any:
        """What is at a place in an item of a list."""
        if type(first) not in (list, tuple, dict):
            return self._taken(self._node.base(place, path), rows)
        if are_numbers(first) and (uneven := self._node.uneven(place, path)) is not None:
            return self._of_any_length(uneven, rows)

        def make() -> Items:
            return self._taken(self._node.base(place, path), rows).items

        return Record(first, make=make, place=place, path=path, rows=rows)

    def _member(self, record: Record, key: Any) -> Any:
        """Raises UnreadableError where there is none."""
        if type(key) is slice:
            if type(record.sample) is dict or set(map(type, record.sample)) not in ({int}, {float}, {bool}):
                raise UnreadableError("takes a slice of more than numbers")
            array = Value(np.array(record.sample), make=lambda: record.items)
            return self._listing(self._arithmetic.viewed(lambda whole: whole[key], array, (), {}))
        try:
            first = record.sample[key]
        except (LookupError, TypeError):
            raise UnreadableError("takes an item that is not there") from None
        return self._record(record.place, (*record.path, key), record.rows, first)

    def _taken(self, base: Base | Ahead, rows: Integers) -> Value:
        if base.array is None:
            return self._of_any_length(base, rows)
        return self._viewed(base, base.array, rows, ())

    def _row(self, base: Base, keys: list[Expression]) -> Value:
        """Rows of a base, or windows, by one number that depends on the index, or by two along its first axes; and what
        constants take of these."""
        dependent = [n for n, each in enumerate(keys) if self._depends(each)]
        axis = dependent[0]
        if base.is_list:
            if len(keys) > 1 or isinstance(keys[0], Display):
                raise UnreadableError("takes windows of a list")
            return self._taken(base, self._integers(self.value(keys[0])))
        array, first = base.array, None
        if dependent == [0, 1] and not base.stored and _is_slice(keys[0]) and not _is_slice(keys[1]):
            return self._window_of_rows(base, keys)
        if len(dependent) > 1:
            first, array, step = self._rows_of_rows(base, keys, dependent)
            keys = keys[1:]
        before = [self._key(each) for each in keys[:axis]]
        if any(each is None or each is ... for each in before) or axis >= array.ndim:
            raise UnreadableError("takes items in a way that is not known")
        rest = [self._key(each) for each in keys[axis + 1 :]]
        key, window = keys[axis], 0
        if isinstance(key, Display) and key.kind is slice:
            start, stop = map(self._end, key.items[:2])
            by = self._key(key.items[2]) if len(key.items) > 2 else None
            if stop is None or not (by is None or (type(by) is int and by > 0)):
                raise UnreadableError("takes windows without an end, or backwards")
            start = Integers(0, 0) if start is None else start
            length = self._extent(start, stop)
            if length is None or not 0 < length <= array.shape[axis]:
                raise UnreadableError("takes windows that differ in length, or are too long")
            view, rows = windows(array, axis, length), start
            self._node.domain.plain = False
            window = length if axis == 0 and first is None and not rest and by in (None, 1) else 0
            around = (*before, slice(None, None, None if by == 1 else by), *rest)
        else:
            rows, length = self._integers(self.value(key)), 1
            view = array.movedim(axis, 0) if isinstance(array, torch.Tensor) else np.moveaxis(array, axis, 0)
            around = (*before, *rest)
        if first is not None:
            self._node.domain.limit(rows, base.array.shape[1] - length + 1)
            joined = first.joined("*", Integers(0, step))
            joined = None if joined is None else joined.joined("+", rows)
            if joined is None:
                raise UnreadableError("takes items by several numbers that depend on the index")
            rows = joined
        return self._viewed(base, view, rows, around, window)

    def _window_of_rows(self, base: Base, keys: list[Expression]) -> Value:
        """array[start:stop, number]: both depend on the index."""
        array = base.array
        start, stop, *step = map(self._end, keys[0].items)  # type: ignore[attr-defined] # a slice
        length = None if start is None or stop is None or step else self._extent(start, stop)
        if length is None or start is None or not 0 < length <= array.shape[0]:
            raise UnreadableError("takes windows that differ in length, or are too long")
        number = self._integers(self.value(keys[1]))
        self._node.domain.limit(start, array.shape[0] - length + 1)
        self._node.domain.limit(number, array.shape[1])
        flat, each = flattened(array)
        rows = start.joined("*", Integers(0, each))
        rows = None if rows is None else rows.joined("+", number)
        if rows is None:
            raise UnreadableError("takes items by several numbers that depend on the index")
        self._node.domain.plain = False
        view = windows(flat, 0, (length - 1) * each + 1)[:, ::each]
        return self._viewed(base, view, rows, (slice(None), *map(self._key, keys[2:])))

    def _rows_of_rows(self, base: Base, keys: list[Expression], dependent: list[int]) -> tuple[Integers, Any, int]:
        """The number along the first axis, the array with its first two axes as one, and how far it is along that from
        one row to the next."""
        array = base.array
        slices = isinstance(keys[0], Display) and keys[0].kind is slice
        if dependent != [0, 1] or slices or array.ndim < 2 or base.stored is not None:
            raise UnreadableError("takes items by several numbers that depend on the index")
        first = self._integers(self.value(keys[0]))
        self._node.domain.limit(first, array.shape[0])
        return first, *flattened(array)

    def _extent(self, start: Integers, stop: Integers) -> int | None:
        """How many items a window has, if it is as many for every index."""
        length = stop.minus(start)
        if length is not None or (start.table is None and stop.table is None):
            return length
        count, missing = self._node.domain.settle()
        indices = np.arange(count) if missing is None else np.flatnonzero(~missing)
        lengths = stop.at(indices) - start.at(indices)
        return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else None

    def _viewed(self, base: Base | Ahead, view: Any, rows: Integers, around: tuple[Any, ...], window: int = 0) -> Value:
        """Rows of a view of a base, and items of these."""
        self._node.domain.limit(rows, len(view))
        base.reads(rows)
        sample, integers = base.first if base.is_list else like(view), None
        if around and any(each != slice(None) for each in around):
            sample = self._arithmetic.done(lambda whole: whole[around], [Value(sample)])
            view = view[(slice(None), *around)]
        if base.stored is not None:
            sample = base.stored.copy(sample, around)
        if base.piece.array.path is not None and is_scattered(view.shape, view.strides, view.itemsize):
            raise UnreadableError("takes items that are scattered over a file")
        if view.ndim > DIMENSIONS_MAX:
            raise UnreadableError("takes items of too many dimensions")
        if view.ndim == 1:
            integers = self._looked_up(base, rows, sample, around)

        def make() -> Items:
            self.inputs.append(Input(base, view, rows, window))
            return self.writer.input(_dtype_name(view), tuple(view.shape[1:]))

        small = type(sample) is float
        return Value(sample, make=make, integers=integers, small=small)

    def _looked_up(self, base: Base | Ahead, rows: Integers, sample: Any, around: tuple[Any, ...]) -> Integers | None:
        """What an integer is for each index, in case that items are taken by it."""
        integer = type(sample) is int or (
            isinstance(sample, torch.Tensor | np.generic)
            and "int64" in str(sample.dtype)
            and "u" not in str(sample.dtype)
        )
        if not integer or around or base.array.ndim != 1:
            return None
        known: list[Integers] = []

        def table(indices: Indices) -> Indices:
            if not known:
                known.append(_numbers_of(base, rows))
            return known[0].at(indices)

        return Integers(0, 0, table)

    def _of_any_length(self, base: Base | Ahead, rows: Integers, cuts: tuple[slice, ...] = ()) -> Value:
        """Arrays that differ in length, or slices of them: to be given as they are, or cast."""
        self._node.domain.limit(rows, len(base.piece))
        base.reads(rows)

        first: Any = base.first
        axis = getattr(base, "axis", None)
        if cuts:
            whole: Any = base.piece.array
            lengths = cut(whole.lengths, cuts)[1]
            for each in cuts:
                first = first[each]
            if type(first) in (list, tuple) and not lengths.all():
                raise UnreadableError("takes none of the items of a list")
            if len(set(lengths.tolist())) == 1 and len(first):
                return self._cut_alike(base, rows, cuts, first)
        alone = axis == 0 and isinstance(first, np.ndarray) and len(first) > 1
        shape = (1, *first.shape[1:]) if alone else tuple(np.shape(first))

        def make() -> Items:
            self.inputs.append(Input(base, None, rows, cuts=cuts))
            return self.writer.input(dtype_of(first), shape)

        one = Value(first[:1].copy(), make=make) if alone else None
        along = not axis and base.piece.array.lengths is not None and getattr(base.piece, "in_one_piece", False)
        again = (lambda key: self._of_any_length(base, rows, (*cuts, key))) if along else None
        return Value(AnyLength(first, base, axis, one, again), make=make if one is None else lambda: one.items)

    def _cut_alike(self, base: Base | Ahead, rows: Integers, cuts: tuple[slice, ...], first: Any) -> Value:
        """Slices that do not differ in length, of arrays or lists that do."""

        def make() -> Items:
            self.inputs.append(Input(base, None, rows, cuts=cuts, extent=len(first)))
            return self.writer.input(dtype_of(first), tuple(np.shape(first)))

        if type(first) not in (list, tuple):
            return Value(first, make=make)
        return self._listing(Value(np.array(first), make=make))

    def _looked_up_in(self, item: Expression, member: Expression) -> tuple[Expression, int | None]:
        """The dict that an expression looks a member up in, and the number of what is not in it; None if there is
        none."""
        match item:
            case Item(owner=table, key=each) if each == member:
                return table, None
            case Call(function=Attribute(owner=table, name="get"), arguments=(each, other), options=()) if (
                each == member and not self._depends(other)
            ):
                number = self._constant(other)
                if type(number) is int:
                    return table, number
        raise UnreadableError(f"goes over {member}")

    def _tokens(self, item: Expression, text: Expression, key: Expression) -> Value:
        """[item for each in text[key]]: the number of each character."""
        table, other = self._looked_up_in(item, Member(Item(text, key)))
        return self._listing(self._row(self._node.text(text, table, other), [key]))

    def _listing(self, array: Value) -> Value:
        """The list of Python's numbers that an array has."""
        sample = array.sample.tolist()
        if not sample:
            raise UnreadableError("makes an empty list")
        dtype = {int: "int64", float: "float64", bool: "bool"}[type(sample[0])]
        return _Numbers(sample, make=lambda: self._arithmetic.items(array, dtype), array=array)

    def _ends(self, key: Expression) -> Value | tuple[Value, ...]:
        """What items are set by along an axis: of a slice its ends, and its step."""
        if isinstance(key, Display) and key.kind is slice:
            return tuple(map(self._single, key.items))
        return self._single(key)

    def _end(self, key: Expression) -> Integers | None:
        value = self.value(key)
        if isinstance(value, Value) and value.constant and value.sample is None:
            return None
        return self._integers(value)


@dataclasses.dataclass(eq=False)
class Record(Value):
    """A list, tuple or dict that is an item of a list, or in one.

    place, path  the list, and the keys that lead to it in each item
    rows         which item it is
    """

    place: Expression = dataclasses.field(kw_only=True)
    path: tuple[Any, ...] = dataclasses.field(kw_only=True)
    rows: Integers = dataclasses.field(kw_only=True)

    def spread(self, given: Expression) -> Expression:
        """What is in it, one by one."""
        if type(self.sample) is dict:
            return Mapping(tuple(self.sample), tuple(Item(given, Constant(name, type(name))) for name in self.sample))
        return Display(tuple, tuple(Item(given, Constant(n, int)) for n in range(len(self.sample))))


@dataclasses.dataclass(eq=False)
class _Numbers(Value):
    """A list of numbers, as many for every index, which `array` has."""

    array: Value = dataclasses.field(kw_only=True)


@dataclasses.dataclass(eq=False)
class _LaidValue(Value):
    """An array, or a tensor, of which parts were set."""

    base: Laid = dataclasses.field(kw_only=True)


@dataclasses.dataclass(frozen=True)
class AnyLength:
    """One of the arrays of a list that differ in length, like the first.

    base  what they are taken of
    axis  along which they differ, if that is known
    one   one of their items along it, with that axis; None where nothing is done with each by itself
    cut   makes the same of a slice of each; None where that is not known
    """

    first: Any
    base: Any = None
    axis: int | None = None
    one: Value | None = None
    cut: Callable[[slice], Value] | None = None


def _numbers_of(base: Base | Ahead, integers: Integers) -> Integers:
    """What the items of a base are, for these: numbers that are worked out ahead."""
    items = base.numbers(integers)  # type: ignore[union-attr] # of numbers
    last = len(items) - 1

    def table(indices: Indices) -> Indices:
        return items[np.clip(integers.at(indices), 0, last)]

    return Integers(0, 0, table)


RANGES = (torch.arange, np.arange)


def keys_of(key: Expression) -> list[Expression]:
    """What whole[key] takes along each axis."""
    return list(key.items) if isinstance(key, Display) and key.kind is tuple else [key]


def _is_slice(key: Expression) -> bool:
    return isinstance(key, Display) and key.kind is slice


def are_numbers(first: Any) -> bool:
    """Whether it is a list of numbers that a batch may have as a row."""
    return type(first) in (list, tuple) and set(map(type, first)) in ({int}, {float})


def _dtype_name(array: Any) -> str:
    return str(array.dtype).removeprefix("torch.")
