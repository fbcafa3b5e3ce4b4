"""torchvision's datasets of images with annotations: pixels come from Go, targets and collate_fn run as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from photos import picture
from PIL import Image
from torch.utils import data
from torchvision import datasets, tv_tensors
from torchvision.transforms import v2

import goloader
from goloader.collate import Jagged, Pack, Pad
from goloader.doors.recipe import door, hooks
from goloader.doors.same import difference

pytestmark = pytest.mark.skipif(hooks.refusal() is not None, reason="nothing is recorded with these versions")

COUNT = 24


def photo(path: Path, k: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(40 + k, 60 - k, k).save(path)
    return path


def made(kind: Any, root: Path, **attributes: Any) -> Any:
    """A dataset as its constructor leaves it, which would ask for packages or checksums of the real files."""
    dataset = kind.__new__(kind)
    datasets.VisionDataset.__init__(dataset, root, transform=attributes.pop("transform"))
    vars(dataset).update(attributes)
    return dataset


def voc(root: Path, transform: Any) -> Any:
    base = root / "VOCdevkit/VOC2012"
    for k in range(COUNT):
        photo(base / f"JPEGImages/{k}.jpg", k)
        corners = "<ymin>2</ymin><xmax>30</xmax><ymax>31</ymax>"
        boxes = "".join(
            f"<object><name>cat</name><bndbox><xmin>{i}</xmin>{corners}</bndbox></object>" for i in range(k % 4 + 1)
        )
        (base / "Annotations").mkdir(exist_ok=True)
        (base / f"Annotations/{k}.xml").write_text(f"<annotation><filename>{k}.jpg</filename>{boxes}</annotation>")
    (base / "ImageSets/Main").mkdir(parents=True)
    (base / "ImageSets/Main/train.txt").write_text("".join(f"{k}\n" for k in range(COUNT)))
    return datasets.VOCDetection(root, transform=transform)


class Annotations:
    """What CocoDetection asks of pycocotools' COCO."""

    def __init__(self, root: Path) -> None:
        self.imgs = {10 * k: {"file_name": photo(root / f"{k}.jpg", k).name} for k in range(COUNT)}
        self.anns = {
            100 * k + i: {"bbox": [i, 2.5, 10.0 + k, 12], "category_id": i, "image_id": 10 * k}
            for k in range(COUNT)
            for i in range(k % 3)
        }

    def loadImgs(self, number: int) -> list[Any]:  # noqa: N802
        return [self.imgs[number]]

    def getAnnIds(self, number: int) -> list[int]:  # noqa: N802
        return [key for key, each in self.anns.items() if each["image_id"] == number]

    def loadAnns(self, numbers: list[int]) -> list[Any]:  # noqa: N802
        return [self.anns[number] for number in numbers]


def coco(root: Path, transform: Any) -> Any:
    annotations = Annotations(root)
    return made(datasets.CocoDetection, root, transform=transform, coco=annotations, ids=sorted(annotations.imgs))


def kitti(root: Path, transform: Any) -> Any:
    base = root / "Kitti/raw/training"
    (base / "label_2").mkdir(parents=True)
    for k in range(COUNT):
        photo(base / f"image_2/{k:06}.png", k)
        line = "Car 0.00 0 -1.57 1 2 33.5 40 1.5 1.6 3.7 0.1 1.8 9.2 -1.6\n"
        (base / f"label_2/{k:06}.txt").write_text(line * (k % 3 + 1))
    return datasets.Kitti(root, transform=transform)


def faces(root: Path, transform: Any) -> Any:
    about = [
        {"img_path": str(photo(root / f"{k}.jpg", k)), "annotations": {"bbox": torch.full((k % 4 + 1, 4), k)}}
        for k in range(COUNT)
    ]
    return made(datasets.WIDERFace, root, transform=transform, split="train", img_info=about)


