"""Images in a script.

picture.py         an image on its way, and functions of its numbers
making.py          images made of others, by what is known of
pil.py             images of Pillow's, and of
arrays.py          arrays and tensors
plain.py           functions of torchvision's, in lines that can be read
albumentations.py  what its Compose does to an image, and draws
convolutions.py    convolutions of tensors
noise.py           noise on tensors, and arithmetic with that
changing.py        arrays that are changed in place,
patches.py         of which rectangles are set, and
memory.py          which of them share memory
looking.py         what code asks of pixels
stack.py           several images in one tensor
"""
