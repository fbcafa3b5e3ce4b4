"""Pipelines of shards as people write them, after the programs that are named. Each takes the names of shards."""

from __future__ import annotations

import io
import logging
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torchvision.transforms as T
import webdataset as wds
from PIL import Image
from torch.utils.data import default_collate

from tests_py.streams.shards import identity


class Pipeline(NamedTuple):
    """One of the pipelines.

    after    whose code it follows
    make     the dataset
    options  of the DataLoader
    go       what of it runs in Go: "all" of it, or its "images", which are recorded
    why      what the rest needs Python for
    """

    after: str
    make: Callable[[list[str]], Any]
    options: dict[str, Any]
    go: str = "all"
    why: str = ""


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

train = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])
val = T.Compose([T.Resize(30), T.CenterCrop(24), T.ToTensor(), T.Normalize(MEAN, STD)])
two = T.Compose(
    [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.RandomGrayscale(0.2), T.ToTensor(), T.Normalize(MEAN, STD)]
)


def preproc(sample: dict[str, Any]) -> Any:
    """webdataset's examples/train-resnet50-webdataset.ipynb, make_sample."""
    image = sample["jpg"] if "jpg" in sample else sample["png"]
    return train(image), sample["cls"]


# open_clip, src/open_clip_train/data.py


def log_and_continue(exn: Exception) -> bool:
    """Call in an exception handler to ignore any exception, issue a warning, and continue."""
    logging.warning(f"Handling webdataset error ({exn!r}). Ignoring.")
    return True


def filter_no_caption_or_no_image(sample: dict[str, Any]) -> bool:
    """As open_clip has it."""
    has_caption = "txt" in sample
    has_image = "png" in sample or "jpg" in sample or "jpeg" in sample or "webp" in sample
    return has_caption and has_image


class detshuffle2(wds.PipelineStage):  # type: ignore[misc, name-defined]  # noqa: N801
    """As open_clip has it, without an epoch that workers share."""

    def __init__(self, bufsize: int = 1000, initial: int = 100, seed: int = 0, epoch: int = -1) -> None:
        self.bufsize, self.initial, self.seed, self.epoch = bufsize, initial, seed, epoch

    def run(self, src: Any) -> Any:
        """Shuffles."""
        self.epoch += 1
        return wds.filters._shuffle(src, self.bufsize, self.initial, random.Random(self.seed + self.epoch))


def tokenize(text: str) -> torch.Tensor:
    """Stands for CLIP's: 16 numbers of a text."""
    return torch.tensor([ord(letter) % 97 for letter in text[:16].ljust(16)])


def _open_clip(urls: list[str], is_train: bool) -> Any:
    shards: list[Any] = [wds.SimpleShardList(urls)]
    if is_train:
        shards += [detshuffle2(bufsize=3, initial=2, seed=1), wds.split_by_node, wds.split_by_worker]
        shards += [wds.tarfile_to_samples(handler=log_and_continue), wds.shuffle(bufsize=9, initial=4, seed=1)]
    else:
        shards += [wds.split_by_worker, wds.tarfile_to_samples(handler=log_and_continue)]
    return wds.DataPipeline(
        *shards,
        wds.select(filter_no_caption_or_no_image),
        wds.decode("pilrgb", handler=log_and_continue),
        wds.rename(image="jpg;png;jpeg;webp", text="txt"),
        wds.map_dict(image=train if is_train else val, text=lambda text: tokenize(text)),
        wds.to_tuple("image", "text"),
        wds.batched(4, partial=not is_train),
    )


# timm, timm/data/readers/reader_wds.py


def _decode(sample: dict[str, Any], image_key: str = "jpg;png", image_mode: str = "RGB") -> dict[str, Any]:
    key = next(each for each in image_key.split(";") if each in sample)
    with io.BytesIO(sample[key]) as b:
        img = Image.open(b)
        img.load()
    if image_mode:
        img = img.convert(image_mode)
    return {"jpg": img, "cls": int(sample["cls"]), "json": sample.get("json")}


