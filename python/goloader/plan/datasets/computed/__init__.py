"""A user's own class that makes its samples of arrays: rows, windows, casts, arithmetic, shapes; and of the index.

Its `__getitem__` is read from its bytecode; each field becomes rows of an array, or a program over such rows
(program.py), which the core carries out. Nothing of the class is run.

node.py        a class, which is compiled field by field by
leaf.py        from its expressions to
program.py     programs, or to rows as they are; of
inputs.py      rows that it takes by the index; and given to the core as
pieces.py      rows of the samples

functions.py   tables of functions and methods: what becomes of a call;
arithmetic.py  steps of programs for operators and casts,
reductions.py  sums and extremes, in numpy's and torch's order, and
putting.py     items that are set
made.py        tensors that are made of numbers
"""

from .inputs import Input
from .leaf import AnyLength, Leaf, keys_of
from .node import Computed, in_lists

__all__ = ["AnyLength", "Computed", "Input", "Leaf", "in_lists", "keys_of"]