def celebrities(root: Path, transform: Any) -> Any:
    names = [photo(root / f"celeba/img_align_celeba/{k}.jpg", k).name for k in range(COUNT)]
    attributes = torch.arange(COUNT * 40).view(COUNT, 40) % 2
    return made(
        datasets.CelebA, root, transform=transform, filename=names, attr=attributes, identity=attributes[:, :1],
        target_type=["attr", "identity"],
    )  # fmt: skip


def pets(root: Path, target_types: list[str], **transforms: Any) -> Any:
    base = root / "oxford-iiit-pet"
    for k in range(COUNT):
        photo(base / f"images/pet_{k}.jpg", k)
        trimap = base / f"annotations/trimaps/pet_{k}.png"
        trimap.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(k).integers(1, 4, (60 - k, 40 + k), np.uint8)).save(trimap)
    (base / "annotations/trainval.txt").write_text(
        "".join(f"pet_{k} {k % 37 + 1} {k % 2 + 1} 1\n" for k in range(COUNT))
    )
    return datasets.OxfordIIITPet(root, target_types=target_types, **transforms)


def cities(root: Path, **transforms: Any) -> Any:
    """With masks of instances, 16 bits a pixel."""
    for k in range(COUNT):
        name = f"train/aachen/aachen_{k:06}_000019"
        photo(root / f"leftImg8bit/{name}_leftImg8bit.png", k)
        numbers = np.random.default_rng(k).integers(0, 34000, (60 - k, 40 + k), np.uint16)
        mask = root / f"gtFine/{name}_gtFine_instanceIds.png"
        mask.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(numbers).save(mask)
    return datasets.Cityscapes(root, target_type="instance", **transforms)


def zipped(batch: Any) -> Any:
    return tuple(zip(*batch, strict=True))


def stacked(batch: Any) -> Any:
    return torch.stack([image for image, _ in batch]), [target for _, target in batch]


WHOLE, CROPPED = T.ToTensor(), T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", [voc, coco, kitti, faces], ids=lambda kind: kind.__name__)
def test_annotations_stay_what_they_are(kind: Any, num_workers: int, tmp_path: Path) -> None:
    for transform, collate in ((WHOLE, zipped), (CROPPED, stacked)):
        check(kind(tmp_path / collate.__name__, transform), num_workers, collate_fn=collate)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_attributes_beside_images_are_stacked(num_workers: int, tmp_path: Path) -> None:
    check(celebrities(tmp_path, CROPPED), num_workers)


def test_a_batch_of_more_images_than_a_message_has_fields(tmp_path: Path) -> None:
    check(voc(tmp_path, WHOLE), 0, collate_fn=zipped, batch_size=COUNT)


def check(dataset: Any, num_workers: int, state: str = "native", **options: Any) -> None:
    def epochs(kind: Any) -> tuple[Any, Any]:
        torch.manual_seed(2)
        loader = kind(dataset, shuffle=True, num_workers=num_workers, **{"batch_size": 6, **options})
        return [batch for _ in range(3) for batch in loader], loader

    (want, _), (got, loader) = epochs(data.DataLoader), epochs(goloader.DataLoader)
    assert difference(want, got) is None
    assert door.record(loader).state == state, str(loader.explain())


def mask_and_rest(target: Any) -> Any:
    mask, *rest = sorted(target, key=lambda each: not isinstance(each, Image.Image))
    return T.PILToTensor()(mask.resize((20, 24))), *rest


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "wrapped"])
@pytest.mark.parametrize(
    "types", [["category", "segmentation"], ["segmentation", "binary-category", "category"]], ids=",".join
)
def test_masks_beside_classes(types: list[str], wrapped: bool, num_workers: int, tmp_path: Path) -> None:
    if wrapped:
        dtypes = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
        crop = v2.Compose([v2.RandomResizedCrop(20), v2.ToImage(), v2.ToDtype(dtypes, scale=True)])
        dataset = datasets.wrap_dataset_for_transforms_v2(pets(tmp_path, types, transforms=crop))
    else:
        dataset = pets(tmp_path, types, transform=CROPPED, target_transform=mask_and_rest)
    check(dataset, num_workers)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_masks_of_16_bits_are_pillow_s_beside_images_of_the_core(num_workers: int, tmp_path: Path) -> None:
    target = T.Compose([T.Resize((24, 20), T.InterpolationMode.NEAREST), T.PILToTensor()])
    dataset = cities(tmp_path, transform=CROPPED, target_transform=target)
    check(dataset, num_workers, "partly")


