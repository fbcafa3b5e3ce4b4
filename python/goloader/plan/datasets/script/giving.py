"""What a sample gives: images, values that are worked out ahead, and numbers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from ...bytecode import (
    Apart,
    Attribute,
    Call,
    Display,
    Either,
    Expression,
    Index,
    Mapping,
    UnreadableError,
    parts_of,
)
from ...refusal import RefusalError
from ...structure import Structure
from ...transforms.tables import Table, run_tail
from ...transforms.torchvision import known_table, numbers_of
from ..computed.made import Made, made_of
from ..own import vectors
from ..own.code import ERRORS
from ..own.columns import Columns
from .apart import MadeApart, is_new, made_apart
from .images import noise
from .images.making import stacked_images
from .images.picture import Applied, Picture, Tail
from .images.stack import Stack
from .numbers import arithmetic
from .numbers.arithmetic import INDEX, Number
from .numbers.rows import row_of

if TYPE_CHECKING:
    from .compiler import Compiler


@dataclass(frozen=True)
class Given:
    """A value of a sample that is no image.

    batch   what it is in a batch that torch puts together, as Beside has it
    values  columns that it is made of, each by the row; () for the index itself
    made    how it is made of them, if it is made
    row     the row, where it is not the index
    number  the core's column of numbers that it is, in place of all else
    kind    of these
    memory  tells what was made for the sample and it may be part of, or has as its part; None where that may be the
            dataset's
    """

    batch: type
    values: tuple[Expression, ...] = ()
    columns: Columns | None = None
    made: Made | MadeApart | None = None
    row: Number | None = None
    number: int | None = None
    kind: str = ""
    memory: frozenset[Any] | None = frozenset()

    @property
    def is_index(self) -> bool:
        return self.columns is None and self.number is None and self.made is None


# Where the numbers of a sample's images, and of its stacks, begin while its other values are counted.
IMAGES, STACKS = 1 << 20, 1 << 21


def structure_of(c: Compiler, given: Expression, batch: type) -> Structure:
    """The structure of a sample, whose fields are noted. Raises UnreadableError."""
    given = _on_the_way(c, given)
    c.built += [id(given)] * (isinstance(given, Mapping) or (isinstance(given, Display) and given.kind is list))
    if isinstance(given, Display) and given.spread:
        raise UnreadableError("gives a list of as many items as there are", given)
    if isinstance(given, Display) and given.kind in (list, tuple):
        return tuple(structure_of(c, each, tuple) for each in given.items)
    if isinstance(given, Mapping):
        return {name: structure_of(c, each, list) for name, each in zip(given.names, given.items, strict=True)}
    picture = c.picture(given)
    if picture is not None:
        return IMAGES + _give_image(c, picture, given)
    if c.crops is not None and (number := c.crops.give(given)) is not None:
        return IMAGES + number
    stack = _stacked(c, given)
    if stack is not None:
        c.account(given)
        c.stacks.append(stack)
        return STACKS + len(c.stacks) - 1
    c.given.append(_give(c, given, batch))
    return len(c.given) - 1


def _on_the_way(c: Compiler, of: Expression) -> Expression:
    """Of two values the one on the way that all samples go: the other may be None, for what cannot be read."""
    while isinstance(of, Either):
        try:
            of = c.way_of(of)
        except UnreadableError:
            break
    return of


def _give_image(c: Compiler, picture: Picture, given: Expression) -> int:
    if picture.form == "array":
        # default_collate makes tensors of arrays, and warns of those that cannot be written to.
        held = c.memory.of(c.itself(given))
        if not (held.of and held.writable and held.forward):
            raise UnreadableError("gives an array that goes backwards, or may not be written to", given)
        picture, c.gives_arrays = picture.then(Applied(torch.as_tensor), "tensor"), True
    elif picture.form == "finished":
        picture = noise.done(c, picture)
    elif picture.form not in ("tensor", "resized", "numbers"):
        raise UnreadableError("gives images that are no tensors", given)
    c.pictures.append(c.use(picture))
    memory = frozenset(("image", each) for each in c.memory.of(c.itself(given)).of)
    c.image_memory.append(memory or frozenset((("pixels", picture.register),)))
    return len(c.pictures) - 1


def _stacked(c: Compiler, given: Expression) -> Stack | None:
    """Images in one tensor; None for all else. Raises UnreadableError."""
    match given:
        case Call(function=Attribute(owner=owner, name=name), arguments=arguments, options=()) if (
            name in ("contiguous", "permute", "transpose") and (stack := _stacked(c, owner)) is not None
        ):
            return stack.then(name, tuple(map(c.constant, arguments)))
        case Call(function=function, arguments=(Display(items=items), *dims), options=options) if items:
            called: Any = c.function(function)
            if called is not torch.stack and called is not torch.cat:
                return None
            pictures = stacked_images(c, given, items)
            places = [*dims, *(each for name, each in options if name == "dim")]
            if pictures is None or len(places) > 1 or len(places) < len(dims) + len(options):
                return None
            if any(each.form == "array" for each in pictures):
                raise UnreadableError("puts arrays together as tensors", given)
            at = c.constant(places[0]) if places else 0
            numbers = [_give_image(c, *each) for each in zip(pictures, items, strict=True)]
            return Stack.of(numbers, [each.made() for each in pictures], at, joins=called is torch.cat)
    return None


def _give(c: Compiler, of: Expression, batch: type) -> Given:
    if isinstance(of, Index):
        return Given(batch)
    if c.is_changed(of):
        return _give_apart(c, of, batch, UnreadableError(f"gives {of}", of))
    if _is_number_of_index(c, of):
        return _give_number(c, of, c.number(of), batch)
    try:
        moved, row = row_of(c, of)
        made = None if _is_vector(c, moved) else made_of(c.own, moved)
        values = (moved,) if made is None else made.numbers
        columns = c.values(*values)
        first = columns.work_out(range(min(columns.length, 1)))
        if made is not None:
            made.check(first)
    except UnreadableError as error:
        try:
            number = c.number(of)
        except UnreadableError:
            return _give_apart(c, of, batch, error)
        return _give_number(c, of, number, batch)
    c.account(of)
    memory = None
    if made is not None or is_new(c.own, of):  # made of an array, perhaps, as by torch.from_numpy
        calls = (each for each in parts_of(of) if isinstance(each, Call) and is_new(c.own, each))
        memory = frozenset(map(id, (of, *calls)))
    return Given(batch, values, columns, made, None if row is INDEX else row, memory=memory)


def _give_apart(c: Compiler, of: Expression, batch: type, why: UnreadableError) -> Given:
    """A value that Python makes. Raises UnreadableError: for that `why`, where no function is called for it."""
    try:
        made = made_apart(c, of)
    except UnreadableError as error:
        called = [part for part in parts_of(of) if isinstance(part, Apart)]
        if called:
            raise UnreadableError(called[0].why[0], None, called[0].why[1]) from None
        try:
            raise why if error.of is None or error.of is of else error from None
        finally:
            del why  # its traceback has this frame
    c.account(of)
    columns = c.values(*made.numbers) if made.numbers else None
    return Given(batch, made.numbers, columns, made, memory=made.memory)


def _give_number(c: Compiler, of: Expression, number: Number, batch: type) -> Given:
    if not number.is_python and number.kind != "numpy":
        raise UnreadableError(f"gives {of}", of)
    register = c.let(number.json, number.kind).json[1]
    return Given(batch, number=c.column_of(register), kind=number.kind)


def _is_number_of_index(c: Compiler, of: Expression) -> bool:
    """Whether it is a number that the index is part of, more than as a place: its type may be that of the index."""
    with suppress(UnreadableError):
        return c.values(of).reckons and c.number(of).kind in (*arithmetic.PYTHON, "numpy")
    return False


def _is_vector(c: Compiler, moved: Expression) -> bool:
    """Whether it is an array or a tensor that is worked out ahead."""
    with suppress(UnreadableError, *ERRORS):
        columns = c.values(moved)
        first = columns.work_out(range(1))[0]
        return vectors.are_rows(first) or vectors.are_ragged(first)
    return False


def _with_channel(plane: Any) -> Any:
    return plane.unsqueeze(0)


def table_of(c: Compiler, picture: Picture) -> tuple[Table, bool]:
    """What its functions make of every byte, and whether they leave its channels in reverse order; behind that the same
    for each kind of rectangle."""
    names = ", ".join(c.names[-3:])
    tails = picture.tails
    if picture.made().ndim == 2:
        tails = tuple((*each, _with_channel) for each in tails)

    def each_table(of: Picture, tail: Tail) -> Table:
        known = known_table(tail, of.channels) if of.mode != "P" and not of.reverse else None
        return known or run_tail(tail, of.channels, names, of.begin, proved=c.proved)

    def run(of: Picture) -> Table:
        table, *others = [each_table(of, each) for each in tails]
        if any((each.dtype, each.channels) != (table.dtype, table.channels) for each in others):
            raise UnreadableError("sets rectangles to numbers of another type")
        table.data = b"".join(each.data for each in (table, *others))
        if of.resized is not None:
            done, behind = of.tail[: of.resized], of.tail[of.resized :]
            table.data += numbers_of(table, each_table(of, done), behind)
        return table

    try:
        return run(picture), False
    except RefusalError:
        if picture.mode != "RGB" or picture.form in ("resized", "numbers"):
            raise
        return run(replace(picture, reverse=True)), True


def reversed_of(c: Compiler, picture: Picture) -> Picture:
    """An image that goes on as BGR."""
    c.into = c.body
    made = c.apply(picture, [{"op": "reverse_channels"}], (), size=picture.size)
    if (marks := c.marks.pop(picture.register, None)) is not None:
        c.marks[made.register] = b"".join(marks[256 * channel :][:256] for channel in (2, 1, 0))
    return replace(made, reverse=True)


def spread_of(c: Compiler, picture: Picture) -> Picture:
    """A grey image of whose one channel its functions make three, as Normalize does by three means."""
    if picture.channels != 1 or picture.form in ("resized", "numbers"):
        raise UnreadableError("gives images with other channels than there were")
    c.into = c.body
    made = c.apply(picture, [{"op": "grayscale", "channels": 3}], (), size=picture.size)
    if (marks := c.marks.pop(picture.register, None)) is not None:
        c.marks[made.register] = 3 * marks
    return made
