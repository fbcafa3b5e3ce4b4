"""What is done to images: transforms as steps of the core, and one look-up table of what follows them.

torchvision.py  its transforms, v1 and v2; of which
augments.py     has those of colour, and policies,
erasing.py      RandomErasing, and
sizes.py        those that draw a size
targets.py      transforms of an image with a mask
lowered.py      what all of these become: steps, and the table that
tables.py       makes of the rest
"""
