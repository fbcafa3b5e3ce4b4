"""What a `__getitem__` does for an index, read from its bytecode without running it.

`Reader(decide).read(function)` follows code that runs straight through, and says as expressions what is evaluated and
what is given:

    def __getitem__(self, index):
        row = self.rows[index]
        image = Image.open(os.path.join(self.root, row["file"])).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return image, int(row["label"])

Which way a branch goes is asked for: `decide` says it of conditions that are the same for every index. So is whose
code a call, a property or a subscript runs, if that is to be read as well: `callee` says it; and what a loop goes over:
`value` says it of what is the same for every index. A loop is followed item by item, and so is a comprehension; of what
is taken by the index (`self.text[index : index + 8]`, `self.texts[index]`) one turn is read, as of the samples below.
What an expression means (whether a name is what it seems to be, whether a call has effects) is for the caller to find
out.

Where a `draws` is given, calls of random numbers are told apart (Drawn), and a branch that `decide` cannot tell is
followed both ways to where they meet (Branch): behind it a value is Either the one or the other. What sets an item of
something that was not made here is told as well (Stored). A way that is not understood, or raises, is Unknown. Of a
loop that draws anew (`while other == index`) the third turn stands for all that follow (Repeated). What raises is left
to the code itself: handlers of exceptions are read past. What an object that the code makes has by a name is for
`given` to say.

A `collate_fn` is read as well: of a batch of samples, which its loops and comprehensions go through. What a loop does
for a sample is read once, as an expression of the Member that it is at; a list that it fills has a Spread in it, and a
tensor whose items it sets is Filled. Loops over anything else (`for key in ("ids", "labels")`) are followed item
by item.

An attribute that the code sets is what it was set to from there on, if `keeps` says that it may set it.

Anything else (an instruction that is not in the table below) is not understood, which is an answer too. The
instructions are those of CPython 3.10 to 3.14, where the tests of this module ran; in any other Python nothing is
understood.

expressions.py   what is known of values
reading.py       what is found out about a function, and what is asked about what it calls
reader.py        reads a function, and those that it calls
machine.py       its stack and variables: calls, loops, branches
instructions.py  what each instruction does to these, one table
flow.py          where instructions may go on
made.py          lists, tuples and dicts that code makes
uses.py          what values are used by
"""

from __future__ import annotations

from .expressions import (
    COMPARISONS,
    IN_PLACE,
    NONE,
    SIGNS,
    Apart,
    Attribute,
    Batch,
    Binary,
    Branch,
    Call,
    Chosen,
    Closed,
    Constant,
    Display,
    Drawn,
    Either,
    Entered,
    Exited,
    Expression,
    Extended,
    Filled,
    Index,
    Inner,
    Item,
    Itself,
    Mapping,
    Member,
    Module,
    Name,
    Part,
    Repeated,
    Sorted,
    Spread,
    Stored,
    Text,
    Unary,
    Unknown,
    UnreadableError,
    fields_of,
    own_parts,
    parts_of,
)
from .reader import Reader, check_python
from .reading import Callee, Choice, Reading, Several, Shuffled, extent_of
from .uses import Uses

__all__ = [
    "COMPARISONS", "IN_PLACE", "NONE", "SIGNS", "Apart", "Attribute", "Batch", "Binary", "Branch", "Call", "Callee",
    "Choice", "Chosen", "Closed", "Constant", "Display", "Drawn", "Either", "Entered", "Exited", "Expression",
    "Extended", "Filled", "Index", "Inner", "Item", "Itself", "Mapping", "Member", "Module", "Name", "Part", "Reader",
    "Reading", "Repeated", "Several", "Shuffled", "Sorted", "Spread", "Stored", "Text", "Unary", "Unknown",
    "UnreadableError", "Uses", "check_python", "extent_of", "fields_of", "own_parts", "parts_of",
]  # fmt: skip
