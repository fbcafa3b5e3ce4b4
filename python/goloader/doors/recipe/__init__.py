"""Door 2: runs a user's own Dataset with stand-ins for its images, and makes the pixels in Go.

The dataset's code runs unchanged, but PIL.Image.open gives stand-ins. They know their size and record what is done to
them. A leaf of the batch that is wholly recorded becomes a recipe, which the core carries out. Anything else turns a
stand-in into the real image or tensor, at torch's speed.

    door.py      whether a loader takes this door, and its iterator or fetcher
    record.py    what is known about a loader's dataset, and what explain() says
    libraries.py whether the libraries in use let anything be recorded
    opens.py     whether a dataset's code opens images at all
    first.py     in front of torch's fetcher: the first batch
    fetch.py     the others: record, and make
    trial.py     a forked child compares samples with stand-ins and without, before anything is recorded
    kept.py      what trials found, on disk for the next process

    switch.py    whether this thread records
    hooks/       the functions behind which stand-ins are made, one library a file, by version
    as_user.py   calls of a library's functions that look as if the user's code had made them
    files/       what files say of themselves: size, mode, whether they are whole
    guarded.py   whether code stands in a try, where a file has to be decoded at once
    recipe.py    what was done to an image: Pillow's calls and the core's steps
    stand_ins/   what code gets in place of images, arrays and tensors
    chains.py    containers of transforms, of which the core draws what they do to a stand-in
    session.py   one batch while it is recorded
    wire.py      a batch of recipes as bytes
    native.py    the core, carrying them out
    workshop.py  the core of one loader's recipes, kept from epoch to epoch

    worker.py    a worker process that records
    tracer.py    the same as fetch.py there, which sends recipes home
    shipment.py  a recorded batch on its way there
    arrival.py   the same batch where it has arrived
    iterator.py  torch's iterator over such processes

Importing this package imports neither torch nor Pillow.
"""
