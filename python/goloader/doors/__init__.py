"""The ways of a batch from a dataset to the training loop, and which of them a loader takes.

choice.py   which door it is, decided before the epoch starts, and what explain() says of it
sandbox.py  a forked child in which the user's code may run once more without anybody noticing
index/      door 1: Go turns indices into batches, as a plan says
recipe/     door 2: the user's code runs with stand-ins that record; Go makes the pixels
worker/     door 3: worker processes run the user's code; batches come home in shared slots
"""
