"""A class of the user's own: its code, what the names in it stand for, and what can be worked out for all indices.

code.py      its `__getitem__`, read from bytecode
standing.py  what that was found to mean, and sources.py what values were made of, for as long as it stands
columns.py   paths and labels, for many indices at once; of
frames.py    tables of pandas', and
vectors.py   values that are arrays or tensors
bases.py     what it takes items of; by
integers.py  which numbers
ahead.py     other values, for each index
kept.py      a class whose samples its own code makes, each once
pure.py      functions that are called as they are
"""
