"""What each instruction of CPython 3.10 to 3.14 does to a machine: one table, by their names."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dis import Instruction
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from .expressions import (
    NONE,
    UNSET,
    Adding,
    Apart,
    Attribute,
    Binary,
    Call,
    Constant,
    Display,
    Enter,
    Entered,
    Exit,
    Expression,
    Extended,
    Filled,
    Inner,
    Item,
    Iterated,
    Mapping,
    Member,
    Module,
    Name,
    Part,
    Spread,
    Stored,
    Text,
    Through,
    Unary,
    UnreadableError,
    as_constant,
    value_of,
)
from .flow import several
from .made import extended, is_list, is_made, parts_of_list, with_item
from .reading import Several

if TYPE_CHECKING:
    from .machine import Machine

    _Step = Callable[[Machine, Instruction], object]


# What MAKE_FUNCTION or SET_FUNCTION_ATTRIBUTE gives a function; the last one came with Python 3.14.
_CLOSURE, _DEFAULTS, _ANNOTATIONS, _ANNOTATE = 8, 1, 4, 16
_ABOUT = (_ANNOTATIONS, _ANNOTATE)
_TO_TUPLE = 6  # INTRINSIC_LIST_TO_TUPLE
# Of FORMAT_VALUE, and CONVERT_VALUE.
_CONVERTED, _WITH_SPEC = 3, 4
_CONVERSIONS = {1: str, 2: repr, 3: ascii}


def unread(instruction: Instruction) -> UnreadableError:
    return UnreadableError(f"does more than can be read ({instruction.opname})")


def load_fast(machine: Machine, instruction: Instruction) -> None:
    for name in several(instruction.argval):
        machine.load(name)


def load_and_clear(machine: Machine, instruction: Instruction) -> None:
    """A variable that a comprehension uses for its own, to be put back behind it."""
    machine.stack.append(machine.locals.pop(instruction.argval, UNSET))


def store_fast(machine: Machine, instruction: Instruction) -> None:
    for name in several(instruction.argval):
        machine.store(name, machine.stack.pop())


def store_fast_load_fast(machine: Machine, instruction: Instruction) -> None:
    stored, loaded = instruction.argval
    machine.store(stored, machine.stack.pop())
    machine.load(loaded)


def load_attr(machine: Machine, instruction: Instruction) -> None:
    owner, name = machine.stack.pop(), instruction.argval
    machine.one_chosen(owner)
    if is_list(owner) and name in ("append", "extend"):
        machine.one_of(owner)
    grows = isinstance(owner, Extended) or (isinstance(owner, Display) and owner.kind is list)
    fills = machine.samples and isinstance(owner, Call | Filled) and name in ("fill_", "zero_")
    if fills or (isinstance(owner, Display | Extended) and grows and name in ("append", "extend")):
        machine.stack.append(Adding(owner, name))
    elif (kept := machine.reader.kept.get(Attribute(owner, name))) is not None:
        machine.stack.append(kept)
    else:
        machine.push(Attribute(owner, name))


def store_attr(machine: Machine, instruction: Instruction) -> None:
    value, owner = machine.pop(2)
    attribute = Attribute(owner, instruction.argval)
    if not machine.reader.keeps(attribute, value):
        raise UnreadableError(f"sets {attribute}")
    machine.reader.kept[attribute] = value


def load_name(machine: Machine, instruction: Instruction) -> None:
    machine.push(Name(instruction.argval, machine.function))


def import_name(machine: Machine, instruction: Instruction) -> None:
    level, names = map(value_of, machine.pop(2))
    package = machine.function.__globals__.get("__package__") or ""
    try:
        name = importlib.util.resolve_name("." * level + instruction.argval, package)
    except ImportError:
        raise UnreadableError(f"imports {instruction.argval}") from None
    machine.reader.imports.append(name)
    machine.stack.append(Module(name if names else name.partition(".")[0]))


def import_from(machine: Machine, instruction: Instruction) -> None:
    machine.push(Attribute(machine.stack[-1], instruction.argval))


def load_deref(machine: Machine, instruction: Instruction) -> None:
    if instruction.argval in machine.around:
        if machine.around[instruction.argval] is UNSET:
            raise UnreadableError(f"uses {instruction.argval} before it is assigned")
        machine.stack.append(machine.around[instruction.argval])
    elif instruction.argval in machine.function.__code__.co_cellvars:
        load_fast(machine, instruction)  # a comprehension uses it too
    else:
        load_name(machine, instruction)


def load_closure(machine: Machine, instruction: Instruction) -> None:
    """A variable that is handed to a function made within: as what it is now, which it stays."""
    name = instruction.argval
    known = machine.around.get(name) or machine.locals.get(name)
    if known is None:
        known = Name(name, machine.function) if name in machine.function.__code__.co_freevars else UNSET
    machine.stack.append(known)


def store_deref(machine: Machine, instruction: Instruction) -> None:
    if instruction.argval not in machine.function.__code__.co_cellvars:
        raise UnreadableError(f"sets {instruction.argval} of a function around")
    if instruction.argval in machine.captured:
        raise UnreadableError(f"sets {instruction.argval}, which a function made within uses")
    store_fast(machine, instruction)


def make_function(machine: Machine, instruction: Instruction) -> None:
    if sys.version_info < (3, 11):
        machine.stack.pop()  # its name
    code = machine.stack.pop()
    flags = instruction.arg or 0
    around = machine.stack.pop() if flags & _CLOSURE else Display(tuple, ())
    if flags & _ANNOTATIONS:
        machine.stack.pop()
    defaults = machine.stack.pop() if flags & _DEFAULTS else Display(tuple, ())
    if flags & ~(_CLOSURE | _DEFAULTS | _ANNOTATIONS):
        raise UnreadableError("makes a function")
    _make(machine, code, around, defaults)


def set_function_attribute(machine: Machine, instruction: Instruction) -> None:
    function, value = machine.stack.pop(), machine.stack.pop()
    if instruction.arg not in (_CLOSURE, _DEFAULTS, *_ABOUT) or not isinstance(function, Inner):
        raise UnreadableError("makes a function")
    if instruction.arg in _ABOUT:
        machine.stack.append(function)
        return
    around, defaults = Display(tuple, function.around), Display(tuple, function.defaults)
    if instruction.arg == _CLOSURE:
        _make(machine, as_constant(function.function.__code__), value, defaults)
    else:
        _make(machine, as_constant(function.function.__code__), around, value)


def _make(machine: Machine, code: Expression, around: Expression, defaults: Expression) -> None:
    if not isinstance(code, Constant) or code.kind is not CodeType:
        raise UnreadableError("makes a function")
    name = code.value.co_name
    at_once = name in ("<listcomp>", "<dictcomp>", "<genexpr>")
    looping = machine.samples and machine.reader.looping and not at_once
    if looping or not isinstance(around, Display) or not isinstance(defaults, Display):
        raise UnreadableError(f"makes a function ({name})")
    if not at_once:
        machine.captured.update(code.value.co_freevars)
    cells = tuple(CellType() for _ in code.value.co_freevars)
    function = FunctionType(code.value, machine.function.__globals__, closure=cells or None)
    machine.stack.append(Inner(function, around.items, defaults.items))


def get_iter(machine: Machine, instruction: Instruction) -> None:
    machine.loop_over(machine.stack.pop())


def for_iter(machine: Machine, instruction: Instruction) -> None:
    if isinstance(machine.stack[-1], Through):
        machine.begin(instruction)
    else:
        machine.iterate(instruction)


def jump_back(machine: Machine, instruction: Instruction) -> None:
    if machine.loop is not None and instruction.argval == machine.loop.start:
        machine.again(instruction)
    else:
        machine.jump(instruction)


def map_add(machine: Machine, instruction: Instruction) -> None:
    name, item = machine.pop(2)
    at = -(instruction.arg or 1)
    made = machine.stack[at]
    if machine.loop is not None or not isinstance(made, Mapping):
        raise UnreadableError("adds to what is no dict of its own")
    machine.stack[at] = with_item(made, machine.key(name), item)


def dict_update(machine: Machine, instruction: Instruction) -> None:
    more, at = machine.stack.pop(), -(instruction.arg or 1)
    made = machine.stack[at]
    if machine.reader.draws is not None and not isinstance(more, Mapping):
        names = machine.reader.items(more)
        more = Mapping(tuple(map(value_of, names)), tuple(Item(more, each) for each in names))
    if not isinstance(made, Mapping) or not isinstance(more, Mapping):
        raise UnreadableError("unpacks a dict that is not its own")
    if instruction.opname == "DICT_MERGE" and {*made.names} & {*more.names}:
        raise UnreadableError("gives an argument twice")
    for name, item in zip(more.names, more.items, strict=True):
        made = with_item(made, name, item)
    machine.stack[at] = made


def store_item(machine: Machine, instruction: Instruction) -> None:
    item, made, name = machine.pop(3)
    each_turn = machine.samples or machine.reader.draws is not None
    if each_turn and machine.loop is not None and isinstance(made, Call | Filled):
        if not machine.samples and made in machine.loop.grown:  # what one turn sets, the next may set otherwise
            raise UnreadableError(f"sets {made}[{name}] in a loop that sets others of its items")
        machine.fill(made, name, item, machine.loop.owner)
        return
    if is_made(made):
        machine.one_of(made)
    if machine.sets_numbers(made):
        machine.set_numbers(made, name, item)
        return
    if isinstance(made, Call | Filled) and machine.sets_one(made, name):
        machine.reader.add(machine.fill(made, name, item, NONE), machine.place)
        return
    if machine.reader.draws is not None and machine.loop is None and not is_made(made):
        machine.reader.add(Stored(made, name, item), machine.place)
        return
    if not isinstance(made, Mapping):
        raise UnreadableError(f"sets {made}[{name}]")
    machine.change(made, with_item(made, machine.key(name), item))


def store_slice(machine: Machine, instruction: Instruction) -> None:
    machine.push(Display(slice, tuple(machine.pop(2))))
    store_item(machine, instruction)


def call_with_names(machine: Machine, instruction: Instruction) -> None:
    machine.options = value_of(machine.stack.pop())
    machine.call(instruction.argval)


def _is_shape(of: Any) -> bool:
    """Whether it may be the shape of an array or a tensor."""
    match of:
        case Attribute(name="shape") | Call(function=Attribute(name="size"), arguments=(), options=()):
            return True
    return False


def call_with_unpacked(machine: Machine, instruction: Instruction) -> None:
    """function(*argument, **options), where the number of values is known, or the argument is as long as there are
    samples."""
    options = machine.stack.pop() if instruction.arg else Mapping((), ())
    function, argument = machine.pop(2)
    if machine.reader.draws is not None and (not isinstance(argument, Display) or argument.spread):
        plain = isinstance(options, Mapping) and not options.names
        shaped = plain and _is_shape(argument)
        try:
            argument = Display(tuple, machine.reader.items(argument))
        except UnreadableError:
            if not shaped:
                raise
            argument = Display(tuple, (Spread(Member(argument), argument),))
    if (
        not isinstance(options, Mapping)
        or (options.names and machine.samples)
        or not (machine.samples or isinstance(argument, Display))
    ):
        raise UnreadableError("unpacks values whose number is not known")
    if isinstance(argument, Display) and not machine.samples:
        given = (*argument.items, *options.items)
        machine.stack += [function, *given]
        machine.options = options.names
        machine.call(len(given))
        return
    arguments = argument.items if isinstance(argument, Display) else (Spread(Member(argument), argument),)
    machine.push(Call(function, arguments))


def kw_names(machine: Machine, instruction: Instruction) -> None:
    machine.options = machine.constants[instruction.arg or 0]


def load_super_attr(machine: Machine, instruction: Instruction) -> None:
    function, *arguments = machine.pop(3)
    machine.push(Call(function, tuple(arguments)))
    machine.push(Attribute(machine.stack.pop(), instruction.argval))


def before_with(machine: Machine, instruction: Instruction) -> None:
    manager = machine.stack.pop()
    machine.stack.append(Exit(manager))
    machine.push(Entered(manager))


def load_special(machine: Machine, instruction: Instruction) -> None:
    """A manager's __exit__, with the place that its `self` has on the stack, or its __enter__, called next."""
    manager = machine.stack.pop()
    if instruction.argrepr == "__exit__":
        machine.stack += [Exit(manager), NONE]
    elif instruction.argrepr == "__enter__":
        machine.stack.append(Enter(manager))
    else:
        raise UnreadableError(f"uses {instruction.argrepr}")


