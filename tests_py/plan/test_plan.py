"""plan/__init__.py: a whole loader's plan, its JSON, and what keeps a loader with torch."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL
import pytest
import torch
import torchvision.transforms as T
from interpret import run
from PIL import Image
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    default_collate,
    default_convert,
)
from torch.utils.data._utils import collate
from torchvision.datasets import MNIST, ImageFolder
from torchvision.transforms import v2

from goloader import selfcheck
from goloader import transforms as G
from goloader.plan import Explanation, Plan, Refusal, Row
from goloader.plan.neutral import make_arrays, make_folder
from goloader.plan.paths import Files
from goloader.plan.planner import explain, make, unchanged
from goloader.plan.samplers import index_batches


def folder(root: Path, *steps: Any) -> ImageFolder:
    return ImageFolder(
        str(root), T.Compose([*(steps or (T.RandomResizedCrop(16), T.RandomHorizontalFlip())), T.ToTensor()])
    )


def planned(loader: Any) -> Plan:
    plan = make(loader)
    assert isinstance(plan, Plan), plan
    return plan


def refused(loader: Any) -> Refusal:
    plan = make(loader)
    assert isinstance(plan, Refusal)
    return plan


def test_a_plan_carried_out_is_the_loader(photos: Path) -> None:
    """The whole way, in Python: sampler, resolve, files, steps, table and labels give DataLoader's own epochs."""
    one, two = folder(photos), folder(photos, T.Resize((20, 20)), T.RandomCrop(16, padding=2))
    dataset = ConcatDataset([Subset(one, [3, -1, 7]), two, one])
    loader = DataLoader(dataset, 5, True)
    plan = planned(loader)
    torch.manual_seed(3)
    want = [batch for _ in range(2) for batch in loader]
    torch.manual_seed(3)
    got = []
    for _ in range(2):
        batches = index_batches(loader)
        torch.empty((), dtype=torch.int64).random_()
        for batch in batches:
            assert isinstance(batch, np.ndarray)
            got.append(default_collate([carried_out(plan, int(row)) for row in plan.resolve(batch)]))
    assert len(got) == len(want)
    for (images, labels), (images_wanted, labels_wanted) in zip(got, want, strict=True):
        assert torch.equal(images, images_wanted)
        assert torch.equal(labels, labels_wanted)


def carried_out(plan: Plan, row: int) -> tuple[torch.Tensor, int]:
    assert plan.files is not None
    path, label = plan.files[row]
    image = Image.open(path).convert("RGB")
    first = 0
    for count, lowered in plan.parts:
        if row < first + count:
            assert lowered is not None
            return run(lowered, image), label
        first += count
    raise AssertionError(row)


def test_the_json_is_the_schemas(photos: Path) -> None:
    plan = planned(DataLoader(folder(photos), 4))
    parsed = json.loads(plan.to_json())
    assert list(parsed) == ["version", "source", "parts", "output", "rng", "pillow", "seek_index"]
    assert parsed["version"] == 1
    assert parsed["source"] == {"kind": "folder"}
    assert parsed["output"] == {"dtype": "float32", "channels": 3}
    assert set(parsed["rng"]) == {"fma", "correctly_rounded_exp"}
    assert parsed["pillow"] == {
        "pass_order": plan.rules.pass_order,  # type: ignore[union-attr]
        "max_pixels": Image.MAX_IMAGE_PIXELS,
        "decoders": ["webp", "bmp", "gif", "tiff"],
    }
    (part,) = parsed["parts"]
    assert part["count"] == 23
    assert [step["op"] for step in part["transforms"]] == ["random_resized_crop", "random_horizontal_flip"]
    table = np.frombuffer(base64.b64decode(part["table"], validate=True), np.float32).reshape(3, 256)
    assert np.array_equal(table[1], np.arange(256, dtype=np.float32) / np.float32(255))


def test_the_json_of_arrays() -> None:
    plan = make_arrays([np.zeros((3, 2, 4), np.float32), np.zeros(3, np.int64)])
    plain = {"ragged": False, "views": [{"skip": 0, "drop": 0, "front": "", "back": "", "layout": {"kind": "stack"}}]}
    assert json.loads(plan.to_json()) == {
        "version": 1,
        "source": {
            "kind": "array",
            "fields": [
                {"dtype": "float32", "shape": [2, 4], "stored": "float32", **plain},
                {"dtype": "int64", "shape": [], "stored": "int64", **plain},
            ],
        },
        "parts": [{"count": 3, "transforms": [], "table": ""}],
        "output": None,
        "rng": None,
        "pillow": None,
        "seek_index": None,
    }


