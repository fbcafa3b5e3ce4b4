"""A collate_fn that is called as it is, in this process, with samples that Go made.

    def collate_fn(batch):
        return tuple(zip(*batch))

Samples that are rows of arrays are views of the batch's memory, which nobody else has.

It is called where its batch is handed out, and not in the worker process that torch would call it in. That must make no
difference: its code may use what is listed here alone, none of which draws random numbers, keeps anything from batch to
batch, asks in which process it is, or sums up numbers in an order that depends on threads.
"""

from __future__ import annotations

import builtins
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from ... import _cores
from ..bytecode import UnreadableError
from ..datasets.own.code import is_of_library, variable
from ..refusal import Refusal, RefusalError, granted
from ..row_layouts import STACKED, ApartRows
from ..rows import Field
from ..structure import Structure
from ..trust.harmless import FUNCTIONS, IN_PLACE, LIBRARIES, NAMES, PLAIN, REACHING, Changes, codes_of, steps_of
from ..trust.look import has, in_class, name_of, own
from ..trust.originals import module_of
from .collation import Lists, as_sent, stands, surroundings
from .finish import function_of, keeps


class Called:
    """As plan.collation's Collation. Raises UnreadableError for code that uses more than is listed.

    why      it is not compiled
    changes  it may change arrays or tensors that samples have, in place
    sample_s  CPU time that a sample of arrays takes the dataset's own code; None for images
    took_s   the same that this function takes, for each of a batch's samples
    classes  of the user's, of which it makes objects
    """

    sample_s: float | None = None
    took_s = 0.0

    plain, own, after = False, False, None
    takes_lists: Lists = ""
    note = ""

    def __init__(self, given: Any, why: Refusal) -> None:
        self.given, self.why, self.name = given, why, name_of(given)
        if kept := keeps(given):
            raise UnreadableError(f"may keep something: {kept}")
        function, _, self._owner = function_of(given)
        self._check_given(given)
        self._functions: dict[FunctionType, CodeType] = {}
        self.classes: list[type] = []
        self._members: list[tuple[type, str, Any]] = []
        self._attributes: set[str] = set()
        self._asked: set[str] = set()
        self._meant: list[tuple[FunctionType, str, Any]] = []
        self._follow(function)
        while self._asked:
            self._look_up_in_classes(self._asked.pop())
        self._around = surroundings()
        codes = (each for code in self._functions.values() for each in codes_of(code))
        self.changes = any(Changes(code).found for code in codes)

    def unchanged(self) -> bool:
        try:
            same = all(variable(function, name) is value for function, name, value in self._meant)
        except UnreadableError:
            return False
        return (
            same
            and stands(self._around)
            and all(function.__code__ is code for function, code in self._functions.items())
            and all(vars(kind).get(name) is member for kind, name, member in self._members)
        )

    def check_pays(self, num_workers: int) -> None:
        """Raises RefusalError where torch's workers, side by side, make batches in less time than this function takes
        here, as its calls up to now have shown."""
        side_by_side = min(num_workers, _cores.allowed())
        if self.sample_s is None or side_by_side * self.took_s <= _SENT * (self.sample_s + self.took_s):
            return
        why = f"it takes {self.took_s * 1e6:.0f} us a sample, which {side_by_side} workers do side by side"
        raise RefusalError("collate", self.name, why, "COLLATE_OWN")

    def put(self, samples: Callable[[Sequence[Any]], list[Any]], *, sent: bool) -> Callable[[Sequence[Any]], Any]:
        """What makes the batch of the core's columns; `samples` makes the samples of these.

        sent  torch's workers send batches, in which arrays are compact then
        """

        def put(columns: Sequence[Any]) -> Any:
            batch = self.given(samples(columns))
            return as_sent(batch, self.classes) if sent else batch

        return put

    def lay(
        self, fields: Sequence[Field], structure: Structure, sample: Any, *, sent: bool
    ) -> tuple[tuple[Field, ...], Callable[[Sequence[Any]], Any]]:
        """Fields of samples like this one, with what makes the batch of their rows. Raises RefusalError."""
        makers: dict[int, Callable[[Any], Any]] = {}
        made = _made_like(structure, sample, makers)
        if made is None or any(len(field.views) != 1 or len(field.views[0].columns) != 1 for field in fields):
            return granted(self.why)
        laid = []
        for field in fields:
            (view,) = field.views
            if view.layout is not STACKED:
                return granted(self.why)
            if field.ragged:
                layout = ApartRows(field.extents or (-1, *field.shape))
                field = replace(field, views=(replace(view, layout=layout),))
            laid.append(field)

        def samples(columns: Sequence[Any]) -> list[Any]:
            rows = [makers[number](column) for number, column in enumerate(columns)]
            return list(map(made, zip(*rows, strict=True)))

        put = self.put(samples, sent=sent)

        def timed(columns: Sequence[Any]) -> Any:
            begun = time.thread_time()
            batch = put(columns)
            took = (time.thread_time() - begun) / len(columns[0])
            self.took_s = min(self.took_s or took, took)
            return batch

        return tuple(laid), timed

    def _follow(self, function: FunctionType, *, makes: bool = False) -> None:
        """`makes`: it is the __init__ of a class, and sets attributes of the object that is made."""
        if function in self._functions:
            return
        self._functions[function] = function.__code__
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._use_given(value)
        for code in codes_of(function.__code__):
            steps = steps_of(code)
            made = code.co_varnames[0] if makes and code.co_argcount else None
            if ("STORE_FAST", made) in steps:
                made = None
            for (before, owner), (kind, name) in zip([("", None), *steps], steps, strict=False):
                if kind == "STORE_ATTR" and made is not None and before.startswith("LOAD_FAST") and owner == made:
                    self._attributes.add(name)
                else:
                    self._look(function, code, kind, name)

    def _look(self, function: FunctionType, code: CodeType, kind: str, name: Any) -> None:
        if kind in ("LOAD_GLOBAL", "LOAD_NAME") or (kind == "LOAD_DEREF" and name in function.__code__.co_freevars):
            value = variable(function, name)
            self._meant.append((function, name, value))
            self._use(value, name)
        elif kind in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            self._look_up(name)
        elif kind == "STORE_DEREF" and name in function.__code__.co_freevars:
            raise UnreadableError(f"assigns {name}")
        elif kind.startswith(REACHING) and not (kind == "YIELD_VALUE" and code.co_name == "<genexpr>"):
            raise UnreadableError(f"does more than is listed ({kind})")

    def _look_up(self, name: str) -> None:
        """What an attribute may be: one that is listed, and if the object that is called has one by that name, that as
        well. Raises UnreadableError for all else."""
        has_own = self._owner is not None and (
            name in own(self._owner) or in_class(type(self._owner), name) is not None
        )
        of_library = any(has(each, name) for each in (torch, np, torch.Tensor, np.ndarray))
        if name not in (NAMES | IN_PLACE):
            if of_library:
                raise UnreadableError(f"uses .{name}")
            if not has_own:
                self._asked.add(name)
        if has_own:
            method = in_class(type(self._owner), name)
            if type(method) is FunctionType and name not in own(self._owner):
                self._follow(method)
            elif type(own(self._owner).get(name, ...)) not in PLAIN:
                raise UnreadableError(f"uses .{name}")

    def _check_given(self, given: Any) -> None:
        """What a partial gives a function is what code may call. Raises UnreadableError."""
        while type(given) is partial:
            for value in (*given.args, *given.keywords.values()):
                self._use_given(value)
            given = given.func

    def _use_given(self, value: Any) -> None:
        """The same of a value that code has by the name of a parameter."""
        if type(value) in (list, tuple, set, frozenset, dict):
            for each in (*value, *value.values()) if type(value) is dict else value:
                self._use_given(each)
        elif type(value) not in (torch.Tensor, np.ndarray):
            self._use(value, name_of(value))

    def _use(self, value: Any, name: str) -> None:
        """Raises UnreadableError for a variable that code may keep something in, or whose code is not known."""
        if type(value) is ModuleType and value.__name__.partition(".")[0] in (*LIBRARIES, "torchvision"):
            return
        if any(value is each for each in FUNCTIONS) or type(value) in PLAIN:
            return
        if isinstance(value, type) and (vars(builtins).get(name) is value or module_of(value) in LIBRARIES):
            if issubclass(value, torch.nn.Module):  # which may draw when it is called
                raise UnreadableError(f"uses {name}")
            return
        if type(value) is type and not is_of_library(module_of(value)):
            self._follow_class(value)
            return
        if type(value) is FunctionType and not is_of_library(value.__globals__.get("__name__")):
            self._follow(value)
            return
        raise UnreadableError(f"uses {name}")

    def _follow_class(self, given: type) -> None:
        """A class of the user's own whose objects are no more than their attributes: what a worker sends is another one
        with the same. Raises UnreadableError for any other class."""
        if given in self.classes:
            return
        module = sys.modules.get(given.__module__)
        if given.__mro__[1:] != (object,) or vars(module or object).get(given.__qualname__) is not given:
            raise UnreadableError(f"uses {given.__qualname__}")
        self.classes.append(given)
        for name, member in vars(given).items():
            if name in _SENT_OTHERWISE:
                raise UnreadableError(f"uses {given.__qualname__}, which has {name}")
            if name.startswith("__"):
                self._members.append((given, name, member))
                if type(member) is FunctionType and not _is_generated(member):
                    self._follow(member, makes=name == "__init__")

    def _look_up_in_classes(self, name: str) -> None:
        """The same as _look_up for an attribute that objects of the user's classes may have."""
        found = [(each, vars(each)[name]) for each in self.classes if name in vars(each)]
        if not found and name not in self._attributes:
            raise UnreadableError(f"uses .{name}")
        for owner, member in found:
            self._members.append((owner, name, member))
            function = member.fget if type(member) is property else getattr(member, "__func__", member)
            if type(function) is FunctionType:
                self._follow(function)
            elif type(member) not in PLAIN:
                raise UnreadableError(f"uses .{name}")