def _decode_samples(data: Any, handler: Any = log_and_continue) -> Iterator[Any]:
    for sample in data:
        try:
            result = _decode(sample)
        except Exception as exn:
            if handler(exn):
                continue
            break
        if result is not None:
            if isinstance(sample, dict) and isinstance(result, dict):
                result["__key__"] = sample.get("__key__")
            yield result


class ReaderWds(torch.utils.data.IterableDataset[Any]):
    """What timm's train.py iterates over: a reader in an IterableImageDataset."""

    def __init__(self, urls: list[str]) -> None:
        self.ds = wds.DataPipeline(
            wds.SimpleShardList(urls), wds.split_by_node, wds.split_by_worker, wds.detshuffle(2),
            wds.tarfile_to_samples(handler=log_and_continue), wds.shuffle(8, seed=5),
            wds.pipelinefilter(_decode_samples)(), wds.rename(image="jpg", target="cls"),
        )  # fmt: skip

    def __iter__(self) -> Iterator[Any]:
        for sample in self.ds:
            yield train(sample["image"]), sample["target"]


# diffusers, examples/consistency_distillation/train_lcm_distill_sd_wds.py


def filter_keys(key_set: set[str]) -> Any:
    """As diffusers has it."""

    def _f(dictionary: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in dictionary.items() if k in key_set}

    return _f


def _lcm(example: dict[str, Any]) -> dict[str, Any]:
    image = T.functional.resize(example["image"], 24, interpolation=T.InterpolationMode.BILINEAR)
    c_top, c_left, _, _ = T.RandomCrop.get_params(image, output_size=(24, 24))
    image = T.functional.crop(image, c_top, c_left, 24, 24)
    image = T.functional.to_tensor(image)
    example["image"] = T.functional.normalize(image, [0.5], [0.5])
    return example


def _diffusers(urls: list[str]) -> Any:
    return wds.DataPipeline(
        wds.SimpleShardList(urls), wds.split_by_worker, wds.tarfile_to_samples(), wds.shuffle(9, seed=3),
        wds.decode("pil", handler=wds.ignore_and_continue),
        wds.rename(image="jpg;png;jpeg;webp", text="text;txt;caption", handler=wds.warn_and_continue),
        wds.map(filter_keys({"image", "text"})), wds.map(_lcm), wds.to_tuple("image", "text"),
        wds.batched(4, partial=False, collation_fn=default_collate),
    )  # fmt: skip


# LAVIS, lavis/datasets/datasets/laion_dataset.py


def _to_dict(sample: Any) -> dict[str, Any]:
    return {"image": sample[0], "text_input": sample[1]["caption"].strip()}


def _lavis(urls: list[str]) -> Any:
    return wds.DataPipeline(
        wds.ResampledShards(urls, deterministic=True), wds.tarfile_to_samples(handler=wds.warn_and_continue),
        wds.shuffle(10, handler=wds.warn_and_continue, seed=2), wds.decode("pilrgb", handler=wds.warn_and_continue),
        wds.to_tuple("jpg;png", "json", handler=wds.warn_and_continue),
        wds.map_tuple(train, handler=wds.warn_and_continue), wds.map(_to_dict, handler=wds.warn_and_continue),
    ).with_epoch(30)  # fmt: skip


def _web(urls: Any, **options: Any) -> Any:
    return wds.WebDataset(urls, **({"shardshuffle": False} | options))


_CLIP = wds.autodecode.ImageHandler("pil", extensions=["webp", "png", "jpg", "jpeg"])

