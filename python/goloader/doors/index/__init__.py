"""Door 1: the core turns a sampler's indices into batches.

iterators.py  torch's iterators over batches of a plan
streams.py    the same over a stream, which has no indices
later.py      whether Go pays for a loader without workers, which begins as torch's
trial.py      a forked child compares a few samples with the dataset's own
init_fn.py    worker_init_fn, run where torch would run it, for its random numbers
finishing.py  what a collate_fn does behind default_collate, run as in a worker
ahead.py      files that only Pillow reads, decoded by threads before they are asked for
settings.py   torch's and numpy's settings of the moment when workers would have been forked
directory.py  the working directory of that moment
"""
