"""Datasets that are known by their classes.

image_folders.py     torchvision's ImageFolder, and goloader's
pictures.py          its images in memory, as of MNIST
masks.py             its datasets for segmentation
left_to_python.py    its classes that are not taken
tensors.py           torch's TensorDataset
sequences.py         lists of tensors or arrays that differ in length
arrays.py, tokens.py  goloader's ArrayDataset and TokenDataset
hugging_face.py      Hugging Face's Dataset
s3torchconnector.py  its S3MapDataset
"""
