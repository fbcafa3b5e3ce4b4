"""Door 3: torch's own worker processes run the user's code; batches come through slots of shared memory.

iterator.py   torch's iterator over worker processes; keeps slots beside the loader, words the death of a worker
keeping.py    an epoch of workers whose samples are kept for Go's later ones
process.py    what runs in a worker process, around torch's own loop
collate.py    default_collate's tensors, stacked straight into slots
parcel.py     a batch under way: a pickle whose large buffers lie in slots
slots.py      slots, in Python: taken, sent, leased
budget.py     how much memory slots may take
forks.py      children of a fork, which see what their parent leased
"""