def unpack_sequence(machine: Machine, instruction: Instruction) -> None:
    owner, count = machine.stack.pop(), instruction.argval
    machine.one_of(owner)
    machine.use(owner)
    if isinstance(owner, Display) and not owner.spread:
        if len(owner.items) != count:
            raise UnreadableError(f"unpacks {len(owner.items)} values to {count}")
        parts: list[Expression] = list(owner.items)
    elif machine.reader.draws is not None and _is_of(machine, owner, count):
        parts = list(machine.reader.items(owner))
    else:
        parts = [Part(owner, number, count) for number in range(count)]
        if machine.reader.draws is not None:  # it may fail, whether they are used or not
            if isinstance(owner, Iterated) or not parts:
                raise UnreadableError(f"unpacks {owner}")
            machine.reader.add(parts[0], machine.place)
    machine.stack += reversed(parts)


def _is_of(machine: Machine, owner: Expression, count: int) -> bool:
    """Whether a value is a list or tuple of so many items, the same for every index."""
    try:
        value = machine.reader.value(owner)
    except UnreadableError:
        return False
    return type(value) in (list, tuple) and len(value) == count


def unpack_more(machine: Machine, instruction: Instruction) -> None:
    """first, *others, last = made"""
    owner, arg = machine.stack.pop(), instruction.arg or 0
    before, behind = arg & 0xFF, arg >> 8
    machine.one_of(owner)
    if machine.reader.draws is not None and (not isinstance(owner, Display) or owner.spread):
        try:
            owner = Display(tuple, machine.reader.items(owner))
        except UnreadableError:
            if not machine.reads_turns(owner):
                raise
            _unpack_list(machine, owner, before, behind)
            return
    if machine.samples or not isinstance(owner, Display) or len(owner.items) < before + behind:
        raise UnreadableError(f"unpacks {owner}")
    end = len(owner.items) - behind
    others = Display(list, owner.items[before:end])
    machine.made.all.append(others)
    machine.stack += reversed([*owner.items[:before], others, *owner.items[end:]])


