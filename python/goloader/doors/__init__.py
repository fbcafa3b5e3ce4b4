"""The three ways in which batches are made, called doors, and the choice among them.

choice.py   chooses the door before the epoch starts, and makes explain()
allowed.py  which doors GOLOADER in the environment leaves open
sandbox.py  a forked child that runs the user's code again without side effects
same.py     whether two batches are the same, bit for bit
lent.py     page-locked memory that is lent to the core
index/      door 1: Go turns indices into batches, as a plan says
recipe/     door 2: the user's code runs with stand-ins that record; Go makes the pixels
worker/     door 3: worker processes run the user's code; batches come through shared slots
"""