def test_the_json_has_pillows_limit_as_it_stands(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(DataLoader(folder(photos), 4))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert json.loads(plan.to_json())["pillow"]["max_pixels"] is None


def test_facts_of_a_plan(photos: Path) -> None:
    plan = planned(DataLoader(folder(photos), 4, num_workers=2, timeout=9, persistent_workers=True, in_order=False))
    assert (plan.kind, plan.length, plan.count, plan.samples.index) == ("folder", 23, 23, None)
    assert (plan.dtype, plan.channels, plan.size, plan.shapes) == ("float32", 3, (16, 16), ((3, 16, 16), ()))
    assert plan.random
    assert plan.batched
    plain = planned(DataLoader(folder(photos, torch.nn.Identity()), 4))
    assert not plain.random
    assert plain.size is plain.shapes is None
    subset = planned(DataLoader(Subset(folder(photos), [5, 3]), 4))
    assert (subset.length, subset.count) == (2, 23)
    assert subset.resolve(np.array([0, -1])).tolist() == [5, 3]


def test_parts_of_different_sizes_have_no_size(photos: Path) -> None:
    tree = ConcatDataset([folder(photos), folder(photos, T.Resize((8, 8)))])
    plan = planned(DataLoader(tree, 4))
    assert plan.size is None
    assert [count for count, _ in plan.parts] == [23, 23]


def test_parts_of_different_kinds_are_refused(photos: Path) -> None:
    tree = ConcatDataset([folder(photos), folder(photos, T.Grayscale())])
    assert "different" in refused(DataLoader(tree, 4)).why
    tree.datasets[1].transform = T.Compose([T.PILToTensor()])  # type: ignore[attr-defined]
    assert "different" in refused(DataLoader(tree, 4)).why


def test_single_samples(photos: Path) -> None:
    dataset = folder(photos)
    plan = planned(DataLoader(dataset, None))
    assert not plan.batched
    for tail, why in (([v2.ToImage()], "keep their type"), ([T.PILToTensor()], "strides")):
        dataset.transform = T.Compose(tail)
        assert why in refused(DataLoader(dataset, None)).why
        planned(DataLoader(dataset, 2))


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(3))


def test_loaders_that_stay_with_torch(photos: Path) -> None:
    dataset = folder(photos)
    assert refused(DataLoader(Stream(), 2)).stage == "source"
    assert refused(DataLoader([1, 2], 2)).stage == "source"
    spawning = {"num_workers": 1, "multiprocessing_context": "spawn"}
    assert "worker_init_fn" in str(refused(DataLoader(dataset, 2, worker_init_fn=print, **spawning)))
    planned(DataLoader(dataset, 2, num_workers=1, worker_init_fn=print))
    planned(DataLoader(dataset, 2, worker_init_fn=print))
    assert refused(DataLoader(dataset, 2, collate_fn=list)).stage == "collate"
    assert refused(DataLoader(dataset, 2, collate_fn=lambda batch: default_collate(batch[:1]))).stage == "collate"
    assert refused(DataLoader(dataset, 2, collate_fn=default_convert)).stage == "collate"
    assert refused(DataLoader(dataset, None, collate_fn=default_collate)).stage == "collate"
    planned(DataLoader(dataset, 2, collate_fn=default_collate))