def _unpack_list(machine: Machine, owner: Expression, before: int, behind: int) -> None:
    """The same of a list of which nobody knows how long it is."""
    if before + behind:
        machine.reader.add(Item(owner, as_constant(before + behind - 1)), machine.place)  # it may fail
    inner = Item(owner, Display(slice, (as_constant(before), as_constant(-behind or None))))
    others = Display(list, (Spread(Member(inner), inner),))
    machine.made.all.append(others)
    first = [Item(owner, as_constant(n)) for n in range(before)]
    machine.stack += reversed([*first, others, *(Item(owner, as_constant(n)) for n in range(-behind, 0))])


def binary_slice(machine: Machine, instruction: Instruction) -> None:
    owner, *ends = machine.pop(3)
    machine.push(Display(slice, tuple(ends)))
    machine.push(Item(owner, machine.stack.pop()))


def handle(machine: Machine, instruction: Instruction) -> None:
    """The beginning of a `try`."""
    if machine.reader.draws is None:
        raise unread(instruction)


def binary_op(machine: Machine, instruction: Instruction) -> None:
    if instruction.argrepr == "[]":
        machine.push(Item(*machine.pop(2)))
    else:
        binary(machine, instruction.argrepr)


def binary(machine: Machine, sign: str) -> None:
    left, right = machine.pop(2)
    if sign == "+=":
        for side, other in ((left, right), (right, left)):
            if isinstance(other, Display) or is_list(other):
                machine.one_of(side)
    if (
        sign == "+"
        and isinstance(left, Display)
        and isinstance(right, Display)
        and left.kind is right.kind is not Several
    ):
        machine.push(Display(left.kind, (*left.items, *right.items)))
        return
    grows = isinstance(left, Extended) or (is_list(left) and isinstance(right, Apart | Extended))
    if sign == "+=" and grows and isinstance(left, Display | Extended):
        machine.stack.append(left)
        machine.lengthen(left, right)
        return
    lists = [each for each in (left, right) if isinstance(each, Display) and each.kind is list]
    if sign == "+=" and len(lists) == 2:
        left, right = lists
        machine.stack.append(left)
        machine.grow(left, right.items)
        return
    machine.push(Binary(sign, left, right))


