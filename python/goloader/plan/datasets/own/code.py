"""A class of the user's own: its `__getitem__`, read from its bytecode, and what the names in it stand for now."""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import suppress
from dataclasses import fields
from enum import EnumMeta
from functools import cached_property, partial
from importlib.util import find_spec
from operator import is_
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch.utils.data import Dataset

from ...bytecode import (
    COMPARISONS,
    SIGNS,
    Attribute,
    Binary,
    Call,
    Callee,
    Constant,
    Display,
    Entered,
    Expression,
    Index,
    Item,
    Itself,
    Mapping,
    Module,
    Name,
    Reader,
    Reading,
    Text,
    UnreadableError,
    extent_of,
)
from ...refusal import RefusalError, SourceRefusal
from ...trust.look import entries, in_class, in_classes, is_a, parents
from ...trust.look import name_of as look_name
from ...trust.originals import is_original, module_of
from ..known import hugging_face
from ..reads.clients import Client, is_session
from ..reads.databases import Database, Transaction
from ..reads.stores import Group, StoredArray, Stores
from ..tree import name_of
from .standing import Standing

_SCALARS = (type(None), bool, int, float, str, bytes)
_CONTAINERS = (list, tuple, dict, set, frozenset)

# What the user's data raises where it is looked at rather than run.
ERRORS = (ArithmeticError, LookupError, TypeError, ValueError)

# What no index is that torch's samplers give.
_NO_INDEX = (torch.Tensor, slice, list, tuple)

# Attributes of Python's own objects that code is read through.
_PARTS = {partial: ("func", "args", "keywords"), FunctionType: ("__defaults__", "__kwdefaults__")}

# What makes an int of a tensor.
_TO_INT = ("item", "tolist")

# The usual ways to look an attribute up.
_LOOKUPS = (object.__getattribute__, SimpleNamespace.__getattribute__)

# What looks for attributes that are not in an object or its class.
_MISSING = (None, in_class(Dataset, "__getattr__"), in_class(torch.nn.Module, "__getattr__"))

# Whose functions are known by what they are, and are not read through; so are those of Python's own library.
_LIBRARIES = {
    "PIL", "aiobotocore", "albumentations", "boto3", "botocore", "cv2", "fsspec", "goloader", "h5py", "imageio", "lmdb",
    "matplotlib", "numpy", "pandas", "requests", "s3fs", "s3torchconnector", "scipy", "skimage", "smart_open",
    "soundfile", "timm", "torch", "torchvision", "zarr",
}  # fmt: skip
# Packages and modules of these, whose functions are read through all the same.
_READ_THROUGH = {"timm", "s3torchconnector.s3map_dataset"}


class Code:
    """What expressions of some code stand for."""

    def value(self, expression: Expression) -> Any:
        """What an expression stands for now. Raises UnreadableError."""
        raise NotImplementedError

    def means(self, expression: Expression) -> Any:
        """The same, which it has to go on standing for."""
        return self.value(expression)

    def if_seen(self, expression: Expression) -> Any:
        """What it stands for now; None where that cannot be seen."""
        try:
            return self.value(expression)
        except UnreadableError:
            return None

    def means_if_seen(self, expression: Expression) -> Any:
        """What it has to go on standing for; None where that cannot be seen."""
        try:
            return self.means(expression)
        except UnreadableError:
            return None


class ListItems(Code):
    """What `dataset[index]` does where the dataset is a list or a tuple: as OwnCode says it of a class."""

    asks_index = False
    reading = Reading(Item(Itself(), Index()), (), (), (), (), (), {})

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def unread(self, error: UnreadableError) -> RefusalError:
        return SourceRefusal(name_of(self.dataset), str(error), "CODE_UNREAD")

    def unchanged(self, dataset: Any) -> bool:
        return dataset is self.dataset

    def values(self, places: tuple[Expression, ...]) -> list[Any]:
        return [self.dataset for _ in places]

    def value(self, expression: Expression) -> Any:
        if expression == Itself():
            return self.dataset
        raise UnreadableError(f"uses {expression}", expression)


