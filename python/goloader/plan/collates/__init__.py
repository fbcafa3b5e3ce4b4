"""How samples become batches.

choice.py     says which of these a collate_fn is:
collation.py  torch's default_collate, and goloader.collate
timm.py       timm's fast_collate
tokens.py     transformers' collators
own/          one of the user's own that is compiled
finish.py     one that goes on with default_collate's batch; mixing.py, to MixUp and CutMix
called.py     one that is called as it is
"""
