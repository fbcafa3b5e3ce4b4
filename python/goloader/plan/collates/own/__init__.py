"""A collate_fn of the user's own, read from its bytecode: what it does with each field is done by the core.

A sample's fields are followed through its code: to torch.stack, torch.cat and pad_sequence, which the core does as it
reads the rows, to tensors that a loop fills with them, which are padded ones, and to lists of numbers. What is made of
a whole batch of these, a mask or sums of lengths, is made by
the very functions that are called there, once a batch. Whatever is in no table is not understood.

collate.py   a collate_fn, for samples of one structure; read from
code.py      its bytecode, and followed by
compiler.py  its expressions, of which
order.py     the order that it sorts samples in;
rules.py     tables of functions, methods and signs say what is made of
values.py    fields of samples, numbers, sizes and orders; and
filled.py    of tensors that a loop fills
"""

from .code import CollateCode
from .collate import OwnCollate

__all__ = ["CollateCode", "OwnCollate"]