def list_extend(machine: Machine, instruction: Instruction) -> None:
    more = machine.stack.pop()
    machine.one_of(more)
    at = -(instruction.arg or 1)
    made = machine.stack[at]
    if machine.reader.draws is not None and isinstance(made, Display | Extended):
        parts = parts_of_list(more)
        if parts is not None and (isinstance(made, Extended) or not isinstance(more, Display)):
            machine.stack[at] = longer = extended(made, parts)
            machine.made.replace(made, longer)
            return
    extend(machine, instruction, more.items if isinstance(more, Display) else None)


def extend(machine: Machine, instruction: Instruction, items: tuple[Expression, ...] | None) -> None:
    """A list that is being made becomes longer."""
    at = -(instruction.arg or 1)
    made = machine.stack[at]
    if isinstance(made, Extended) and items is not None:
        machine.stack[at] = longer_yet = extended(made, (Display(list, items),))
        machine.made.replace(made, longer_yet)
        return
    if items is None or not isinstance(made, Display):
        raise UnreadableError("unpacks values whose number is not known")
    if machine.loop is not None and made in machine.loop.lists:
        machine.grow(made, items)
        return
    machine.stack[at] = longer = Display(made.kind, (*made.items, *items))
    machine.made.replace(made, longer)


def list_to_tuple(machine: Machine, instruction: Instruction) -> None:
    made = machine.stack.pop()
    if not isinstance(made, Display) or (instruction.opname == "CALL_INTRINSIC_1" and instruction.arg != _TO_TUPLE):
        raise UnreadableError(f"does more than can be read ({instruction.opname})")
    machine.stack.append(Display(tuple, made.items))


