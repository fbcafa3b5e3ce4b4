"""A collate_fn that is called as it is, in this process, with samples that Go made.

    def collate_fn(batch):
        return tuple(zip(*batch))

It is called where its batch is handed out, and not in the worker process that torch would call it in. That must make no
difference: its code may use what is listed here alone, none of which draws random numbers, keeps anything from batch to
batch, asks in which process it is, or sums up numbers in an order that depends on threads.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate
from torch.utils.data._utils.collate import default_convert

from .bytecode import UnreadableError
from .collation import stands, surroundings
from .datasets.own import is_of_library, variable
from .finish import codes_of, function_of, keeps
from .look import in_class, name_of, own
from .originals import module_of
from .refusal import Refusal

# Attributes and methods by their names, whatever they are of: samples, and what is listed below, have no others.
_NAMES = {
    "FloatTensor", "LongTensor", "Tensor", "append", "array", "as_tensor", "asarray", "astype", "bool", "cat", "clone",
    "concatenate", "contiguous", "contiguous_format", "copy", "cpu", "data", "dataloader", "default_collate", "detach",
    "device", "dim", "double", "dtype", "empty", "expand_dims", "extend", "flatten", "float", "float16", "float32",
    "float64", "from_numpy", "full", "full_like", "functional", "get", "half", "index", "insert", "int", "int16",
    "int32", "int64", "int8", "item", "items", "keys", "long", "max", "memory_format", "min", "ndim", "new_full",
    "new_ones", "new_tensor", "new_zeros", "nn", "numel", "numpy", "ones", "ones_like", "pad", "pad_sequence",
    "permute", "repeat", "reshape", "rnn", "shape", "size", "sort", "split", "squeeze", "stack", "t", "tensor", "to",
    "tolist", "transpose", "type", "uint8", "unsqueeze", "update", "utils", "values", "view", "zeros", "zeros_like",
}  # fmt: skip
_LIBRARIES = ("torch", "numpy", "math", "collections", "typing")
_FUNCTIONS = (
    all, any, bool, dict, enumerate, filter, float, int, isinstance, len, list, map, max, min, range, reversed, set,
    sorted, str, sum, tuple, type, zip, default_collate, default_convert, pad_sequence, torch.Tensor, np.ndarray,
    torch.stack, torch.cat, torch.tensor, torch.as_tensor, torch.from_numpy, torch.zeros, torch.ones, torch.full,
    torch.FloatTensor, torch.LongTensor, np.array, np.stack, np.asarray, np.concatenate,
)  # fmt: skip
_PLAIN = (type(None), bool, int, float, str, torch.dtype, torch.memory_format)
# Instructions that keep something, or that run code which is not looked at.
_REFUSED = ("ASYNC", "DELETE_ATTR", "DELETE_GLOBAL", "IMPORT", "RAISE", "STORE_ATTR", "STORE_GLOBAL", "YIELD")


class Called:
    """As plan.collation's Collation. Raises UnreadableError for code that uses more than is listed.

    why      it is not compiled
    changes  it may change arrays or tensors that samples have, in place
    """

    plain, own, after = False, False, None
    note = ""

    def __init__(self, given: Any, why: Refusal) -> None:
        self.given, self.why, self.name = given, why, name_of(given)
        if kept := keeps(given):
            raise UnreadableError(f"may keep something: {kept}")
        function, _, self._owner = function_of(given)
        self._functions: dict[FunctionType, CodeType] = {}
        self._meant: list[tuple[FunctionType, str, Any]] = []
        self._follow(function)
        self._around = surroundings()
        codes = (each for code in self._functions.values() for each in codes_of(code))
        self.changes = any(_Changes(code).found for code in codes)

    def unchanged(self) -> bool:
        """True if it is what it was."""
        try:
            same = all(variable(function, name) is value for function, name, value in self._meant)
        except UnreadableError:
            return False
        return (
            same
            and stands(self._around)
            and all(function.__code__ is code for function, code in self._functions.items())
        )

    def put(self, samples: Callable[[Sequence[Any]], list[Any]], *, sent: bool) -> Callable[[Sequence[Any]], Any]:
        """What makes the batch of the core's columns; `samples` makes the samples of these.

        sent  torch's workers send batches, in which arrays are compact then
        """

        def put(columns: Sequence[Any]) -> Any:
            batch = self.given(samples(columns))
            return _compact(batch) if sent else batch

        return put

    def _follow(self, function: FunctionType) -> None:
        if function in self._functions:
            return
        self._functions[function] = function.__code__
        for code in codes_of(function.__code__):
            for each in dis.get_instructions(code):
                self._look(function, code, each)

    def _look(self, function: FunctionType, code: CodeType, each: dis.Instruction) -> None:
        kind, name = each.opname, each.argval
        if kind in ("LOAD_GLOBAL", "LOAD_NAME") or (kind == "LOAD_DEREF" and name in function.__code__.co_freevars):
            value = variable(function, name)
            self._meant.append((function, name, value))
            self._use(value, name)
        elif kind in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            self._look_up(name)
        elif kind == "STORE_DEREF" and name in function.__code__.co_freevars:
            raise UnreadableError(f"assigns {name}")
        elif kind.startswith(_REFUSED) and not (kind == "YIELD_VALUE" and code.co_name == "<genexpr>"):
            raise UnreadableError(f"does more than is listed ({kind})")

    def _look_up(self, name: str) -> None:
        """What an attribute may be: one that is listed, and if the object that is called has one by that name, that as
        well. Raises UnreadableError for all else."""
        has_own = self._owner is not None and (
            name in own(self._owner) or in_class(type(self._owner), name) is not None
        )
        of_library = any(hasattr(each, name) for each in (torch, np, torch.Tensor, np.ndarray))
        if name not in _NAMES and (of_library or not has_own):
            raise UnreadableError(f"uses .{name}")
        if has_own:
            method = in_class(type(self._owner), name)
            if type(method) is FunctionType and name not in own(self._owner):
                self._follow(method)
            elif type(own(self._owner).get(name, ...)) not in _PLAIN:
                raise UnreadableError(f"uses .{name}")

    def _use(self, value: Any, name: str) -> None:
        """Raises UnreadableError for a variable that code may keep something in, or whose code is not known."""
        if type(value) is ModuleType and value.__name__.partition(".")[0] in _LIBRARIES:
            return
        if any(value is each for each in _FUNCTIONS) or type(value) in _PLAIN:
            return
        if isinstance(value, type) and (vars(builtins).get(name) is value or module_of(value) in _LIBRARIES):
            return
        if type(value) is FunctionType and not is_of_library(value.__globals__.get("__name__")):
            self._follow(value)
            return
        raise UnreadableError(f"uses {name}")


# What gives something of its own, whatever it is given; builtins that do; and methods that may give what they are of.
_MAKERS = {
    "array", "astype", "cat", "clone", "concatenate", "copy", "default_collate", "empty", "full", "full_like", "item",
    "new_full", "new_ones", "new_tensor", "new_zeros", "numel", "ones", "ones_like", "pad_sequence", "size", "stack",
    "tensor", "zeros", "zeros_like",
}  # fmt: skip
_BUILTINS = {"dict", "float", "int", "len", "list"}
_SAME = {
    "contiguous", "double", "flatten", "float", "half", "int", "long", "numpy", "permute", "reshape", "squeeze", "t",
    "to", "transpose", "unsqueeze", "view",
}  # fmt: skip
_CALLS = {"CALL", "CALL_FUNCTION", "CALL_METHOD"}
_BETWEEN = {"CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "PRECALL", "RESUME"}
# How many values an instruction that changes something takes above it.
_CHANGES = {"STORE_SUBSCR": 1, "STORE_SLICE": 2}


class _Changes:
    """Whether code may change in place what it has not made itself: variables that are always set to what it makes are
    its own."""

    def __init__(self, code: CodeType) -> None:
        self._steps: list[tuple[str, Any, int]] = []
        self._targets: set[int] = set()  # of jumps
        for each in dis.get_instructions(code):
            self._targets |= {len(self._steps)} if each.is_jump_target else set()
            if type(each.argval) is tuple and "_FAST_" in each.opname:  # two at once
                kinds = [kind for kind in each.opname.split("_") if kind in ("LOAD", "STORE")]
                for kind, name in zip(kinds, each.argval, strict=True):
                    self._steps.append((f"{kind}_FAST", name, 1 if kind == "LOAD" else -1))
                continue
            kind = "BINARY_SUBSCR" if each.argrepr == "[]" else each.opname
            if kind.startswith("INPLACE_") or (kind == "BINARY_OP" and each.argrepr.endswith("=")):
                kind = "INPLACE"
            self._steps.append((kind, each.argval, dis.stack_effect(each.opcode, each.arg, jump=False)))
        stores = [(at, name) for at, (kind, name, _) in enumerate(self._steps) if kind == "STORE_FAST"]
        self._own = {name for _, name in stores} - {*code.co_varnames[: code.co_argcount]}
        before: set[str] = set()
        while before != self._own:
            before = {*self._own}
            self._own -= {name for at, name in stores if not self._is_own(at - 1)}
        # Of these options one says what is written to, and the other may say that nothing is made.
        named = {each for constant in code.co_consts if type(constant) is tuple for each in constant}
        self.found = (
            bool(named & {"copy", "out"})
            or ("sort" in code.co_names and "key" not in named)
            or not all(map(self._keeps, range(len(self._steps))))
        )

    def _keeps(self, at: int) -> bool:
        kind, _, _ = self._steps[at]
        end = at - 1
        if kind == "INPLACE":
            return self._is_own(self._begin(end) - 1)
        if kind not in _CHANGES:
            return True
        key, name, _ = self._steps[self._last(end)]
        for _ in range(_CHANGES[kind]):
            end = self._begin(end) - 1
        return (key == "LOAD_CONST" and type(name) is str) or self._is_own(end)  # nothing but a dict has such keys

    def _last(self, at: int) -> int:
        while at > 0 and self._steps[at][0] in _BETWEEN:
            at -= 1
        return at

    def _begin(self, at: int) -> int:
        """Where what ends there begins; -1 where that is not known."""
        height = 0
        while at >= 0:
            kind, _, effect = self._steps[at]
            height += effect
            if "JUMP" in kind or kind == "FOR_ITER" or (at in self._targets and height != 1):
                return -1
            if height == 1:
                return at
            at -= 1
        return -1

    def _is_own(self, at: int) -> bool:
        """Whether it is the code's own what ends there."""
        last = self._last(at)
        if last < 0 or self._targets.intersection(range(last + 1, at + 2)):  # one of two ways comes there
            return False
        at = last
        kind, name, _ = self._steps[at]
        if kind.startswith("LOAD_FAST"):
            return name in self._own
        if kind == "INPLACE":
            return self._is_own(self._begin(at - 1) - 1)
        if kind in _CALLS:
            end = self._last(at - 1)
            for _ in range(name):
                end = self._last(self._begin(end) - 1)
            if end < 0:
                return False
            kind, name, _ = self._steps[end]
            if kind in ("LOAD_GLOBAL", "LOAD_NAME") and name in _BUILTINS:
                return True
            found = kind in ("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD", "LOAD_NAME") and name in _MAKERS
            return found or (kind in ("LOAD_ATTR", "LOAD_METHOD") and name in _SAME and self._is_own(end - 1))
        made = "LOAD_CONST", "LOAD_SMALL_INT", "BUILD_LIST", "BUILD_MAP", "COMPARE_OP"
        return kind in made or (kind.startswith("BINARY_") and kind not in ("BINARY_SLICE", "BINARY_SUBSCR"))


def _compact(value: Any) -> Any:
    """A batch as it is when it was pickled: a view of an array is an array."""
    kind = type(value)
    if kind is np.ndarray:
        return value if value.flags.c_contiguous or value.flags.f_contiguous else value.copy()
    if kind is dict:
        return {name: _compact(each) for name, each in value.items()}
    return kind(map(_compact, value)) if kind in (list, tuple) else value
