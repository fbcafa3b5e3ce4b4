"""Saves the position of a loader as data, and resumes from it.

    protocol.py    Stateful: objects of the user that have a state of their own
    generators.py  states of random generators as text
    order.py       the index batches of one epoch, counted, and the way back to any of them
    deal.py        the rule by which ranks share an order, and what is left of one
    reshape.py     a state for another number of ranks or workers
    ledger.py      what a resume needs to know of one epoch; the record that state_dict() gives
    book.py        what is known of a loader across its iterators: epochs, states to be loaded, the latest ledger
    iterator.py    what all iterators of this package have in common
    inline.py      the iterator for num_workers=0 where Python runs the dataset
    workers.py     the iterator for num_workers>0 where Python runs it, in worker processes
    reports.py     what these say of their states, and how they go back to one
    seeded.py      rng="sample": draws keyed by (seed, epoch, index)
    samplers.py    StatefulDataLoader's samplers

The semantics are those of torchdata's StatefulDataLoader: a state is that of the most recent iterator after the last
batch it yielded, loading drops the current iterator and takes effect at the next iter().
"""