class OwnCode(Code):
    """What `dataset[index]` does, whatever the index. Nothing of the class is run.

    Functions and methods of the user's that it calls are read through, as are properties, and the `__getitem__` of a
    base class or of a dataset that it keeps.

    dataset  of a class that nobody knows
    kind     that class
    reading  of its __getitem__

    Raises RefusalError unless its code is understood and its attributes are looked up as usual.
    """

    arguments: tuple[Expression, ...] = (Itself(), Index())
    what = "__getitem__"  # in messages

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.kind = type(dataset)
        self._function = self.function_of(dataset)
        # Each function that was read within, by what it is called, and whether as the method of a class.
        self._read: dict[tuple[Expression, bool], _Read] = {}
        self._first = _Read(self._function)
        self._meant: dict[Expression, Any] = {}
        self._extents: dict[Expression, Any] = {}  # of what partials are called with
        self._stores = Stores()
        self._standing: Standing | None = None
        self._by_names = True  # whether there may be one
        self._of_tensor = False
        try:
            self.reading = self._reading()
            self._check_imports(self.reading.imports)
        except UnreadableError as error:
            raise self.unread(error) from None

    def _reading(self) -> Reading:
        reader = Reader(self._decide, self._callee, self.means, keeps=self._keeps, told=self.told)
        return reader.read(self._function, self.arguments)

    def _check_imports(self, modules: tuple[str, ...]) -> None:
        """Raises UnreadableError for a module that code imports, whether or not it uses it, and that is not there."""
        for package in {module.partition(".")[0] for module in modules}.difference(sys.modules):
            if find_spec(package) is None:
                raise UnreadableError(f"imports {package}, which is not installed")

    def _keeps(self, attribute: Attribute, value: Expression) -> bool:
        """Whether a value that the code sets an attribute of the dataset to is a file that it opens for reading, an
        array in one, or a client: all that it does with it is to read."""
        if attribute.owner != Itself() or in_class(self.kind, "__setattr__") is not object.__setattr__:
            return False
        if in_class(type(in_class(self.kind, attribute.name)), "__set__"):
            return False
        return isinstance(self.if_seen(value), Group | StoredArray | Client | Database | Transaction)

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """Its `__getitem__`, and what was read through within it."""
        return tuple(dict.fromkeys(each.function for each in (self._first, *self._read.values())))

    def function_of(self, dataset: Any) -> FunctionType:
        """The function that is read. Raises RefusalError unless it is a plain one, and attributes are, too."""
        return getitem_of(dataset)

    def refusal(self, why: str) -> RefusalError:
        """To be raised where the class is not understood."""
        return refusal(self.dataset, why)

    def unread(self, error: UnreadableError) -> RefusalError:
        """The same, where its code is not; says on which line that is."""
        if error.of is not None and not error.place:
            error.place = self.reading.places.get(error.of, "")
        return self.refusal(f"{self.what} {error}")

    def unchanged(self, dataset: Any) -> bool:
        """True if `dataset` is the same object, goes the same way, and what was meant is meant still."""
        if self._standing is not None and self._standing.holds(dataset) and self._stores.stand():
            return all(map(_Read.same_code, (self._first, *self._read.values())))
        self._standing = None
        self._stores.look_again()
        if dataset is not self.dataset or type(dataset) is not self.kind:
            return False
        try:
            return (
                self._first.unchanged(self.function_of(dataset))
                and all(known.unchanged(self._called(*called)) for called, known in self._read.items())
                and all(self._decide(condition) is outcome for condition, outcome in self.reading.conditions)
                and all(extent_of(self.value(whole)) == extent for whole, extent in self._all_extents)
                and all(self.value(expression) is meant for expression, meant in self._meant.items())
            )
        except (RefusalError, UnreadableError):
            return False

    def values(self, places: tuple[Expression, ...]) -> list[Any]:
        """What such expressions stand for now, quickly where that was asked before; `unchanged` has just been asked.

        Always the same ones. Raises UnreadableError as value() does.
        """
        if self._standing is not None:
            return self._standing.values
        values = list(map(self.value, places))
        conditions = (condition for condition, _ in self.reading.conditions)
        looked_at = (*places, *self._meant, *(called for called, _ in self._read))
        if self._by_names:
            try:
                self._standing = Standing(self.dataset, conditions, looked_at, values, self.value, self._all_extents)
            except LookupError:
                self._by_names = False
        return values

    @property
    def _all_extents(self) -> tuple[tuple[Expression, Any], ...]:
        return (*self.reading.extents, *self._extents.items())

    @property
    def is_of_torchvision(self) -> bool:
        """Whether its `__getitem__` is that of one of torchvision's datasets."""
        return _is_of_datasets(self._function)

    @property
    def looks_at_index(self) -> bool:
        """Whether which way it goes depends on the index's type."""
        return any(condition.has(Index) for condition, _ in self.reading.conditions)

    @cached_property
    def asks_index(self) -> bool:
        """Whether a tensor as the index may make another sample than its int does.

        It makes the same one where the code asks for its type to take the int out of it, as most do that ask.
        """
        if not self.looks_at_index:
            return False
        self._of_tensor = True
        try:
            return _without_type(self._reading()) != _without_type(self.reading)
        except UnreadableError:
            return True
        finally:
            self._of_tensor = False

    def when(self, expression: Expression) -> int:
        """The place of an expression, this very object, in the order in which they are evaluated."""
        return next(n for n, each in enumerate(self.reading.evaluated) if each is expression)

    def means(self, expression: Expression) -> Any:
        """The function, class or other object that an expression stands for, and has to go on standing for."""
        meant = self.value(expression)
        if not isinstance(expression, Constant):  # it is what it is, and an equal one may be another object
            self._meant[expression] = meant
        return meant

    def value(self, expression: Expression) -> Any:
        """What an expression without the index stands for now.

        Raises UnreadableError where that cannot be seen without running anything.
        """
        found = self._stores.of(self._value(expression))
        seen = entries(found)
        if seen is not found:
            self._by_names = False  # another dict may take its place
        return seen

    def _value(self, expression: Expression) -> Any:
        match expression:
            case Constant(value=value):
                return value
            case Itself():
                return self.dataset
            case Name(name=name, function=function):
                return variable(function, name)
            case Module(name=name) if is_a(sys.modules.get(name), ModuleType):
                return sys.modules[name]
            case Attribute(owner=owner, name=name):
                return _attribute(self.value(owner), name, expression)
            case Item(owner=owner, key=key):
                whole = self.value(owner)
                with suppress(UnreadableError):
                    at = self.told(key)
                    if type(whole) is dict and type(at) in _SCALARS and at in whole:
                        return whole[at]
                    if type(whole) in (list, tuple) and type(at) is int and -len(whole) <= at < len(whole):
                        return whole[at]
                    if isinstance(whole, Group) and type(at) is str:
                        return whole[at]
            case Call(function=Attribute(owner=owner, name="get"), arguments=(Constant() as key, *other), options=()):
                whole = self.value(owner)
                if type(whole) is dict and len(other) <= 1:
                    found = [whole[key.value]] if key.value in whole else list(map(self.value, other))
                    return found[0] if found else None
            case Entered(manager=manager):
                opened = self.value(manager)
                if isinstance(opened, Group | Database | Transaction):
                    return opened
            case Call(function=Attribute(owner=owner, name="begin"), arguments=(), options=options) if isinstance(
                database := self.value(owner), Database
            ):
                if all(name in ("write", "buffers") and self.value(each) is False for name, each in options):
                    return database.transaction
            case Call(function=function, arguments=arguments, options=options):
                given = [*map(self._argument, arguments)]
                named = {name: self._argument(each) for name, each in options}
                if isinstance(function, Attribute) and function.name in ("client", "resource", "Bucket"):
                    opened = self._stores.opened_by(self.value(function.owner), function.name, given, named)
                    if opened is not None:
                        return opened
                opened = self._stores.opened(self.value(function), given, named)
                if opened is not None:
                    return opened
        raise UnreadableError(f"uses {expression}", expression)

    def _argument(self, expression: Expression) -> Any:
        """What an expression stands for that a library is given: it may make a dict or a list of others."""
        match expression:
            case (
                Item(owner=Attribute(name="environ") as environ, key=name)
                | Call(function=Attribute(owner=environ, name="get"), arguments=(name, *_), options=())
                | Call(function=Attribute(name="getenv") as environ, arguments=(name, *_), options=())
            ) if any(self.if_seen(environ) is each for each in (os.environ, os.getenv)):
                named = self.value(name)
                if type(named) is str and named in os.environ:
                    return os.environ[named]
                if isinstance(expression, Call) and type(named) is str:
                    return self.value(expression.arguments[1]) if len(expression.arguments) == 2 else None
                raise UnreadableError(f"uses {expression}", expression)
            case Mapping(names=names, items=items):
                return dict(zip(names, map(self._argument, items), strict=True))
            case Display(kind=kind, items=items) if kind in (list, tuple):
                return kind(map(self._argument, items))
        return self.value(expression)

    def is_seen(self, expression: Expression) -> bool:
        """Whether it can be seen what an expression stands for, without running anything, known to be read or not."""
        try:
            self._value(expression)
        except UnreadableError:
            return False
        return True

    def _callee(self, expression: Expression) -> Callee | None:
        """The function to be read for a call, a property or an item of a dataset, if it is one of those."""
        arguments: tuple[Expression, ...] = ()
        options: tuple[tuple[str, Expression], ...] = ()
        of_item = False
        match expression:
            case Call(function=name, arguments=arguments, options=options):
                called = name
                if type(whole := self.if_seen(name)) is partial:
                    keywords = Attribute(name, "keywords")
                    self._extents[keywords] = extent_of(whole.keywords)
                    kept = {each: Item(keywords, Constant(each, str)) for each in whole.keywords}
                    options, name = tuple((kept | dict(options)).items()), Attribute(name, "func")
            case Attribute():
                called = name = expression
            case Item(owner=name, key=key):
                called, arguments, of_item = Attribute(name, "__getitem__"), (key,), True
            case _:
                return None
        try:
            found, first = self._found(called, of_item)
        except UnreadableError:
            return None
        function = function_in(found)
        if isinstance(expression, Attribute) != (type(found) is property) or type(function) is not FunctionType:
            return None
        self._keep(called, function, of_item)
        return Callee(function, name, (*first, *arguments), options)

    def _keep(self, called: Expression, function: FunctionType, of_item: bool = False) -> None:
        """Notes that a function was read for what is called."""
        self._read.setdefault((called, of_item), _Read(function))

    def _called(self, called: Expression, of_item: bool) -> Any:
        """The function that is to be read for an expression now."""
        return function_in(self._found(called, of_item)[0])

    def _found(self, called: Expression, of_item: bool) -> tuple[Any, tuple[Expression, ...]]:
        """The function that is called, or the property, and what it is called with first: an object, for its method.

        of_item  it is the `__getitem__` of a dataset, found in its class

        Gives (None, ()) for what is not the user's. Raises UnreadableError.
        """
        if isinstance(called, Attribute):
            owner = called.owner
            if _is_super(owner):
                assert isinstance(owner, Call)
                kind, instance = map(self.value, owner.arguments)
                mro = parents(type(instance))
                if self.value(owner.function) is super and kind in mro and is_plain(instance):
                    return in_classes(mro[mro.index(kind) + 1 :], called.name), (owner.arguments[1],)
                return None, ()
            whole = self.value(owner)
            if of_item and (not is_plain(whole) or hugging_face.is_table(whole)):
                return None, ()
            if of_item or (is_plain(whole) and called.name not in vars(whole)):
                found = in_class(type(whole), called.name)
                if isinstance(whole, Client) or is_session(whole) or whole is os.environ:
                    return None, ()
                if of_item and not is_a(whole, Dataset) and type(found) is FunctionType and is_left(found):
                    return None, ()
                return found, () if type(found) is staticmethod else (owner,)
        function: Any = self.value(called)
        first: tuple[Expression, ...] = ()
        if type(function) is partial:
            args = Attribute(called, "args")
            function, first = function.func, tuple(Item(args, Constant(n, int)) for n in range(len(function.args)))
        if type(function) is FunctionType:
            return (None, ()) if is_left(function) else (function, first)
        call = in_class(type(function), "__call__")  # of a class of the user's, or of one that is part of a dataset
        left = type(call) is not FunctionType or (is_left(call) and not _is_of_datasets(call))
        return (None, ()) if left or not is_plain(function) else (call, (called,))

    def _decide(self, condition: Expression) -> bool:
        """How a condition comes out. Raises UnreadableError where that depends on the index, or on code of others."""
        try:
            outcome = self._outcome(condition)
        except UnreadableError:
            outcome = None
        if outcome is None:
            raise UnreadableError(f"branches on {condition}")
        return outcome

    def _outcome(self, condition: Expression) -> bool | None:
        match condition:
            case Call(function=function, arguments=(Index(),)):
                if self.value(function) is torch.is_tensor:
                    return self._of_tensor
            case Call(function=function, arguments=(Index(), kinds)):
                if self.value(function) is isinstance and any(self.value(kinds) is kind for kind in _NO_INDEX):
                    return self._of_tensor and self.value(kinds) is torch.Tensor
            case Binary(operator="is" | "is not" as operator, left=left, right=right):
                return (self.value(left) is self.value(right)) is (operator == "is")
            case Binary(operator="in" | "not in" as operator, left=left, right=right):
                one, whole = self.value(left), self.value(right)
                if type(one) is str and type(whole) in (str, *_CONTAINERS) and set(map(type, whole)) <= {str}:
                    return (one in whole) is (operator == "in")
            case Binary(operator="==" | "!=" as operator, left=left, right=right):
                one, other = self.told(left), self.told(right)
                if type(one) in _SCALARS and type(other) in _SCALARS:
                    return (one == other) is (operator == "==")
            case Binary(operator="<" | "<=" | ">" | ">=" as operator, left=left, right=right):
                one, other = self.known(left), self.known(right)
                if _are_ordered(one, other):
                    return bool(COMPARISONS[operator](one, other))
            case Call(function=Name() as function, arguments=(of, kinds), options=()) if (
                self.value(function) is isinstance
            ):
                kind = of.kind if isinstance(of, Display) and of.kind in (list, tuple) else type(self._value(of))
                known = self.known(kinds)
                known = known if type(known) is tuple else (known,)
                if all(type(each) is type for each in known) and is_plain_kind(kind):
                    return any(each in parents(kind) for each in known)
            case Call(function=Name() as function, arguments=(owner, name), options=()):
                whole, attribute = self.value(owner), self.value(name)
                if self.value(function) is hasattr and type(attribute) is str and is_plain(whole):
                    found = in_class(type(whole), attribute)
                    if found is None or in_class(type(found), "__get__") is None:
                        return attribute in vars(whole) or found is not None
            case _:
                return _truth(self.value(condition))
        return None

    def told(self, expression: Expression) -> Any:
        """As known, also of texts and numbers that code makes of others. Raises UnreadableError."""
        match expression:
            case Text(parts=parts) if {*map(type, told := [*map(self.told, parts)])} <= {str, int}:
                return "".join(map(str, told))
            case Binary(operator="+" | "-" | "*" as sign, left=left, right=right):
                one, other = self.told(left), self.told(right)
                if type(one) is type(other) is int or (sign == "+" and type(one) is type(other) is str):
                    return SIGNS[sign](one, other)
        return self.known(expression)

    def known(self, expression: Expression) -> Any:
        """As value, also of what code makes of such values: a tuple, a float of a text. Raises UnreadableError."""
        match expression:
            case Display(kind=kind, items=items) if kind is tuple:
                return tuple(map(self.known, items))
            case Call(function=Name() as function, arguments=(Constant(value=str(text)),), options=()) if (
                self.value(function) is float
            ):
                with suppress(ValueError):
                    return float(text)
            case Call(function=function, arguments=(), options=()):
                called, torchvision = self.value(function), sys.modules.get("torchvision")
                asks = torchvision is not None and called is vars(torchvision).get("get_image_backend")
                if asks and is_original(called, "torchvision"):
                    return vars(torchvision)["_image_backend"]
        return self.value(expression)