GALLERY: dict[str, Pipeline] = {
    "ImageNet, train": Pipeline(
        "webdataset's documentation",
        lambda urls: (
            _web(urls, shardshuffle=5, seed=1, nodesplitter=wds.split_by_node).shuffle(20, seed=2).decode("pil")
            .to_tuple("jpg;png;jpeg cls").map_tuple(train, identity)
        ),
        {"batch_size": 4},
    ),
    "ImageNet, batches by the pipeline": Pipeline(
        "webdataset's documentation",
        lambda urls: (
            _web(urls).shuffle(20, seed=2).decode("pil").to_tuple("jpg;png", "cls").map_tuple(val).batched(4)
        ),
        {"batch_size": None},
    ),
    "ImageNet, epochs of a length": Pipeline(
        "webdataset's FAQ on Lightning",
        lambda urls: (
            _web(urls, nodesplitter=wds.split_by_node).shuffle(20, seed=2).decode("pil")
            .to_tuple("jpg;png", "cls").map_tuple(val, None).with_epoch(21).with_length(21, silent=True)
        ),
        {"batch_size": 4},
    ),
    "make_sample": Pipeline(
        "webdataset's ResNet50 notebook",
        lambda urls: _web(urls).shuffle(20, seed=2).decode("pil").map(preproc),
        {"batch_size": 4},
        "images",
        "a function of whole samples",
    ),
    "arrays and JSON": Pipeline(
        "webdataset's README",
        lambda urls: (
            _web(urls).shuffle(20, seed=2).decode("rgb").to_tuple("jpg;png", "json")
            .map_tuple(lambda image: image[:24, :24].copy())
        ),
        {"batch_size": 4},
        "images",
        "numpy's arrays of images",
    ),
    "bytes of tensors": Pipeline(
        "webdataset's documentation of decode",
        lambda urls: _web(urls).decode("torchrgb8").to_tuple("jpg;png", "cls").map_tuple(T.CenterCrop(24)),
        {"batch_size": 4},
    ),
    "two crops": Pipeline(
        "SimCLR", lambda urls: _web(urls).decode("pil").to_tuple("jpg;png", "jpg;png").map_tuple(two, two),
        {"batch_size": 4},
    ),
    "keys and numbers of JSON": Pipeline(
        "img2dataset's users",
        lambda urls: (
            _web(urls).decode("pil").to_tuple("__key__", "jpg;png", "json")
            .map_tuple(None, val, lambda about: about["number"])
        ),
        {"batch_size": 4},
    ),
    "captions": Pipeline(
        "img2dataset's users",
        lambda urls: (
            _web(urls, handler=wds.warn_and_continue).decode("pilrgb").rename(image="jpg;png;jpeg;webp", text="txt")
            .map_dict(image=val, text=lambda text: text.strip().lower()[:20]).to_tuple("image", "text")
        ),
        {"batch_size": 4},
    ),
    "zero-shot": Pipeline(
        "CLIP_benchmark, build_wds_dataset",
        lambda urls: (
            _web(urls).decode(_CLIP).to_tuple(["webp", "png", "jpg", "jpeg"], ["cls"]).map_tuple(val, None).batched(4)
        ),
        {"batch_size": None},
    ),
    "CLIP, train": Pipeline(
        "open_clip, get_wds_dataset", lambda urls: _open_clip(urls, True), {"batch_size": None}, "images",
        "select, a tokenizer, a shuffle of its own",
    ),
    "CLIP, val": Pipeline(
        "open_clip, get_wds_dataset", lambda urls: _open_clip(urls, False), {"batch_size": None}, "images",
        "select, a tokenizer",
    ),
    "timm": Pipeline("timm, ReaderWds", ReaderWds, {"batch_size": 4}, "images", "a dataset of its own around it"),
    "distillation": Pipeline(
        "diffusers, train_lcm_distill_sd_wds.py", _diffusers, {"batch_size": None}, "images",
        "functions of whole samples",
    ),
    "captions for pre-training": Pipeline(
        "LAVIS, LaionDataset", _lavis, {"batch_size": 4}, "images", "a function of whole samples",
    ),
    "shards by a command": Pipeline(
        "webdataset's documentation of pipe:",
        lambda urls: (
            _web([f"pipe:cat {url}" for url in urls], resampled=False).decode("pil").to_tuple("jpg;png", "cls")
            .map_tuple(train)
        ),
        {"batch_size": 4},
    ),
}  # fmt: skip
