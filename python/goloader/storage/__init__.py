"""Where files are.

stores.py  remote stores, a row each; read through
remote.py  the core, or, where it does not know them, by
fsspec.py  fsspec
files.py   lists of files in folders and tar archives
lmdb.py    LMDB, read without its library
cache.py   where what was read is kept
"""
