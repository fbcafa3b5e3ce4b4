"""Door 1: the core turns a sampler's indices into batches.

iterators.py  torch's iterators over batches of a plan
init_fn.py    worker_init_fn, run where torch would run it, for its random numbers
"""
