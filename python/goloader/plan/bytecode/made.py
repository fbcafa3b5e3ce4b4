"""Lists, tuples and dicts that code makes: what is in them, how they change, and what they are where two ways meet."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .expressions import (
    Apart,
    Attribute,
    Call,
    Closed,
    Display,
    Drawn,
    Either,
    Entered,
    Expression,
    Extended,
    Made,
    Mapping,
    Spread,
    Unknown,
    UnreadableError,
    own_parts,
)


class Joint:
    """What is known of values where two ways meet.

    Of lists, tuples or dicts on both ways one is made that has what is in them. A list or dict may be changed later, by
    whatever name. So it becomes one with another only if these two are in the same places on both ways.
    """

    def __init__(
        self,
        condition: Expression,
        number: int,
        places: Iterable[tuple[Expression, Expression]],
        others: Iterable[Expression],
    ) -> None:
        """places  what is in each place on the one way, and on the other
        others  what is in other places, on both ways
        """
        self.made: list[tuple[Expression, Expression, Expression]] = []
        self._condition, self._number = condition, number
        self._known: dict[tuple[int, int], Expression] = {}
        self._beside: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})
        for pair in (*((each, each) for each in others), *places):
            self._look(*pair)

    def _look(self, then: Expression, otherwise: Expression) -> None:
        """Notes what lists and dicts are in the same place."""
        if then is not otherwise and _are_alike(then, otherwise):
            if _can_change(then):
                self._note([then], [otherwise])
            for pair in zip(then.items, otherwise.items, strict=True):  # type: ignore[attr-defined]
                self._look(*pair)
        elif then is otherwise:
            for each in changeable(then):
                self._note([each], [each])
        else:
            self._note(changeable(then), ())
            self._note((), changeable(otherwise))

    def _note(self, then: Iterable[Expression], otherwise: Iterable[Expression]) -> None:
        ways = [{*map(id, then)}, {*map(id, otherwise)}]
        for known, here, there in zip(self._beside, ways, ways[::-1], strict=True):
            for each in here:
                known.setdefault(each, set()).update(there or {0})

    def of(self, then: Expression, otherwise: Expression) -> Expression:
        if then is otherwise or isinstance(otherwise, Unknown):
            return then
        if isinstance(then, Unknown):
            return otherwise
        # A value is alike wherever it is evaluated, unless that is a call's, or can be changed.
        plain = not changeable(then) and not then.has(Call, Drawn, Either)
        if plain and then == otherwise:
            return then
        ids = id(then), id(otherwise)
        if not _are_alike(then, otherwise) or not all(
            known.get(one, {other}) == {other} for known, one, other in zip(self._beside, ids, ids[::-1], strict=True)
        ):
            return Either(self._condition, then, otherwise, self._number)
        if ids not in self._known:
            items = tuple(map(self.of, then.items, otherwise.items))  # type: ignore[attr-defined]
            self._known[ids] = made = _made_again(then, items)
            self.made.append((then, otherwise, made))
        return self._known[ids]


def _are_alike(one: Expression, other: Expression) -> bool:
    """Whether both are lists, tuples or dicts of as many items."""
    match one, other:
        case Display(kind=kind, items=items, spread=False), Display(kind=other_kind, items=others, spread=False):
            return kind is other_kind and len(items) == len(others)
        case Mapping(names=names), Mapping(names=others):
            return names == others
    return False


def _made_again(made: Expression, items: tuple[Expression, ...]) -> Expression:
    """The same with other items."""
    if isinstance(made, Display):
        return Display(made.kind, items)
    assert isinstance(made, Mapping)
    return Mapping(made.names, items)


def parts_of_list(more: Expression) -> tuple[Expression, ...] | None:
    """What becomes part of a list that is extended by something; None where that is not known."""
    match more:
        case Display(kind=kind, items=items) if kind in (list, tuple):
            return (Display(list, items),)
        case Extended(parts=parts):
            return parts
        case Apart():
            return (more,)
    return None


def extended(made: Display | Extended, parts: tuple[Expression, ...]) -> Extended:
    """A list with what was added to it."""
    return Extended((*(made.parts if isinstance(made, Extended) else (made,)), *parts))


def _can_change(value: Expression) -> bool:
    return isinstance(value, Extended | Mapping) or (isinstance(value, Display) and value.kind is list)


def changeable(value: Expression) -> tuple[Expression, ...]:
    """The lists and dicts that were made here and are part of a value, each once."""
    if _newest(value) < 0:
        return ()
    found: tuple[Expression, ...] = value._once("_changeable", lambda: _look_for_changeable(value))
    return found


def _look_for_changeable(value: Expression) -> tuple[Expression, ...]:
    """It stops at parts that were looked through before: values of many branches have most of theirs in common."""
    found: dict[int, Expression] = {}
    seen: set[int] = set()
    work = [value]
    while work:
        part = work.pop()
        if id(part) in seen or _newest(part) < 0:
            continue
        seen.add(id(part))
        known = part._found("_changeable")
        if known is not None:
            found |= {id(each): each for each in known}
            continue
        if _can_change(part):
            found[id(part)] = part
        work += reversed(own_parts(part))
    return tuple(found.values())


def held_in(value: Expression) -> Iterator[Expression]:
    """Those that something else has than lists, tuples, dicts or one of two ways."""
    if not changeable(value):
        return
    match value:
        case Display(items=items) | Mapping(items=items):
            for each in items:
                yield from held_in(each)
        case Either(condition=condition, then=then, otherwise=otherwise):
            yield from (*changeable(condition), *held_in(then), *held_in(otherwise))
        case _:
            yield from changeable(value)


def is_made(value: Expression) -> bool:
    """Whether it is a list, tuple or dict that was made here, whichever way was gone."""
    if isinstance(value, Either):
        return is_made(value.then) and is_made(value.otherwise)
    return isinstance(value, Display | Mapping)


def item_of(made: Expression, key: Any) -> Expression | None:
    """The item of a list, tuple or dict that was made here; None where there is none, or it is another value."""
    if isinstance(made, Mapping) and key in made.names:
        return made.items[made.names.index(key)]
    if not isinstance(made, Display) or made.kind is slice or type(key) is not int:
        return None
    spread = any(isinstance(each, Spread) for each in made.items)
    return made.items[key] if -len(made.items) <= key < len(made.items) and not spread else None


def is_list(value: Expression) -> bool:
    """Whether it is a list that was made here, whichever way was gone."""
    if isinstance(value, Either):
        return is_list(value.then) and is_list(value.otherwise)
    return isinstance(value, Display) and value.kind is list


def settled_by(value: Expression, number: int, outcome: bool, settled: dict[int, Expression]) -> Expression:
    """What a value is on one way of a branch; it stays itself where nothing depends on that.

    settled  what that is of lists, tuples and dicts, by their ids
    """
    match value:
        case Either(number=own) if own == number:
            return settled_by(value.then if outcome else value.otherwise, number, outcome, settled)
        case Either(condition=condition, then=then, otherwise=otherwise):
            sides = (settled_by(each, number, outcome, settled) for each in (then, otherwise))
            one, other = sides
            return value if one is then and other is otherwise else Either(condition, one, other, value.number)
        case Display(items=items) | Mapping(items=items):
            if id(value) not in settled:
                made = tuple(settled_by(each, number, outcome, settled) for each in items)
                settled[id(value)] = value if all(map(operator.is_, made, items)) else _made_again(value, made)
            return settled[id(value)]
    return value


def holds(value: Expression, one: Expression) -> bool:
    """Whether a list or dict that was made here is part of a value, itself and not its equal."""
    assert isinstance(one, Made)
    if _newest(value) < one.born:  # most are asked for nothing else
        return False
    seen: set[int] = set()
    work = [value]
    while work:
        part = work.pop()
        if part is one:
            return True
        if id(part) not in seen and _newest(part) >= one.born:
            seen.add(id(part))
            work += own_parts(part)
    return False


def _newest(value: Expression) -> int:
    """When the last of all that was made here and is part of a value was made; -1 where there is nothing."""
    known: int | None = value.__dict__.get("_newest")
    if known is None:
        known = value.born if isinstance(value, Made) else -1
        for part in own_parts(value):
            of_part = part.__dict__.get("_newest")
            known = max(known, _newest(part) if of_part is None else of_part)
        value.__dict__["_newest"] = known
    return known


def with_item(made: Expression, name: Any, item: Expression) -> Expression:
    """A dict with one more item, or another one."""
    assert isinstance(made, Mapping)
    if type(name) not in (str, int):
        raise UnreadableError("makes a dict with names that are not constants, or the same")
    if name in made.names:
        at = made.names.index(name)
        return Mapping(made.names, (*made.items[:at], item, *made.items[at + 1 :]))
    return Mapping((*made.names, name), (*made.items, item))


def behind(value: Expression, manager: Expression, made: dict[int, tuple[Expression, Expression]]) -> Expression:
    """A value behind the end of `with manager`: closed where it needs that. Of a list, a tuple or a dict the items are;
    it goes into `made`, as it was and as it is."""
    if not _needs(value, manager):
        return value
    if not isinstance(value, Display | Mapping) or (isinstance(value, Display) and value.spread):
        return Closed(value)
    if id(value) not in made:
        made[id(value)] = value, replace(value, items=tuple(behind(each, manager, made) for each in value.items))
    return made[id(value)][1]


def _needs(value: Expression, manager: Expression) -> bool:
    """True for what `with manager` entered, and for what may go on reading from it: not for what its methods give."""
    match value:
        case Entered():
            return value.manager == manager or _needs(value.manager, manager)
        case Call(function=Attribute(), arguments=arguments, options=options):
            return any(_needs(each, manager) for each in (*arguments, *(option for _, option in options)))
        case Closed():
            return False
    return any(_needs(each, manager) for each in own_parts(value))


class Lists:
    """Lists, each of which is itself alone, not those that are equal."""

    def __init__(self, lists: Iterable[Expression] = ()) -> None:
        self.all = list({id(each): each for each in lists}.values())  # two ways that meet have most in common

    def __contains__(self, one: Expression) -> bool:
        return any(one is each for each in self.all)

    def replace(self, one: Expression, other: Expression) -> None:
        self.all = [other if each is one else each for each in self.all]
