"""A user's own code as a script of the core: samples of several images, drawn for in the code's order.

code.py          what the code does, read from its bytecode, with draws and branches
compiler.py      all of it, in order: what the files below find, as a script
instructions.py  which instructions come before files are known
numbers/         numbers that are drawn, reckoned, or in the user's data
opening.py       files that it opens, and images that it takes out of arrays
images/          what it does to images, of Pillow's and as arrays and tensors
parts/           other arrays, and parts of them
apart.py         values that Python makes beside the images (../own/pure.py)
giving.py        what a sample gives
node.py          the dataset, and its batches
"""

from __future__ import annotations

from .code import ScriptCode
from .node import Scripted, ScriptPart, Scripts

__all__ = ["ScriptCode", "ScriptPart", "Scripted", "Scripts"]
