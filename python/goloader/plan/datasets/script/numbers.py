"""Numbers of a script: what code reckons with sizes of images, the index and what it drew, as the core reads it.

A number is JSON and its kind: "int", "float", or "tensor" for a torch.rand(1), which torch compares in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...bytecode import UnreadableError

# Integers are exact in a float64 up to here.
_EXACT_MAX = 1 << 53


class Number(NamedTuple):
    """json as the core's plan has it."""

    json: Any
    kind: str

    @property
    def value(self) -> Any:
        """What it is, if that is the same for all samples; else None."""
        return self.json if not isinstance(self.json, list) else None

    @property
    def is_constant(self) -> bool:
        return not isinstance(self.json, list)


def constant(value: Any) -> Number | None:
    """A number that code has; None for what is none."""
    if type(value) in (bool, int) and abs(value) < _EXACT_MAX:
        return Number(int(value), "int")
    if type(value) is float and math.isfinite(value):
        return Number(value, "float")
    return None


INDEX = Number(["index"], "int")

_COMPARISONS: dict[
    str, tuple[str, bool, bool]
] = {  # the core's, whether the sides change places, whether it is turned round
    "<": ("<", False, False),
    ">": ("<", True, False),
    "<=": ("<=", False, False),
    ">=": ("<=", True, False),
    "==": ("==", False, False),
    "!=": ("==", False, True),
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


def binary(operator: str, left: Number, right: Number) -> Number:
    """left operator right. Raises UnreadableError."""
    operator = operator.removesuffix("=") if operator[:-1] in _ARITHMETIC else operator
    if operator in _COMPARISONS:
        name, swapped, turned = _COMPARISONS[operator]
        if "tensor" in (left.kind, right.kind):
            left, right = _float32(left), _float32(right)
        first, second = (right, left) if swapped else (left, right)
        found = Number([name, first.json, second.json], "int")
        if left.is_constant and right.is_constant:
            found = Number(int({"<": first.json < second.json, "<=": first.json <= second.json}.get(
                name, first.json == second.json)), "int")  # fmt: skip
        return negated(found) if turned else found
    if operator not in _ARITHMETIC or "tensor" in (left.kind, right.kind):
        raise UnreadableError(f"reckons by {operator}")
    kind = "float" if operator == "/" or "float" in (left.kind, right.kind) else "int"
    if left.is_constant and right.is_constant:
        try:
            made = constant(_ARITHMETIC[operator](left.json, right.json))
        except ArithmeticError as error:
            raise UnreadableError(f"raises {type(error).__name__}") from None
        if made is None:
            raise UnreadableError("reckons with numbers that are too large")
        return made
    return Number([operator, left.json, right.json], kind)


def unary(name: str, operand: Number) -> Number:
    """ "neg", "not", "abs", "int", "float" or "round" of a number. Raises UnreadableError."""
    if operand.kind == "tensor":
        raise UnreadableError("reckons with a tensor")
    kind = {"not": "int", "int": "int", "round": "int", "float": "float"}.get(name, operand.kind)
    if operand.is_constant:
        known: dict[str, Callable[[Any], Any]] = {
            "neg": lambda a: -a, "not": lambda a: int(not a), "abs": abs, "int": int, "float": float, "round": round,
        }  # fmt: skip
        made = constant(known[name](operand.json))
        if made is None:
            raise UnreadableError("reckons with numbers that are too large")
        return made
    return operand if name == operand.kind else Number([name, operand.json], kind)


def extreme(name: str, values: list[Number]) -> Number:
    """ "min" or "max" of several. Raises UnreadableError."""
    if len({each.kind for each in values}) != 1 or values[0].kind == "tensor":
        raise UnreadableError(f"takes the {name} of numbers of several types")
    found = values[0]
    for each in values[1:]:
        both = found.is_constant and each.is_constant
        chosen = {"min": min, "max": max}[name](found.json, each.json) if both else [name, found.json, each.json]
        found = Number(chosen, found.kind)
    return found


def negated(condition: Number) -> Number:
    return unary("not", condition)


def _float32(number: Number) -> Number:
    return number if number.kind == "tensor" else Number(["float32", number.json], "float")
