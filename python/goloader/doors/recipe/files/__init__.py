"""What files say of themselves, with less work than Pillow and tarfile have.

header.py         size and mode of JPEG and PNG files, and
other_headers.py  of other formats
opencv.py         the same as OpenCV reads them
sound.py          whether a JPEG file decodes without an error
archive.py        members of a tar archive
"""
