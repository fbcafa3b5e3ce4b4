"""What a user's class reads, and by which calls.

images.py         files that are opened as images, and arrays that images are made of
readers.py        functions that read an image file as an array
array_files.py    files with an array each; by the functions in
array_readers.py  a table, and, of WAV files, in
sounds.py         another
folders.py        which files a folder has
stores.py         arrays of h5py and zarr
databases.py      values in LMDB
fetched.py        objects of remote stores; by
clients.py        clients of boto3 and s3fs
"""
