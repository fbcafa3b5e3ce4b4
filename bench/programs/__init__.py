"""Programs as people write them, under torch's loaders and under ours.

scripts/      a file a program: its dataset, transforms, collate_fn, sampler and arguments in the manner of a public
              repository, rewritten; `train_loader(root)` gives its loader, DATA names the set that it reads
data.py       the sets, made here
turns.py      one turn: a program with one of the two loaders, in a process of its own
table.py      the table in docs/programs.md
__main__.py   the command
"""
