"""What a collate_fn does, read from its bytecode."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

from ..bytecode import Attribute, Batch, Binary, Call, Display, Expression, Itself, Spread
from ..datasets.own import OwnCode, is_plain
from ..look import in_class, name_of
from ..refusal import RefusalError


class CollateCode(OwnCode):
    """What `collate_fn(batch)` does. Nothing of it is run."""

    what = "it"

    def __init__(self, given: Any) -> None:
        self.given = given
        self.arguments = (Batch(),) if type(given) is FunctionType else (Itself(), Batch())
        super().__init__(given.__self__ if type(given) is MethodType else given)

    def function_of(self, dataset: Any) -> FunctionType:
        if type(self.given) is FunctionType:
            return self.given
        owner: Any = self.given.__func__ if type(self.given) is MethodType else in_class(type(dataset), "__call__")
        if type(owner) is not FunctionType or not is_plain(dataset):
            raise self.refusal("it is neither a plain function nor a plain object with a __call__")
        return owner

    def refusal(self, why: str) -> RefusalError:
        return RefusalError("collate", name_of(self.given), why, "COLLATE_OWN")

    def _outcome(self, condition: Expression) -> bool | None:
        match condition:
            case Binary(operator="==" | "!=" as name, left=Binary(operator="%", left=whole, right=step), right=rest):
                # Whether a length is a multiple of one: of other steps, that depends on the batch.
                if self._is_whole(whole) and type(self.value(step)) is int and self.value(step) == 1:
                    return (self.value(rest) == 0) is (name == "==")
        return super()._outcome(condition)

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