def _are_ordered(one: Any, other: Any) -> bool:
    """Whether they are two numbers, or two tuples of some."""
    if type(one) is tuple and type(other) is tuple:
        return all(type(each) in (bool, int, float) for each in (*one, *other))
    return type(one) in (bool, int, float) and type(other) in (bool, int, float)


def is_plain_kind(kind: type) -> bool:
    """Whether objects of a class say nothing else of their class than what it is."""
    return in_class(kind, "__class__") is object.__dict__["__class__"]


def _truth(value: Any) -> bool | None:
    """bool(value); None if code of others would have to say."""
    kind = type(value)
    if any(kind is known for known in (*_SCALARS, *_CONTAINERS)):
        return bool(value)
    if is_a(value, torch.nn.Module) and is_original(in_class(kind, "__len__") or is_original, "torch", "goloader"):
        return bool(value)
    if is_original(in_class(kind, "__len__"), "albumentations") and in_class(kind, "__bool__") is None:
        return bool(value)
    if in_class(kind, "__bool__") is None and in_class(kind, "__len__") is None:
        return True
    return None


def _without_type(reading: Reading) -> tuple[Any, ...]:
    """What code does, but for what it does to have an int as the index."""
    conditions = tuple(decided for decided in reading.conditions if not decided[0].has(Index))
    return _to_int(reading.result), tuple(map(_to_int, reading.loose)), conditions, reading.extents


