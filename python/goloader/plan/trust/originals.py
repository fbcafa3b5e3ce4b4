"""Whether what stands behind a name of a library is what the library's own file puts there.

Users replace functions of libraries, by whatever can be called: a def, a lambda, a partial, a Mock, another function of
the library, other code or defaults for the function itself. Such a replacement is the user's code, and nothing may be
assumed about it. So a name is compared with the file: the code of its module, from Python's own cache of compiled
files, says what is bound to each name, and with which defaults. Nothing that is looked at here is ever called.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard
from zipimport import zipimporter

from .look import members, parents

# Code that we ourselves put in place of a function's for a while, and functions that stand for builtins: what they
# stand for. By identity, since code objects are equal to their copies.
exchanged: dict[int, Any] = {}

_LIBRARIES = {
    "PIL", "albucore", "albumentations", "cv2", "goloader", "imageio", "matplotlib", "numpy", "scipy", "skimage",
    "soundfile", "torch", "torchvision",
}  # fmt: skip


def is_original(function: Any, *packages: str) -> bool:
    """True if `function` is one of these packages', and just as their files have it."""
    if type(function) is MethodType:
        function = function.__func__
    return package_of(function) in packages and as_shipped(function)


def package_of(function: Any) -> str:
    name = function.__globals__.get("__name__") if type(function) is FunctionType else None
    return _top(name) if type(name) is str else ""


def code_of(function: FunctionType) -> CodeType:
    """The code of a function, under that of a hook of ours."""
    code: CodeType = exchanged.get(id(function.__code__), function.__code__)
    return code


def behind(value: Any) -> Any:
    """What a function of ours that stands in front of a builtin stands for; any other value is itself."""
    return exchanged.get(id(value), value)


# ---- functions

# By a function's id: itself, its code, defaults, default keywords and closure when it was last found as shipped.
_known: dict[int, tuple[FunctionType, CodeType, Any, Any, Any]] = {}


def as_shipped(function: Any) -> bool:
    """True for a plain function whose code, defaults and closure are those that its module's file gives it."""
    known = _known.get(id(function))
    if known is not None and known[0] is function:  # as is asked before each batch, of some functions
        _, code, defaults, keywords, closure = known
        if (
            code is code_of(function)
            and defaults is function.__defaults__
            and keywords is function.__kwdefaults__
            and closure is function.__closure__
        ):
            return True
    if type(function) is not FunctionType or not _is_shipped(function, code_of(function)):
        return False
    trust(function)
    return True


def trust(function: FunctionType) -> None:
    """Takes a function for one that is as shipped."""
    state = code_of(function), function.__defaults__, function.__kwdefaults__, function.__closure__
    _known[id(function)] = function, *state


def _is_shipped(function: FunctionType, code: CodeType) -> bool:
    module = sys.modules.get(str(function.__globals__.get("__name__")))
    if not is_module(module) or vars(module) is not function.__globals__:
        return False
    return any(
        made.code == code and _has_defaults(function, made) and _closes_over_shipped(function)
        for made in _functions(module, code)
    )


def _functions(module: ModuleType, code: CodeType) -> Iterator[_Function]:
    """Functions that a module's file makes of such code, or of code that looks like it."""
    for parent in _parents(module.__name__).get((code.co_name, code.co_firstlineno), ()):
        yield from (made for made in _read(parent, module.__name__).functions if made.code.co_name == code.co_name)


@cache
def _parents(module: str) -> dict[tuple[str, int], list[CodeType]]:
    """Of each code in a module's file, by name and line, the code that it stands in."""
    found: dict[tuple[str, int], list[CodeType]] = {}
    work = [code for code in (_code_of_file(module),) if code is not None]
    while work:
        parent = work.pop()
        for code in parent.co_consts:
            if type(code) is CodeType:
                found.setdefault((code.co_name, code.co_firstlineno), []).append(parent)
                work.append(code)
    return found


