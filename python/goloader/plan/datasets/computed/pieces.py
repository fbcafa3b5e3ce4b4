"""The rows of a field as the core is given them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import torch

from ...bytecode import (
    UnreadableError,
)
from ...collates.collation import is_channels_last
from ...rows import Array, Program
from ..cuts import Cut
from ..known.tensors import NAMES
from .inputs import Input, windows
from .leaf import Leaf


class Piece:
    """The rows of a field.

    is_row  they are rows as they are, each that of its index
    listed  they are items of a list as they are
    channels_last  torch takes what is given for such a tensor
    memory  as the leaf has it
    extents  of rows of any length, -1 for the one that differs where that is not the first; else ()
    """

    extents: tuple[int, ...] = ()

    program: Program | None = None
    array: Array
    inputs: tuple[Array, ...] = ()
    cut: Cut | None = None
    spec: tuple[Any, ...]

    def __init__(self, leaf: Leaf, length: int, usable: Any) -> None:
        self._length = length
        items = leaf.items
        how = leaf.writer.plain(items)
        plain = how == "row" and not leaf.inputs[0].cuts
        self.is_row = plain and leaf.inputs[0].base is not None and leaf.inputs[0].rows.is_index
        base = leaf.inputs[0].base if plain else None
        strides = leaf.sample.stride() if leaf.kind == "tensor" else getattr(leaf.sample, "strides", ())
        self.channels_last = is_channels_last(getattr(leaf.sample, "shape", ()), strides)
        self.listed = base is not None and base.in_lists and type(base.first) is leaf.given_type
        self.memory = leaf.memory
        shape, kind, more = items.shape, "" if leaf.kind == "tensor" else leaf.kind, ("", "")
        stored = leaf.writer.inputs[0][0] if how == "cast" else ""
        if (how == "row" or (how and leaf.inputs[0].view is None)) and leaf.inputs[0].is_element:
            self.array = dataclasses.replace(leaf.inputs[0].elements(length, usable), stored=stored)
            shape, kind = self.array.shape[1:], f"list of {leaf.kind}s"
            self.extents = leaf.extents or getattr(leaf.inputs[0].base.piece, "extents", ())
            more = (f"{self.array.lengths is None}{stored}{self.extents}", "")
        elif how:
            self.array = dataclasses.replace(leaf.inputs[0].array(length, usable), stored=stored)
            more = (stored, "")
        elif len(leaf.inputs) == 1 and leaf.inputs[0].view is None and leaf.inputs[0].is_element:
            whole = leaf.inputs[0].elements(length, usable)
            self.inputs, self.extents = (whole,), leaf.extents
            self.program = leaf.writer.finished(items, whole.shape[1:])
            shape = () if self.extents else shape[1:]
            kind, more = f"list of {leaf.kind}s", ("", json.dumps([self.extents, self.program.plan]))
        elif any(each.base is not None and each.view is None and each.extent is None for each in leaf.inputs):
            raise UnreadableError(f"makes {items.dtype} of arrays that differ in length")
        else:
            self.program = leaf.writer.finished(items)
            self.inputs = tuple(each.array(length, usable) for each in leaf.inputs)
            more = ("", json.dumps(self.program.plan))
        spec = (NAMES[getattr(torch, items.dtype)], shape, items.dtype)
        self.spec = (*spec, kind, *more) if kind or any(more) else spec

    def __len__(self) -> int:
        return self._length


def read_once(pieces: list[Piece], leaves: list[Leaf], usable: Any) -> None:
    """Windows of a file that overlap are read once."""
    groups: dict[Any, list[tuple[Piece, Input]]] = {}
    for piece, leaf in zip(pieces, leaves, strict=True):
        given = leaf.inputs[0] if piece.program is None else None
        if given is not None and given.window and given.base is not None and piece.array.path is not None:
            key = id(given.base), given.rows.scale, given.rows.table, piece.array.stored, piece.spec[0]
            groups.setdefault(key, []).append((piece, given))
    for group in groups.values():
        first = min(given.rows.shift for _, given in group)
        length = max(given.rows.shift + given.window for _, given in group) - first
        if len(group) == 1 or 2 * length > 3 * max(given.window for _, given in group):
            continue
        piece, given = group[0]
        assert given.base is not None
        view = windows(given.base.array, 0, length)
        rows = dataclasses.replace(given.rows, shift=first)
        whole = dataclasses.replace(
            dataclasses.replace(given, view=view, rows=rows).array(len(piece), usable), stored=piece.array.stored
        )
        for each, own in group:
            skip = own.rows.shift - first
            each.array, each.cut = whole, Cut(whole, skip=skip, drop=length - own.window - skip)
            each.spec = (each.spec[0], whole.shape[1:], *each.spec[2:], skip, own.window)
