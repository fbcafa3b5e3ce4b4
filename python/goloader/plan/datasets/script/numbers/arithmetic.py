"""Numbers of a script: what code reckons with sizes of images, the index and what it drew, as the core reads it.

A number is JSON and its kind. Python's are "int", "float" and "bool". What is drawn may be none of these: "float32" and
"int64" are tensors of one item (torch.rand(1), torch.randint(9, (1,))), "numpy" is a np.int64 (np.random.choice(9)). A
"condition" is what comparing one of these gives. Of these there is no arithmetic here, since Python's is another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ....bytecode import SIGNS, Expression, UnreadableError

# Integers are exact in a float64 up to here.
_EXACT_MAX = 1 << 53


class Number(NamedTuple):
    """json as the core's plan has it."""

    json: Any
    kind: str

    @property
    def is_constant(self) -> bool:
        return not isinstance(self.json, list)

    @property
    def is_python(self) -> bool:
        return self.kind in PYTHON

    @property
    def value(self) -> Any:
        """Python's number, of one that is the same for all samples."""
        return bool(self.json) if self.kind == "bool" else self.json


class Vector(NamedTuple):
    """Numbers that are drawn as an array of float64 or int64, or as a tensor of float32 or int64.

    number  of the script's vectors
    shape   of all that are drawn
    first   how many of them it has; None for all
    shift, scale  which are made of these: shift + scale * each; None for the numbers as they are
    chances  of which each says whether one is below it, as a float: torch.bernoulli(chances); None for the numbers
    """

    number: int
    shape: tuple[int, ...]
    is_tensor: bool
    is_int: bool = False
    first: int | None = None
    shift: Number | None = None
    scale: Number | None = None
    chances: Expression | None = None


PYTHON = ("bool", "int", "float")
# What a list takes as a place, and collate_fn as an int64.
PLACES = ("int", "numpy")
# Those, and what torch draws.
INTEGERS = (*PLACES, "int64")


def register_of(kind: str) -> str:
    """The type of the core's number that holds one of a kind."""
    return "float" if kind in ("float", "float32") else "int"


def constant(value: Any) -> Number | None:
    """A number that code has; None for what is none."""
    if type(value) in (bool, int) and abs(value) < _EXACT_MAX:
        return Number(int(value), "bool" if type(value) is bool else "int")
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
_ARITHMETIC = {sign: SIGNS[sign] for sign in ("+", "-", "*", "/", "//", "%")}


def binary(operator: str, left: Number, right: Number) -> Number:
    """left operator right. Raises UnreadableError."""
    operator = operator.removesuffix("=") if operator[:-1] in _ARITHMETIC else operator
    kinds = {left.kind, right.kind}
    of_tensors = "float32" in kinds
    others = kinds - {"int", "bool"}
    of_ints = operator in _COMPARISONS and len(others) == 1 and others <= {"numpy", "int64"}
    if others in ({"numpy"}, {"int64"}) and operator in ("+", "-", "*") and "bool" not in kinds:
        (kind,) = others
        return binary(operator, left._replace(kind="int"), right._replace(kind="int"))._replace(kind=kind)
    if not (of_ints or all(each.is_python or each.kind == "float32" for each in (left, right))):
        raise UnreadableError("reckons with numbers that are not Python's")
    if operator in _COMPARISONS:
        name, swapped, turned = _COMPARISONS[operator]
        kind = "condition" if of_tensors or of_ints else "bool"
        if of_tensors:
            left, right = _float32(left), _float32(right)
        first, second = (right, left) if swapped else (left, right)
        found = [name, first.json, second.json]
        same = isinstance(left.json, list) and left.json[0] in ("index", "number") and left.json == right.json
        if same and name == "==" and left.kind in PLACES:
            return Number(int(not turned), kind)
        if left.is_constant and right.is_constant:
            holds = {"<": first.json < second.json, "<=": first.json <= second.json}
            return Number(int(holds.get(name, first.json == second.json) is not turned), kind)
        return Number(["not", found] if turned else found, kind)
    if operator not in _ARITHMETIC or of_tensors:
        raise UnreadableError(f"reckons by {operator}")
    kind = "float" if operator == "/" or "float" in (left.kind, right.kind) else "int"
    if left.is_constant and right.is_constant:
        try:
            made = constant(_ARITHMETIC[operator](left.value, right.value))
        except ArithmeticError as error:
            raise UnreadableError(f"raises {type(error).__name__}") from None
        if made is None:
            raise UnreadableError("reckons with numbers that are too large")
        return made
    return Number([operator, left.json, right.json], kind)


def unary(name: str, operand: Number) -> Number:
    """ "neg", "not", "abs", "int", "float" or "round" of a number. Raises UnreadableError."""
    converts = name in ("int", "float") and operand.kind != "condition"
    if not (operand.is_python or converts or (name == "not" and operand.kind == "condition")):
        raise UnreadableError("reckons with numbers that are not Python's")
    if operand.is_constant:
        known: dict[str, Callable[[Any], Any]] = {
            "neg": lambda a: -a, "not": lambda a: not a, "abs": abs, "int": int, "float": float, "round": round,
        }  # fmt: skip
        made = constant(known[name](operand.value))
        if made is None:
            raise UnreadableError("reckons with numbers that are too large")
        return made
    kind = {"not": "bool", "int": "int", "round": "int", "float": "float"}.get(name)
    kind = kind or ("float" if operand.kind == "float" else "int")
    held = register_of(operand.kind)
    same = name == held or (name == "round" and held == "int")
    return Number(operand.json if same else [name, operand.json], kind)


MATH: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "copysign": math.copysign,
}  # fmt: skip


def of_math(name: str, operands: list[Number]) -> Number:
    """One of MATH's functions of one number, or of two. Raises UnreadableError."""
    if len(operands) != (2 if name == "copysign" else 1) or not all(each.is_python for each in operands):
        raise UnreadableError(f"calls {name} of other numbers")
    if not all(each.is_constant for each in operands):
        return Number([name, *(each.json for each in operands)], "float")
    try:
        made = constant(MATH[name](*(each.value for each in operands)))
    except (ArithmeticError, ValueError) as error:
        raise UnreadableError(f"raises {type(error).__name__}") from None
    if made is None:
        raise UnreadableError("reckons with numbers that are not finite")
    return made


def extreme(name: str, values: list[Number]) -> Number:
    """ "min" or "max" of several. Raises UnreadableError."""
    if all(each.is_constant and each.is_python for each in values):
        return constant({"min": min, "max": max}[name](each.value for each in values)) or values[0]
    if len({each.kind for each in values}) != 1 or not values[0].is_python:
        raise UnreadableError(f"takes the {name} of numbers of several types")
    found = values[0]
    for each in values[1:]:
        both = found.is_constant and each.is_constant
        chosen = {"min": min, "max": max}[name](found.json, each.json) if both else [name, found.json, each.json]
        found = Number(chosen, found.kind)
    return found


def _float32(number: Number) -> Number:
    return number if number.kind == "float32" else Number(["float32", number.json], "float")
