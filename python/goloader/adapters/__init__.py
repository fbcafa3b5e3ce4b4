"""A file for each library, with what it keeps private or has in some versions only.

torch.py    what torch's DataLoader is made of
python.py   what CPython has in some versions only

Nothing here compares version numbers: a file checks what exists, and how it is called.
"""
