"""What a collate_fn does, read from its bytecode."""

from __future__ import annotations

import collections.abc
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import torch

from ...bytecode import (
    Attribute,
    Batch,
    Binary,
    Call,
    Constant,
    Display,
    Expression,
    Item,
    Itself,
    Member,
    Part,
    Reader,
    Reading,
    Sorted,
    Spread,
)
from ...datasets.own.code import OwnCode, is_plain
from ...refusal import RefusalError
from ...trust.look import in_class, name_of, parents


class SampleAskedError(RefusalError):
    """What a collate_fn does depends on what samples are: it is read again for one."""


@dataclass(frozen=True)
class Kind:
    """What a field is; None where samples may differ in that."""

    kind: type | None


class CollateCode(OwnCode):
    """What `collate_fn(batch)` does. Nothing of it is run.

    sample  a tuple of what is known of all samples: Kinds of fields, in dicts, tuples and lists; () for nothing

    Raises SampleAskedError where it would have to be.
    """

    what = "it"

    def __init__(self, given: Any, sample: tuple[Any, ...] = ()) -> None:
        self.given, self._sample, self._asked = given, sample, False
        self._by_sample: set[Expression] = set()
        self.arguments = (Batch(),) if type(given) is FunctionType else (Itself(), Batch())
        super().__init__(given.__self__ if type(given) is MethodType else given)

    def function_of(self, dataset: Any) -> FunctionType:
        if type(self.given) is FunctionType:
            return self.given
        if type(self.given) is partial:
            owner: Any = self.given.func
        else:
            owner = self.given.__func__ if type(self.given) is MethodType else in_class(type(dataset), "__call__")
        if type(owner) is not FunctionType or not (type(self.given) is partial or is_plain(dataset)):
            raise self.refusal("it is neither a plain function nor a plain object with a __call__")
        return owner

    def refusal(self, why: str) -> RefusalError:
        kind = SampleAskedError if self._asked and not self._sample else RefusalError
        return kind("collate", name_of(self.given), why, "COLLATE_OWN")

    def _reading(self) -> Reading:
        reader = Reader(
            self._decide, self._callee, self.means, keeps=self._keeps, told=self.told, count=self._count,
            names=self._names,
        )  # fmt: skip
        if type(self.given) is partial:
            called = self._callee(Call(Itself(), (Batch(),)))
            assert called is not None  # it is of a plain function
            reading = reader.read_call(called)
        else:
            reading = reader.read(self._function, self.arguments)
        # Samples go on being what they are as long as the dataset does.
        lasting = tuple(each for each in reading.conditions if each[0] not in self._by_sample)
        return replace(reading, conditions=lasting)

    def _count(self, of: Expression) -> int:
        match self._in_sample(of):
            case (tuple() | list() as whole,):
                return len(whole)
        return 0

    def _names(self, of: Expression) -> tuple[Any, ...] | None:
        match self._in_sample(of):
            case (dict() as whole,):
                return tuple(whole)
        return None

    def _in_sample(self, of: Expression) -> tuple[Any, ...]:
        """A tuple of what is known of a part of every sample; () for what is none."""
        match of:
            case Member(owner=Batch() | Sorted()) | Item(owner=Batch() | Sorted(), key=Constant(value=int())):
                self._asked = True
                return self._sample
            case (
                Member(owner=Display(items=(Spread(item=item),)))
                | Item(owner=Display(items=(Spread(item=item),)), key=Constant(value=int()))
            ):
                return self._in_sample(item)
            case Part(owner=Member(owner=Call(function=function, arguments=(whole,))), number=1, count=2) if (
                self.if_seen(function) is enumerate
            ):
                return self._in_sample(Member(whole))
            case Item(owner=owner, key=Constant(value=key)) | Part(owner=owner, number=key):
                return _item(self._in_sample(owner), key)
        return ()

    def _outcome(self, condition: Expression) -> bool | None:
        outcome = self._of_kinds(condition)
        if outcome is not None:
            self._by_sample.add(condition)
            return outcome
        match condition:
            case Binary(operator="==" | "!=" as name, left=Binary(operator="%", left=whole, right=step), right=rest):
                # Whether a length is a multiple of one: of other steps, that depends on the batch.
                if self._is_whole(whole) and type(self.value(step)) is int and self.value(step) == 1:
                    return (self.value(rest) == 0) is (name == "==")
        return super()._outcome(condition)

    def _of_kinds(self, condition: Expression) -> bool | None:
        """How a condition comes out that goes by what kind of thing all samples, or all of a field, are."""
        match condition:
            case Binary(operator="is" | "is not" as name, left=of, right=Constant(value=None)):
                return None if self._kind(of) is None else name == "is not"
            case Binary(operator="in" | "not in" as name, left=Constant(value=key), right=of):
                names = self._names(of)
                return None if names is None else (key in names) is (name == "in")
            case Call(function=function, arguments=(of,), options=()) if kind := self._kind(of):
                return kind is torch.Tensor if self.value(function) is torch.is_tensor else None
            case Call(function=function, arguments=(of, kinds), options=()) if kind := self._kind(of):
                if self.value(function) is isinstance:
                    known = self.known(kinds)
                    return _is_one(kind, known if type(known) is tuple else (known,))
        return None

    def _kind(self, of: Expression) -> type | None:
        """The type of a part of every sample; None where that is not known."""
        match self._in_sample(of):
            case (Kind(kind=kind),):
                return kind
            case (whole,):
                return type(whole)
        return None

    def _is_whole(self, expression: Expression) -> bool:
        """Whether it is an int, of lengths."""
        match expression:
            case Call(function=Attribute(name="size"), arguments=(_,), options=()):
                return True
            case Call(function=function, arguments=(Display(items=(Spread(item=item),)),), options=()):
                return self.if_seen(function) in (max, min) and self._is_whole(item)
            case Call(function=function, arguments=(_,), options=()):
                return self.if_seen(function) is len
        return False


def _item(of: tuple[Any, ...], key: Any) -> tuple[Any, ...]:
    """The item of a part of a sample."""
    match of:
        case (dict() as named,) if key in named:
            return (named[key],)
        case (tuple() | list() as numbered,) if type(key) is int and -len(numbered) <= key < len(numbered):
            return (numbered[key],)
    return ()


def _is_one(kind: type, of: tuple[Any, ...]) -> bool | None:
    """Whether objects of a class are of one of several, too; None if code of others would have to say."""
    abstract = [vars(collections.abc).get(getattr(each, "__name__", "")) is each for each in of]
    if not all(plain or type(each) is type or each is torch.Tensor for each, plain in zip(of, abstract, strict=True)):
        return None
    return any(
        issubclass(kind, each) if plain else each in parents(kind) for each, plain in zip(of, abstract, strict=True)
    )
