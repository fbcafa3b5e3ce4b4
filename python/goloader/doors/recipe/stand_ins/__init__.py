"""What a user's code gets in place of images, arrays and tensors while it is recorded.

image.py     the stand-in for a PIL image,
tensor.py    for a tensor, and
array.py     for an array: views of
value.py     a block of memory that nobody has made yet; by
layout.py    how views lie in it
tail.py      from an image's bytes to numbers, and what is done to these: a table of 256 entries a channel
patch.py     rectangles of an image with a table of their own, and mask.py, masks that are laid on images
canvas.py    images with a border, and blocks that a collate_fn copies images of several sizes into
call.py      calls with stand-ins among the arguments: how they reach our functions, and are recorded; with
constant.py  other arguments
escape.py    real arrays in the place of stand-ins that outlive their batch
"""