@cache
def _code_of_file(name: str) -> CodeType | None:
    """What Python compiles a module's file to; from its own cache, if that is of the same time and size."""
    if name not in sys.modules:  # a namespace that only looks like a module: torch.ops.image
        return None
    module = vars(sys.modules[name])
    spec, file = module.get("__spec__"), module.get("__file__")
    loader = getattr(spec, "loader", None)
    if type(loader) not in (SourceFileLoader, SourcelessFileLoader, zipimporter):
        # An import hook's, which may compile something else than is in the file. What C made has no code.
        loader = SourceFileLoader(name, file) if type(file) is str and file.endswith(".py") else None
    try:
        return None if loader is None else loader.get_code(name)
    except (ImportError, OSError, SyntaxError, ValueError):
        return None


def _has_defaults(function: FunctionType, made: _Function) -> bool:
    given, options = function.__defaults__ or (), function.__kwdefaults__ or {}
    if made.defaults is not _NOT_SAID and not _means(made.defaults, given, function):
        return False
    return made.options is _NOT_SAID or _means(made.options, options, function)


def _closes_over_shipped(function: FunctionType) -> bool:
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # it is empty
            continue
        if content is not function and not _is_of_library(None, "", content):
            return False
    return True


# ---- what a file says


@dataclass
class _Function:
    """A function that code makes, or a class, whose body is the function's code.

    defaults, options  what it takes for arguments that are not given, by place and by name
    """

    code: CodeType
    defaults: Any = ()
    options: Any = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        return not self.code.co_flags & 0x1  # CO_OPTIMIZED


@dataclass
class _Made:
    """What a decorator makes of a function, or `class` of a body."""

    function: _Function


@dataclass(eq=False)
class _Path:
    """A name, and attributes of it."""

    names: tuple[str, ...]


@dataclass(eq=False)
class _Imported:
    """A module; or with a name something in it."""

    module: str
    name: str = ""


@dataclass(eq=False)
class _Value:
    """A constant; a tuple or dict has such things as these here in it."""

    value: Any


_NOT_SAID = object()


@dataclass
class _Body:
    """What the code of a module or a class binds to its names, each perhaps in several places; all its functions."""

    names: dict[str, list[Any]] = field(default_factory=dict)
    functions: list[_Function] = field(default_factory=list)


_NEW_CALLS = sys.version_info >= (3, 11)
# How many objects a call takes off the stack beside its arguments.
_CALLS = {"CALL": 2, "CALL_FUNCTION": 1, "CALL_FUNCTION_KW": 2, "CALL_KW": 3, "CALL_METHOD": 2}
_GLOBAL_SHIFT = 1 if _NEW_CALLS else 0
_ATTRIBUTE_SHIFT = 1 if sys.version_info >= (3, 12) else 0
_NAME_SHIFTS = {
    "IMPORT_FROM": 0, "IMPORT_NAME": 0, "LOAD_ATTR": _ATTRIBUTE_SHIFT, "LOAD_FROM_DICT_OR_GLOBALS": 0,
    "LOAD_GLOBAL": _GLOBAL_SHIFT, "LOAD_METHOD": 0, "LOAD_NAME": 0, "LOAD_SUPER_ATTR": 2, "STORE_GLOBAL": 0,
    "STORE_NAME": 0,
}  # fmt: skip

_OPERATIONS = [(operation, _NAME_SHIFTS.get(operation)) for operation in dis.opname]


def operations(code: CodeType) -> Iterator[tuple[str, int, str]]:
    """What code does: the name of each operation, its argument, and the name that it uses, if it does."""
    raw, names = code.co_code, code.co_names
    high = 0
    for number, argument in zip(raw[::2], raw[1::2], strict=True):
        if number == dis.EXTENDED_ARG:
            high = (argument | high) << 8
        elif number:  # 0 is room for the interpreter
            argument |= high
            high = 0
            operation, shift = _OPERATIONS[number]
            yield operation, argument, "" if shift is None else names[argument >> shift]


# What was read, by the codes' ids: of a module's code, its hash alone takes as long as a small one takes to be read.
_bodies: dict[int, tuple[CodeType, _Body]] = {}


def _read(code: CodeType, module: str) -> _Body:
    """What the code of a module, or of something in it, says."""
    known = _bodies.get(id(code))
    if known is None:
        known = _bodies[id(code)] = code, _read_now(code, module)
    return known[1]