def build_map(machine: Machine, instruction: Instruction) -> None:
    items = machine.pop(2 * instruction.argval)
    _map(machine, list(map(machine.key, items[::2])), items[1::2])


def build_const_key_map(machine: Machine, instruction: Instruction) -> None:
    names = value_of(machine.stack.pop())
    _map(machine, names, machine.pop(instruction.argval))


def _map(machine: Machine, names: Any, items: list[Expression]) -> None:
    if not {type(name) for name in names} <= {str, int} or len(set(names)) < len(names):
        raise UnreadableError("makes a dict with names that are not constants, or the same")
    machine.push(Mapping(tuple(names), tuple(items)))


def format_value(machine: Machine, instruction: Instruction) -> None:
    """f"{value!r:spec}"; also "%r" % value, of which CPython makes the same."""
    arg = instruction.arg or 0
    spec = machine.pop(1) if arg & _WITH_SPEC or instruction.opname == "FORMAT_WITH_SPEC" else []
    if arg & _CONVERTED:
        _convert(machine, arg & _CONVERTED)
    value = machine.stack.pop()
    machine.push(Call(as_constant(format), (value, *spec)) if spec else Text((value,)))


def _convert(machine: Machine, how: int) -> None:
    machine.push(Call(as_constant(_CONVERSIONS[how]), (machine.stack.pop(),)))


