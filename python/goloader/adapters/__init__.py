"""A file for each library, with what it keeps private or has in some versions only.

torch.py        what torch's DataLoader is made of
torchvision.py  what v2's MixUp and CutMix are made of
pillow.py       where its libwebp is, and what it opens files with
scipy.py        what its Gaussian filters weigh numbers by
mkl.py          torch's exponentials
ray.py          which execution of a dataset a task belongs to
python.py       what CPython has in some versions only

Nothing here compares version numbers: a file checks what exists, and how it is called.
"""