def _to_int(part: Any) -> Any:
    """An expression with the index in place of what makes an int of it."""
    match part:
        case Call(function=Attribute(owner=owner, name=name), arguments=(), options=()) if (
            name in _TO_INT and _to_int(owner) == Index()
        ):
            return Index()
    if isinstance(part, tuple):
        return tuple(map(_to_int, part))
    if not isinstance(part, Expression) or isinstance(part, Constant | Index):
        return part
    return type(part), *(_to_int(getattr(part, field.name)) for field in fields(part))  # type: ignore[arg-type]


def length_of(dataset: Any) -> int:
    """len(dataset), as torch's samplers ask for it. Raises UnreadableError."""
    try:
        return len(dataset)
    except Exception as error:  # code of the user's
        raise UnreadableError(f"has no length: {error}") from None


def state_of(function: FunctionType) -> tuple[Any, ...]:
    """What a function does, as objects that are others once it is changed."""
    return function.__code__, function.__defaults__, function.__kwdefaults__


class _Read:
    """A function as it was when it was read."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self._is = state_of(function)

    def unchanged(self, function: Any) -> bool:
        """True if it is this one, and does what it did."""
        return function is self.function and self.same_code()

    def same_code(self) -> bool:
        """True if it does what it did."""
        return all(map(is_, state_of(self.function), self._is))


def function_in(found: Any) -> Any:
    """What is in a property, or in a method that takes no object."""
    if type(found) is property:
        return found.fget
    return found.__func__ if type(found) is staticmethod else found


def is_of_library(module: Any) -> bool:
    """Whether a module, by its name, is one of a library's."""
    package = str(module).partition(".")[0]
    return package in _LIBRARIES or package in sys.stdlib_module_names