def negate(machine: Machine, instruction: Instruction) -> None:
    if machine.reader.draws is None:
        raise unread(instruction)
    machine.push(Unary("not", machine.stack.pop()))


def swap(machine: Machine, instruction: Instruction) -> None:
    stack, depth = machine.stack, instruction.argval
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


def _operator(operator: str) -> _Step:
    return lambda machine, instruction: binary(machine, operator)


def minus(machine: Machine, instruction: Instruction) -> None:
    operand = machine.stack.pop()
    if isinstance(operand, Constant) and type(operand.value) is int:
        machine.push(as_constant(-operand.value))
    else:
        machine.push(Unary("-", operand))


def _negatable(positive: str, negative: str) -> _Step:
    return lambda machine, instruction: machine.push(Binary(negative if instruction.arg else positive, *machine.pop(2)))


def _pop_jump(wanted: bool, none: bool = False) -> _Step:
    """Jumps if a condition is as wanted; with `none`, if it is as wanted that a value is None."""

    def step(machine: Machine, instruction: Instruction) -> None:
        condition = machine.stack.pop()
        if none:
            condition = Binary("is", condition, NONE)
        if machine.holds(condition, machine.raises_unless(instruction, wanted)) is wanted:
            machine.jump(instruction)

    return step


def _jump_or_pop(wanted: bool) -> _Step:
    def step(machine: Machine, instruction: Instruction) -> None:
        if machine.holds(machine.stack[-1]) is wanted:
            machine.jump(instruction)
        else:
            machine.stack.pop()

    return step


def _build(kind: type) -> _Step:
    def step(machine: Machine, instruction: Instruction) -> None:
        machine.push(Display(kind, tuple(machine.pop(instruction.argval))))
        machine.made.all.append(machine.stack[-1])

    return step


