"""A user's own code as a script of the core: samples of several images, drawn for in the code's order.

code.py      what the code does, read from its bytecode, with draws and branches
numbers.py   its arithmetic of sizes and draws
tables.py    numbers that the user's data has for each row
images.py    what it does to images of Pillow's, one table
arrays.py    what it does to those that are arrays and tensors
picture.py   an image on its way, and functions of its numbers
memory.py    which arrays share memory, where one is changed in place
pure.py      functions of the user's that Python calls as they are, and
apart.py     the values that it makes by them, beside the images
compiler.py  all of it, in order
node.py      the dataset, and its batches
"""

from __future__ import annotations

from .code import ScriptCode
from .node import Scripted, ScriptPart, Scripts

__all__ = ["ScriptCode", "ScriptPart", "Scripted", "Scripts"]
