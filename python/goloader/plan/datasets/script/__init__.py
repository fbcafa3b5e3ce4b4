"""A user's own code as a script of the core: samples of several images, drawn for in the code's order.

code.py          what the code does, read from its bytecode, with draws and branches
compiler.py      all of it, in order: what the files below find, as a script
drawing.py       random draws
reckoning.py     numbers that code makes of draws, sizes and lists; by
numbers.py       its arithmetic
rows.py          the user's data, by the row; of which
tables.py        has numbers that differ from row to row
opening.py       files that it opens, and images that it takes out of arrays
making.py        images made of others; by
images.py        what it does to images of Pillow's, one table
arrays.py        what it does to those that are arrays and tensors
series.py        arithmetic of arrays of numbers, and
convolutions.py  convolutions with such arrays as weights
picture.py       an image on its way, and functions of its numbers
changing.py      arrays that it changes in place,
patches.py       of which rectangles are set, and
memory.py        which of them share memory
crops.py         frames of sounds, and other parts of
wholes.py        arrays of which each sample has one
albumentations.py  what its Compose does to an image, and draws
looking.py       what it asks of pixels
giving.py        what a sample gives; also
stack.py         several images in one tensor
apart.py         values that it makes beside the images, by functions that are called as they are (../pure.py)
plain.py         functions of torchvision's, in lines that can be read
instructions.py  which instructions come before files are known
node.py          the dataset, and its batches
"""

from __future__ import annotations

from .code import ScriptCode
from .node import Scripted, ScriptPart, Scripts

__all__ = ["ScriptCode", "ScriptPart", "Scripted", "Scripts"]