@pytest.mark.parametrize("num_workers", [0, 2])
def test_boxes_of_the_wrapper_move_with_the_image(num_workers: int, tmp_path: Path) -> None:
    def epoch(kind: Any) -> Any:
        torch.manual_seed(2)
        transforms = v2.Compose(
            [v2.RandomHorizontalFlip(), v2.Resize((30, 40)), v2.ToImage(), v2.ToDtype(torch.float32)]
        )
        dataset = kitti(tmp_path / kind.__module__, None)
        dataset.transforms = transforms
        loader = kind(
            datasets.wrap_dataset_for_transforms_v2(dataset), batch_size=5, num_workers=num_workers, collate_fn=zipped
        )
        return [batch for _ in range(2) for batch in loader]

    want, got = epoch(data.DataLoader), epoch(goloader.DataLoader)
    for (images, targets), (same, alike) in zip(want, got, strict=True):
        assert all(map(torch.equal, images, same))
        for one, other in zip(targets, alike, strict=True):
            assert type(one["boxes"]) is type(other["boxes"]) and torch.equal(one["boxes"], other["boxes"])


BOXES = ("boxes", "labels")
RAGGED = {
    "padded": Pad(batch_first=True, padding_value=-1, lengths=True, fields=BOXES),
    "packed": Pack(fields=BOXES),
    "nested": Jagged(fields=BOXES),
    "images listed": Pack(fields=1, others=list),
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("collate", RAGGED.values(), ids=RAGGED)
@pytest.mark.parametrize("kind", [voc, coco, kitti], ids=lambda kind: kind.__name__)
def test_boxes_are_ragged_beside_stacked_images(kind: Any, collate: Any, num_workers: int, tmp_path: Path) -> None:
    """What torchvision's wrapper makes of the annotations, of images that have any."""
    dataset = kind(tmp_path, None)
    resize = [] if collate.others is list else [v2.Resize((30, 40))]
    dataset.transforms = v2.Compose(
        [v2.RandomHorizontalFlip(), *resize, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    )
    wrapped = datasets.wrap_dataset_for_transforms_v2(dataset, BOXES)
    having = data.Subset(wrapped, [k for k in range(COUNT) if kind is not coco or k % 3])

    def epochs(loader_kind: Any) -> tuple[Any, Any]:
        torch.manual_seed(3)
        loader = loader_kind(having, 5, shuffle=True, num_workers=num_workers, collate_fn=collate)
        return [batch for _ in range(2) for batch in loader], loader

    (want, _), (got, loader) = epochs(data.DataLoader), epochs(goloader.DataLoader)
    assert difference(want, got) is None
    images, target = got[0]
    assert set(target) == set(BOXES)
    assert len(images) == 5 and all(image.shape[0] == 3 for image in images)
    assert door.record(loader).state == "native", loader.explain()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_boxes_of_faces_are_ragged(num_workers: int, tmp_path: Path) -> None:
    check(faces(tmp_path, CROPPED), num_workers, collate_fn=Pad(True, lengths=True, fields="bbox"))


def test_images_without_boxes_are_told_of(tmp_path: Path) -> None:
    wrapped = datasets.wrap_dataset_for_transforms_v2(coco(tmp_path, T.ToTensor()), BOXES)
    for kind in data.DataLoader, goloader.DataLoader:
        with pytest.raises(KeyError, match="not every sample of the batch has a field 'boxes'"):
            next(iter(kind(wrapped, 3, collate_fn=Pad(fields=BOXES))))
