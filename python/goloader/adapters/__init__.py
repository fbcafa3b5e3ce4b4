"""One file a library for what it keeps private, or has in some of its versions only.

torch.py    what torch's DataLoader is made of
python.py   what CPython does in some versions only

Nothing here compares version numbers: a file asks what is there, and how it is called.
"""