def is_left(function: FunctionType) -> bool:
    """Whether a function is known by what it is, and not read through."""
    module = str(function.__globals__.get("__name__"))
    return is_of_library(module) and not _READ_THROUGH & {module, module.partition(".")[0]}


def _is_of_datasets(function: FunctionType) -> bool:
    """Whether it is of torchvision's datasets, whose code is read as that of the user's is."""
    return str(function.__globals__.get("__name__")).startswith("torchvision.datasets.")


def _is_super(expression: Expression) -> bool:
    return (
        isinstance(expression, Call)
        and isinstance(expression.function, Name)
        and expression.function.name == "super"
        and len(expression.arguments) == 2
    )


def variable(function: FunctionType, name: str) -> Any:
    """A variable of the module or of a function around, as a function sees it."""
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise UnreadableError(f"uses {name}, which is not set") from None
    for scope in (function.__globals__, vars(builtins)):
        if name in scope:
            return scope[name]
    raise UnreadableError(f"uses {name}, which is not set")


def _attribute(owner: Any, name: str, expression: Expression) -> Any:
    """owner.name, of a module, a class, or an object that looks its attributes up as usual."""
    if type(owner) is ModuleType and name in vars(owner):
        return vars(owner)[name]
    if type(owner) is type:
        found = in_class(owner, name)
        if found is not None and (type(found) is FunctionType or not in_class(type(found), "__get__")):
            return found
    elif name in _PARTS.get(type(owner), ()):
        return getattr(owner, name)
    elif type(owner) is EnumMeta:
        members = vars(owner).get("_member_map_")
        if type(members) is dict and name in members:
            return members[name]
    elif is_plain(owner):
        shared = in_class(type(owner), name)
        if in_class(type(shared), "__set__") or in_class(type(shared), "__delete__"):
            raise UnreadableError(f"uses its {name}, which is computed", expression)
        if name in vars(owner):
            return vars(owner)[name]
        if shared is not None and in_class(type(shared), "__get__") is None:
            return shared
        raise UnreadableError(f"uses {name}, and it has no attribute {name} of its own", expression)
    raise UnreadableError(f"uses {expression}", expression)