def _read_now(code: CodeType, module: str) -> _Body:
    """Reads code from its first operation to its last, whatever it branches on, and follows what is on its stack.

    What is not understood is None. What is wrong on the stack behind a branch is below what the next statement puts
    there, and never taken.
    """
    body = _Body()
    stack: list[Any] = []

    def take(count: int) -> list[Any]:
        at = len(stack) - count
        if at < 0:
            stack[:0] = [None] * -at
            at = 0
        taken = stack[at:]
        del stack[at:]
        return taken

    for operation, argument, name in operations(code):
        if operation == "LOAD_CONST":
            stack.append(_constant(code.co_consts[argument]))
        elif operation == "LOAD_SMALL_INT":
            stack.append(_Value(argument))
        elif operation in ("LOAD_NAME", "LOAD_GLOBAL"):
            stack.append(_Path((name,)))
        elif operation in ("LOAD_ATTR", "LOAD_METHOD"):
            (owner,) = take(1)
            stack.append(_Path((*owner.names, name)) if type(owner) is _Path else None)
            if operation == "LOAD_METHOD" or (_ATTRIBUTE_SHIFT and argument & 1):
                stack.append(None)
        elif operation == "BUILD_TUPLE":
            stack.append(_Value(tuple(take(argument))))
        elif operation == "BUILD_CONST_KEY_MAP":
            *values, keys = take(argument + 1)
            stack.append(_Value({key.value: value for key, value in zip(keys.value, values, strict=True)}))
        elif operation == "BUILD_MAP":
            items = take(2 * argument)
            known = all(type(key) is _Value and type(key.value) is str for key in items[::2])
            pairs = zip(items[::2], items[1::2], strict=True)
            stack.append(_Value({key.value: value for key, value in pairs}) if known else None)
        elif operation == "MAKE_FUNCTION":
            made = take(1 if _NEW_CALLS else 2)[0]
            function = _Function(made.value) if type(made) is _Value and type(made.value) is CodeType else None
            if sys.version_info < (3, 13):
                take((argument >> 2 & 1) + (argument >> 3 & 1))  # annotations and cells
                options, defaults = (take(1)[0] if argument & flag else None for flag in (2, 1))
                if function is not None:
                    function.options = _said(options) if argument & 2 else {}
                    function.defaults = _said(defaults) if argument & 1 else ()
            if function is not None:
                body.functions.append(function)
            stack.append(function)
        elif operation == "SET_FUNCTION_ATTRIBUTE":
            value, function = take(2)
            if type(function) is _Function and argument in (1, 2):
                setattr(function, "defaults" if argument == 1 else "options", _said(value))
            stack.append(function)
        elif operation == "IMPORT_NAME":
            level, _ = take(2)
            stack.append(_Imported(_absolute(name, level, module)))
        elif operation == "IMPORT_FROM":
            whole = stack[-1] if stack else None
            stack.append(_Imported(whole.module, name) if type(whole) is _Imported else None)
        elif operation in ("STORE_NAME", "STORE_GLOBAL"):
            body.names.setdefault(name, []).append(take(1)[0])
        elif operation in ("COPY", "DUP_TOP"):
            depth = argument if operation == "COPY" else 1
            stack.append(stack[-depth] if depth <= len(stack) else None)
        elif operation in _CALLS:
            taken = take(argument + _CALLS[operation])
            made = next((each for each in taken if type(each) in (_Function, _Made)), None)
            made = _Made(made) if type(made) is _Function else made
            stack.append(made if made is None or made.function.code.co_name.isidentifier() else None)
        elif operation != "PRECALL":
            _skip(stack, operation, argument)
    return body


def _constant(value: Any) -> _Value:
    return _Value(tuple(map(_constant, value)) if type(value) is tuple else value)


def _said(value: Any) -> Any:
    return _NOT_SAID if value is None else value


def _skip(stack: list[Any], operation: str, argument: int) -> None:
    """An operation of which only the number of objects matters that it takes and leaves."""
    effect = _effect(operation, argument)
    if effect < 0:
        del stack[effect:]
    stack.extend([None] * effect)
    if not operation.startswith(("LOAD_", "PUSH_NULL")):
        changed = min(len(stack), max(1, effect + 1))
        stack[len(stack) - changed :] = [None] * changed