# Members of classes whose objects are more than their attributes, or are sent in another way.
_SENT_OTHERWISE = {
    "__copy__", "__deepcopy__", "__del__", "__delattr__", "__getattr__", "__getattribute__", "__getnewargs__",
    "__getnewargs_ex__", "__getstate__", "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__",
    "__setstate__", "__slots__",
}  # fmt: skip


def _is_generated(function: FunctionType) -> bool:
    """Whether dataclasses has made it."""
    return function.__code__.co_filename == "<string>" or function.__globals__.get("__name__") == "reprlib"


# Torch's workers take about as long again for a batch as to make it: for memory that is shared, and to send it.
_SENT = 2


def _made_like(
    structure: Structure, sample: Any, makers: dict[int, Callable[[Any], Any]]
) -> Callable[[Sequence[Any]], Any] | None:
    """What makes a sample like this one of its fields; None where that is not known.

    makers  gets, by the numbers of fields, what makes each sample's of a column
    """
    if isinstance(structure, int):
        maker = _maker(sample)
        if maker is None:
            return None
        makers[structure] = maker
        return itemgetter(structure)
    if isinstance(structure, dict):
        if type(sample) is not dict or [*sample] != [*structure]:
            return None
        parts = [_made_like(each, sample[name], makers) for name, each in structure.items()]
        if None in parts:
            return None
        return lambda fields: {name: part(fields) for name, part in zip(sample, parts, strict=True)}  # type: ignore[misc]
    kind = type(sample)
    if kind not in (list, tuple) or len(sample) != len(structure):
        return None
    parts = [_made_like(*each, makers) for each in zip(structure, sample, strict=True)]
    if None in parts:
        return None
    if kind is tuple and structure == tuple(range(len(structure))):
        return tuple
    return lambda fields: kind(part(fields) for part in parts)  # type: ignore[misc]


def _maker(sample: Any) -> Callable[[Any], Any] | None:
    """What makes of a column each sample's part, like this one; None for a kind that is not known."""
    kind = type(sample)
    if kind is torch.Tensor:
        return _tensors if sample.is_contiguous() else None
    if kind is np.ndarray:
        whole = sample.flags
        known = whole.c_contiguous and whole.writeable and sample.dtype.isnative
        return _arrays if known and sample.ndim else None  # items of an array are no arrays
    if isinstance(sample, np.generic):
        return _arrays  # items of which are such
    if kind is str:
        return list
    return torch.Tensor.tolist if kind in (int, float, bool) else None


def _tensors(column: Any) -> Any:
    return column.unbind() if isinstance(column, torch.Tensor) else column


def _arrays(column: Any) -> Any:
    return column.numpy() if isinstance(column, torch.Tensor) else [each.numpy() for each in column]