@pytest.mark.parametrize("kind", [torch.Tensor, int, tuple, object])
def test_a_changed_collate_table_is_refused(photos: Path, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = dict(collate.default_collate_fn_map)
    table.pop(kind, None)
    monkeypatch.setattr(collate, "default_collate_fn_map", {kind: lambda batch, collate_fn_map: batch, **table})
    assert "default_collate_fn_map" in refused(DataLoader(folder(photos), 2)).why


def test_a_collate_table_with_more_types_is_fine(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(collate.default_collate_fn_map, Path, lambda batch, collate_fn_map: batch)
    planned(DataLoader(folder(photos), 2))


@pytest.mark.parametrize("name", ["collate", "collate_tensor_fn", "collate_int_fn"])
def test_patched_collate_functions_are_refused(photos: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = DataLoader(folder(photos), 2)
    monkeypatch.setattr(collate, name, lambda *args, **kwargs: None)
    assert refused(loader).stage == "collate"


def test_what_behaves_otherwise_keeps_only_what_needs_it_with_torch(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(selfcheck._found, "pillow.resize.bilinear", None)
    resized = refused(DataLoader(folder(photos, T.Resize((20, 30))), 2))
    assert (resized.what, resized.why) == (f"Pillow {PIL.__version__}", "its bilinear resize is not the one known")
    planned(DataLoader(folder(photos, T.Resize((20, 30), T.InterpolationMode.NEAREST)), 2))
    planned(DataLoader(folder(photos, T.RandomCrop(20), T.RandomHorizontalFlip()), 2))
    with pytest.raises(RuntimeError, match="bilinear resize"):
        make_folder(photos, Files.of([]), [G.Resize(20)])
    make_folder(photos, Files.of([]), [G.CenterCrop(20)])


def test_a_decoder_that_behaves_otherwise_keeps_files_with_torch(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(selfcheck._found, "pillow.decode.jpeg", None)
    assert refused(DataLoader(folder(photos), 2)).why == "its JPEG decoder is not the one known"
    with pytest.raises(RuntimeError, match="JPEG decoder"):
        make_folder(photos, Files.of([]))
    pictures = MNIST.__new__(MNIST)
    pictures.data, pictures.targets = torch.zeros(3, 28, 28, dtype=torch.uint8), torch.arange(3)
    pictures.transform, pictures.target_transform = T.ToTensor(), None
    planned(DataLoader(pictures, 2))


def test_unchanged(photos: Path) -> None:
    loader = DataLoader(folder(photos), 2)
    plan = planned(loader)
    assert unchanged(plan, loader)
    loader.collate_fn = list
    assert not unchanged(plan, loader)
    loader.collate_fn = default_collate
    assert unchanged(plan, loader)
    loader.dataset.transform = T.ToTensor()  # type: ignore[attr-defined]
    assert not unchanged(plan, loader)
    assert not unchanged(plan, DataLoader(folder(photos), 2))


class OfRows(Dataset[Any]):
    """Its rows are of several types: pandas makes objects of their numbers."""

    def __init__(self) -> None:
        self.frame = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [1.0, 2.0, 3.0], "name": ["x", "y", "z"]})

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(self.frame.iloc[index][["a", "b"]].values.astype(np.float32))


def test_rows_of_objects_are_compared_by_what_they_are() -> None:
    loader = DataLoader(OfRows(), 2)
    plan = planned(loader)
    assert unchanged(plan, loader)
    loader.dataset.frame.loc[1, "b"] = 7.0  # type: ignore[attr-defined]
    assert not unchanged(plan, loader)


# explain()


def test_a_plan_explains_itself(photos: Path) -> None:
    loader = DataLoader(Subset(folder(photos), range(9)), 2, True)
    explanation = explain(loader, planned(loader))
    assert [(row.stage, row.where) for row in explanation] == [
        ("sampler", "Python"),
        ("source", "Go"),
        ("seek index", "Go"),
        ("transform", "Go"),
        ("transform", "Go"),
        ("transform", "Go"),
        ("collate", "Go"),
    ]
    assert explanation.native
    text = str(explanation)
    assert "BatchSampler over RandomSampler" in text
    assert "Subset over ImageFolder, 9 samples" in text
    assert "RandomResizedCrop(size=(16, 16)" in text


def test_a_refusal_explains_itself(photos: Path) -> None:
    for loader, stage in (
        (DataLoader(folder(photos, T.GaussianBlur(3)), 2), "transform"),
        (DataLoader(folder(photos), 2, collate_fn=list), "collate"),
        (DataLoader([1, 2], 2), "source"),
        (DataLoader(Stream(), 2), "source"),
        (DataLoader(folder(photos), 2, False, None, None, 1, None, False, False, 0, print, "spawn"), "loader"),
    ):
        refusal = refused(loader)
        explanation = explain(loader, refusal)
        assert not explanation.native
        (row,) = [row for row in explanation if row.why == refusal.why]
        assert row.stage == stage
        assert refusal.what in str(explanation)


def test_an_explanation_is_an_aligned_table() -> None:
    explanation = Explanation([Row("source", "ImageFolder", "Go"), Row("transform", "Lambda", "Python", "not known")])
    assert str(explanation) == (
        "stage      what         where   why\n"
        "source     ImageFolder  Go\n"
        "transform  Lambda       Python  not known"
    )  # fmt: skip
    assert repr(explanation).startswith("<Explanation: 1 of 2 stages in Go>\nstage ")
    assert explanation.to_dict()["rows"][1] == {
        "stage": "transform",
        "what": "Lambda",
        "where": "Python",
        "why": "not known",
        "code": "",
    }
    assert explanation == Explanation(explanation.rows)
    assert len(explanation) == 2
    assert hash(explanation) == hash(Explanation(explanation.rows))