@cache
def _effect(operation: str, argument: int) -> int:
    """How many more objects are on the stack after an operation."""
    number = dis.opmap[operation]
    try:
        return dis.stack_effect(number, argument if number >= dis.HAVE_ARGUMENT else None, jump=False)
    except ValueError:
        return 0


def _absolute(name: str, level: Any, module: str) -> str:
    """The module that an import names, in a module."""
    if type(level) is not _Value or not level.value:
        return name
    package = vars(sys.modules[module]).get("__package__") or module
    try:
        return importlib.util.resolve_name("." * level.value + name, package)
    except ImportError:
        return name


def _means(said: Any, value: Any, function: FunctionType) -> bool:
    """Whether a default is what the file says; true where that cannot be told."""
    if said is None:
        return True
    if type(said) is _Path:
        found = _follow(said.names, function.__globals__)
        return found is _NOT_SAID or found is value or (type(found) is type(value) is float and found == value)
    plain = said.value if type(said) is _Value else said
    if type(plain) is not type(value):
        return False
    if type(plain) is tuple:
        return len(plain) == len(value) and all(map(functools.partial(_means, function=function), plain, value))
    if type(plain) is dict:
        return plain.keys() == value.keys() and all(_means(plain[key], value[key], function) for key in plain)
    return plain is value or (type(plain) in _PLAIN and repr(plain) == repr(value))


_PLAIN = (bool, int, float, complex, str, bytes, frozenset)


def _follow(names: tuple[str, ...], scope: dict[str, Any]) -> Any:
    """What a name and its attributes stand for; _NOT_SAID where only running something would tell."""
    first, *rest = names
    found = scope.get(first, vars(builtins).get(first, _NOT_SAID))
    for name in rest:
        if is_module(found):
            found = vars(found).get(name, _NOT_SAID)
        elif issubclass(type(found), type):
            members = vars(found).get("_member_map_")
            found = (members if type(members) is dict else vars(found)).get(name, _NOT_SAID)
        else:
            return _NOT_SAID
    return found


# ---- names


def bound_as_shipped(owner: Any, name: str, value: Any, depth: int = 0) -> bool:
    """Whether `value`, bound to a name of a module or class, is what its file binds to it.

    depth  how many imports and other names led here: modules may import a name from each other
    """
    body = None if type(value) is BuiltinFunctionType or depth >= _DEPTH_MAX else _body_of(owner)
    bound = [] if body is None else body.names.get(name, [])
    if not bound:
        return _is_of_library(owner, name, value)
    return any(_fits(owner, name, said, value, depth + 1) for said in bound)


_DEPTH_MAX = 8


def unwrapped(value: Any) -> Any:
    """The function in a method of a class that needs no object, or in a property."""
    if type(value) in (staticmethod, classmethod):
        return value.__func__
    return value.fget if type(value) is property else value


def _body_of(owner: Any) -> _Body | None:
    """What the file says of a module, or of a class at any depth."""
    if is_module(owner):
        code = _code_of_file(owner.__name__)
        return None if code is None else _read(code, owner.__name__)
    module = module_of(owner)
    return _body_of_class(module, owner.__qualname__) if module in sys.modules else None


@cache
def _body_of_class(module: str, qualname: str) -> _Body | None:
    whole = _body_of(sys.modules[module])
    bodies = [] if whole is None else [whole]
    for name in qualname.split("."):
        said = [said for body in bodies for said in body.names.get(name, []) if type(said) is _Made]
        bodies = [_read(each.function.code, module) for each in said if each.function.is_class]
    if len(bodies) < 2:
        return bodies[0] if bodies else None
    return _Body(
        {name: [said for body in bodies for said in body.names.get(name, [])] for body in bodies for name in body.names}
    )