def refusal(dataset: Any, why: str) -> RefusalError:
    """Why a class of the user's own is not lowered."""
    return SourceRefusal(
        name_of(dataset),
        f"goloader does not know {module_of(type(dataset))}.{look_name(dataset)}: {why}",
        "CODE_UNREAD",
    )


def is_plain(owner: Any) -> bool:
    """True if attributes of an object are looked up as usual."""
    kind = type(owner)
    return (
        in_class(kind, "__getattribute__") in _LOOKUPS
        and in_class(kind, "__getattr__") in _MISSING
        and type(in_class(kind, "__dict__")) in (GetSetDescriptorType, MemberDescriptorType)
        and type(vars(owner)) is dict
    )


def getitem_of(dataset: Any) -> FunctionType:
    """The function that `dataset[index]` calls. Raises RefusalError unless attributes of it are looked up as usual."""
    kind = type(dataset)
    function = in_class(kind, "__getitem__")
    if type(function) is not FunctionType:
        raise refusal(dataset, f"its __getitem__ is a {type(function).__name__}, not a plain function")
    if not is_plain(dataset):
        raise refusal(dataset, "its class has its own attribute lookup")
    if in_class(kind, "__getitems__") is not None or "__getitems__" in vars(dataset):
        raise refusal(dataset, "it has __getitems__")
    return function