# What instructions do, by their names: of a machine `m` and an instruction `i`.
_ROWS: tuple[tuple[str, _Step], ...] = (
    (
        "CACHE COPY_FREE_VARS END_FOR EXTENDED_ARG GEN_START MAKE_CELL NOP NOT_TAKEN POP_BLOCK PRECALL PUSH_NULL "
        "RESUME RETURN_VALUE TO_BOOL",
        lambda m, i: None,
    ),
    ("BEFORE_WITH SETUP_WITH", before_with),
    ("BINARY_OP", binary_op),
    ("BINARY_SLICE", binary_slice),
    ("BINARY_SUBSCR", lambda m, i: m.push(Item(*m.pop(2)))),
    ("BUILD_CONST_KEY_MAP", build_const_key_map),
    ("BUILD_LIST", _build(list)),
    ("BUILD_MAP", build_map),
    ("BUILD_SLICE", lambda m, i: m.push(Display(slice, tuple(m.pop(i.argval))))),
    ("BUILD_STRING", lambda m, i: m.push(Text(tuple(m.pop(i.argval))))),
    ("BUILD_TUPLE", _build(tuple)),
    ("CALL CALL_FUNCTION CALL_METHOD", lambda m, i: m.call(i.argval)),
    ("CALL_FUNCTION_EX", call_with_unpacked),
    ("CALL_FUNCTION_KW CALL_KW", call_with_names),
    ("CALL_INTRINSIC_1 LIST_TO_TUPLE", list_to_tuple),
    # 3.13 spells "bool(==)" where the outcome is all that is wanted.
    ("COMPARE_OP", lambda m, i: m.push(Binary(str(i.argval), *m.pop(2)))),
    ("CONTAINS_OP", _negatable("in", "not in")),
    ("CONVERT_VALUE", lambda m, i: _convert(m, i.arg or 0)),
    ("COPY DUP_TOP", lambda m, i: m.stack.append(m.stack[-(i.arg or 1)])),
    ("DICT_MERGE DICT_UPDATE", dict_update),
    ("DUP_TOP_TWO", lambda m, i: m.stack.extend(m.stack[-2:])),
    ("FOR_ITER", for_iter),
    ("FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC", format_value),
    ("GET_ITER", get_iter),
    ("IMPORT_FROM", import_from),
    ("IMPORT_NAME", import_name),
    ("IS_OP", _negatable("is", "is not")),
    ("JUMP_ABSOLUTE JUMP_BACKWARD", jump_back),
    ("JUMP_FORWARD", lambda m, i: m.jump(i)),
    ("JUMP_IF_FALSE_OR_POP", _jump_or_pop(False)),
    ("JUMP_IF_TRUE_OR_POP", _jump_or_pop(True)),
    ("KW_NAMES", kw_names),
    ("LIST_APPEND", lambda m, i: extend(m, i, (m.stack.pop(),))),
    ("LIST_EXTEND", list_extend),
    ("LOAD_ATTR LOAD_METHOD", load_attr),
    ("LOAD_CLOSURE", load_closure),
    ("LOAD_CONST LOAD_SMALL_INT RETURN_CONST", lambda m, i: m.stack.append(as_constant(i.argval))),
    ("LOAD_DEREF", load_deref),
    (
        "LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST",
        load_fast,
    ),
    ("LOAD_FAST_AND_CLEAR", load_and_clear),
    ("LOAD_GLOBAL", load_name),
    ("LOAD_SPECIAL", load_special),
    ("LOAD_SUPER_ATTR", load_super_attr),
    ("MAKE_FUNCTION", make_function),
    ("MAP_ADD", map_add),
    ("POP_TOP", lambda m, i: m.stack.pop()),
    ("RETURN_GENERATOR", lambda m, i: m.stack.append(NONE)),  # POP_TOP takes it
    ("ROT_THREE", lambda m, i: m.stack.insert(-2, m.stack.pop())),
    ("ROT_TWO", lambda m, i: m.stack.insert(-1, m.stack.pop())),
    ("SET_FUNCTION_ATTRIBUTE", set_function_attribute),
    ("STORE_ATTR", store_attr),
    ("STORE_DEREF", store_deref),
    ("STORE_FAST STORE_FAST_STORE_FAST", store_fast),
    ("STORE_FAST_LOAD_FAST", store_fast_load_fast),
    ("SETUP_FINALLY", handle),
    ("STORE_SLICE", store_slice),
    ("STORE_SUBSCR", store_item),
    ("SWAP", swap),
    ("UNARY_INVERT", lambda m, i: m.push(Unary("~", m.stack.pop()))),
    ("UNARY_NEGATIVE", minus),
    ("UNARY_NOT", negate),
    ("UNPACK_EX", unpack_more),
    ("UNPACK_SEQUENCE", unpack_sequence),
    ("YIELD_VALUE", lambda m, i: m.give(m.stack[-1])),
    *(  # of CPython 3.10: "BINARY_OP" has taken their place
        (f"{kind}_{name}", _operator(sign + kept))
        for kind, kept in (("BINARY", ""), ("INPLACE", "="))
        for name, sign in (
            ("ADD", "+"), ("AND", "&"), ("FLOOR_DIVIDE", "//"), ("LSHIFT", "<<"), ("MATRIX_MULTIPLY", "@"),
            ("MODULO", "%"), ("MULTIPLY", "*"), ("OR", "|"), ("POWER", "**"), ("RSHIFT", ">>"), ("SUBTRACT", "-"),
            ("TRUE_DIVIDE", "/"), ("XOR", "^"),
        )
    ),
    *(
        (f"POP_JUMP_IF_{name} POP_JUMP_FORWARD_IF_{name} POP_JUMP_BACKWARD_IF_{name}", _pop_jump(wanted, none))
        for name, wanted, none in (
            ("TRUE", True, False), ("FALSE", False, False), ("NONE", True, True), ("NOT_NONE", False, True),
        )
    ),
)  # fmt: skip
STEPS = {name: step for names, step in _ROWS for name in names.split()}
