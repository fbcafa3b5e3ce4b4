"""Photos and titles of a csv, OpenCLIP"""

import logging
import os

import pandas as pd
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import Compose, InterpolationMode, Normalize, RandomResizedCrop, ToTensor

DATA = "pairs_of_text"


class SimpleTokenizer:
    def __init__(self, context_length=77):
        self.context_length = context_length
        self.encoder = {}

    def __call__(self, texts):
        result = torch.zeros(len(texts), self.context_length, dtype=torch.long)
        for i, text in enumerate(texts):
            tokens = [49406] + [1 + sum(map(ord, word)) % 49000 for word in text.lower().split()] + [49407]
            result[i, : len(tokens)] = torch.tensor(tokens)
        return result


class CsvDataset(Dataset):
    def __init__(self, input_filename, transforms, img_key, caption_key, sep="\t", tokenizer=None):
        logging.debug(f"Loading csv data from {input_filename}.")
        df = pd.read_csv(input_filename, sep=sep)
        self.root = os.path.dirname(input_filename)

        self.images = df[img_key].tolist()
        self.captions = df[caption_key].tolist()
        self.transforms = transforms
        logging.debug("Done loading data.")

        self.tokenize = tokenizer

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, idx):
        images = self.transforms(Image.open(os.path.join(self.root, str(self.images[idx]))))
        texts = self.tokenize([str(self.captions[idx])])[0]
        return images, texts


def _convert_to_rgb(image):
    return image.convert("RGB")


def train_loader(root):
    preprocess = Compose(
        [
            RandomResizedCrop(224, scale=(0.9, 1.0), interpolation=InterpolationMode.BICUBIC),
            _convert_to_rgb,
            ToTensor(),
            Normalize(mean=(0.48145466, 0.4578275, 0.40821073), std=(0.26862954, 0.26130258, 0.27577711)),
        ]
    )
    dataset = CsvDataset(
        str(root / "train.csv"), preprocess, img_key="filepath", caption_key="title", tokenizer=SimpleTokenizer()
    )
    return DataLoader(
        dataset, batch_size=64, shuffle=True, num_workers=2, pin_memory=True, sampler=None, drop_last=True
    )