def _fits(owner: Any, name: str, said: Any, value: Any, depth: int) -> bool:
    whole: Any
    match said:
        case _Function(code=code):
            value = unwrapped(value)
            return as_shipped(value) and code_of(value) == code
        case _Made(function=function) if function.is_class:
            return (
                issubclass(type(value), type)
                and value.__name__ == name
                and _top(_module_of(owner)) == _top(module_of(value))
            )
        case _Made(function=function):
            if any(as_shipped(each) and code_of(each) == function.code for each in _within(value)):
                return True
            return type(unwrapped(value)) is not FunctionType and _is_of_library(owner, name, value)
        case _Imported(module=module, name=""):
            return is_module(value)
        case _Imported(module=module, name=member):
            whole = sys.modules.get(module)
            if not is_module(whole) or member not in vars(whole):
                return value is sys.modules.get(f"{module}.{member}") or _is_of_library(owner, name, value)
            return value is vars(whole)[member] and bound_as_shipped(whole, member, value, depth)
        case _Path(names=(first, *rest)):
            whole = owner if first in vars(owner) else sys.modules[_module_of(owner)]
            found = _follow((first, *rest), vars(whole))
            if type(unwrapped(found)) is FunctionType:
                return found is value and (
                    as_shipped(unwrapped(value))
                    if rest or first == name
                    else bound_as_shipped(whole, first, value, depth)
                )
    return _is_of_library(owner, name, value)


def _module_of(owner: Any) -> str:
    return str(owner.__name__) if is_module(owner) else module_of(owner)


def is_module(value: Any) -> TypeGuard[ModuleType]:
    """isinstance() would ask the object for its class."""
    return issubclass(type(value), ModuleType)


def is_data(value: Any) -> bool:
    """True for settings and the like, which are anybody's to change."""
    kind = type(value)
    if kind not in _is_data_kind:
        has = {name for base in parents(kind) for name in ("__call__", "__get__") if name in members(base)}
        _is_data_kind[kind] = not has and not is_module(value)
    return _is_data_kind[kind]


_is_data_kind: dict[type, bool] = {}


# ---- values


def module_of(kind: type) -> str:
    """The name of a class's module, whatever its metaclass says."""
    return str(vars(type)["__module__"].__get__(kind))


def _within(value: Any) -> Iterator[Any]:
    """A function that a library's decorators were put around: all that may be it. They are as shipped, too."""
    value = unwrapped(value)
    if type(value) is functools._lru_cache_wrapper:
        yield vars(value).get("__wrapped__")
    elif type(value) is functools.cached_property:
        yield value.func
    elif as_shipped(value) and _is_library(package_of(value)):
        yield value
        for cell in value.__closure__ or ():
            yield from _within(cell.cell_contents)


def _is_of_library(owner: Any, name: str, value: Any) -> bool:
    """Whether a value, of which no file says more, is one that libraries have, and not code of the user's."""
    value = unwrapped(value)
    kind = type(value)
    if kind is FunctionType:
        if id(value) in exchanged:
            return True
        if value.__code__.co_filename.startswith("<") and owner is not None and not is_module(owner):
            # Methods that Python itself writes.
            return not {"__dataclass_fields__", "_fields"}.isdisjoint(vars(owner))
        return _is_library(package_of(value)) and as_shipped(value)
    if kind is MethodType:
        return _is_of_library(None, "", value.__func__)
    if kind is functools.partial:
        return _is_of_library(None, "", value.func)
    if kind is functools._lru_cache_wrapper:
        return _is_of_library(None, "", vars(value).get("__wrapped__"))
    if kind is BuiltinFunctionType:
        # Another function of the same module in its place has its own name there, too.
        return owner is None or value.__name__ == name or vars(owner).get(value.__name__) is not value
    if issubclass(kind, type):
        return _is_library(_top(module_of(value)))
    if is_module(value):
        return True
    package = _top(module_of(kind))
    if any("__call__" in members(base) for base in parents(kind)):
        return package in _LIBRARIES or package in _HARMLESS
    return _is_library(package)


# What can be called of these are types, mostly.
_HARMLESS = ("builtins", "collections", "types", "typing")


def _top(module: str) -> str:
    return module.partition(".")[0]


def _is_library(package: str) -> bool:
    return package in _LIBRARIES or package == "builtins" or package in sys.stdlib_module_names
