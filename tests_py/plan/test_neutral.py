"""goloader.transforms and the torch-less half of plan/: torchvision's arguments and arithmetic, without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from interpret import run
from PIL import Image

from goloader import transforms as G
from goloader.plan.neutral import make_arrays, make_folder
from goloader.plan.paths import Files
from goloader.plan.transforms.lowered import lower_neutral

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def test_nothing_of_torch_is_imported() -> None:
    code = """
import sys
import goloader.plan, goloader.transforms as G
from goloader.plan.neutral import make_arrays, make_folder
from goloader.plan.paths import Files
import numpy as np
make_arrays([np.zeros(3)]).to_json()
make_folder("photos", Files.of([]), [G.RandomResizedCrop(3), G.ToArray()]).to_json()
assert not {"torch", "torchvision"} & sys.modules.keys()
"""
    source = Path(sys.modules["goloader.plan"].__file__ or "").parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=source)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("mean", "std"), [(MEAN, STD), ((0.5,), (0.25,)), ((1e30, 0, -1e-30), (1e-30, 3, 7e20))])
def test_tables_are_torchs(dtype: str, channels: int, mean: Any, std: Any) -> None:
    if dtype == "float16" and max(map(abs, (*mean, *std))) > 1e4:
        return
    steps = [G.Grayscale(1)] if channels == 1 else []
    plan = lower_neutral([*steps, G.ToArray(dtype), G.Normalize(mean, std)])
    values = torch.arange(256, dtype=torch.uint8).expand(3, 1, 256).to(getattr(torch, dtype)).div(255)
    want = T.functional.normalize(values, list(mean), list(std)).numpy()[: plan.channels, 0]
    assert plan.table == want.tobytes()
    assert plan.channels == max(channels, len(mean))
    run(plan, Image.new("RGB", (5, 4)))


def test_unscaled_and_plain_tables() -> None:
    assert lower_neutral([]).table == bytes(range(256)) * 3
    assert lower_neutral([G.ToArray("uint8")]).table == bytes(range(256)) * 3
    want = np.tile(np.arange(256, dtype=np.float32), 3).tobytes()
    assert lower_neutral([G.ToArray("float32", scale=False)]).table == want


def test_a_neutral_pipeline_is_torchvisions() -> None:
    plan = lower_neutral(
        [G.RandomResizedCrop(16, log_ratio=torch.log(torch.tensor((0.75, 4 / 3))).tolist()), G.RandomHorizontalFlip(),
         G.ToArray(), G.Normalize(MEAN, STD)]
    )  # fmt: skip
    reference = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8))
    for seed in range(5):
        torch.manual_seed(seed)
        want = reference(picture)
        torch.manual_seed(seed)
        assert torch.equal(run(plan, picture), want)


def test_logarithms_are_the_nearest_floats_and_torchs_within_an_ulp() -> None:
    ours = np.array(G.RandomResizedCrop(3).log_ratio, np.float32)
    exact = np.log(np.array([3.0 / 4.0, 4.0 / 3.0], np.float32).astype(np.float64))
    assert np.array_equal(ours, exact.astype(np.float32))
    theirs = torch.log(torch.tensor((3.0 / 4.0, 4.0 / 3.0))).numpy()
    assert (np.abs(ours - theirs) <= np.spacing(np.abs(ours))).all()


def test_equal_steps_are_equal_however_spelled() -> None:
    assert G.Resize((20,), 2) == G.Resize([20], "bilinear", antialias=False)
    assert G.CenterCrop(3) == G.CenterCrop((3, 3))
    assert G.Pad(1) == G.Pad((1, 1, 1, 1)) == G.Pad([1, 1])
    assert G.RandomCrop(3, padding=2) == G.RandomCrop([3], [2, 2])
    assert hash(G.Pad(1)) == hash(G.Pad([1, 1]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: G.Resize(0),
        lambda: G.Resize((1, 2, 3)),
        lambda: G.Resize(None),
        lambda: G.Resize((3, 4), max_size=9),
        lambda: G.Resize(10, max_size=10),
        lambda: G.Resize(10, "cubic"),
        lambda: G.Resize(10, 9),
        lambda: G.CenterCrop((1, -2)),
        lambda: G.RandomCrop(3, padding=(1, 2, 3)),
        lambda: G.RandomCrop(3, padding=-1),
        lambda: G.RandomCrop(3, padding_mode="wrap"),
        lambda: G.RandomCrop(3, api="v3"),  # type: ignore[arg-type]
        lambda: G.RandomResizedCrop(3, scale=(2, 1)),
        lambda: G.RandomResizedCrop(3, scale=(0, float("nan"))),
        lambda: G.RandomResizedCrop(3, ratio=(0, 1)),
        lambda: G.RandomResizedCrop(3, ratio=(1, 1e38), log_ratio=(0, 87.5)),
        lambda: G.RandomResizedCrop(3, log_ratio=(1, 0)),
        lambda: G.RandomHorizontalFlip(1.5),
        lambda: G.RandomVerticalFlip(float("nan")),
        lambda: G.RandomRotation((3, 2)),
        lambda: G.RandomRotation(float("nan")),
        lambda: G.RandomRotation(9, "lanczos"),
        lambda: G.RandomRotation(9, center=(1e9, 0)),
        lambda: G.RandomAffine(9, translate=(0, 1.5)),
        lambda: G.RandomAffine(9, scale=(0, 1)),
        lambda: G.RandomAffine(9, shear=(3, 2)),
        lambda: G.Pad(1, fill=(1, 2)),
        lambda: G.Pad(1, fill="red"),  # type: ignore[arg-type]
        lambda: G.Grayscale(2),
        lambda: G.ToArray("int64"),
        lambda: G.Normalize((0.5, 0.5), (1, 1)),
        lambda: G.Normalize((0.5,), (0,)),
        lambda: lower_neutral([G.ToArray(), G.Resize(3)]),
        lambda: lower_neutral([G.Normalize((1,), (1,))]),
        lambda: lower_neutral([G.ToArray(), G.ToArray()]),
        lambda: lower_neutral([G.ToArray("uint8"), G.Normalize((1,), (1,))]),
        lambda: lower_neutral([G.ToArray("float16"), G.Normalize((1,), (1e-9,))]),
        lambda: lower_neutral([G.RandomCrop(3, padding=1)] * 9),
    ],
)
def test_senseless_arguments_are_errors(make: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_arguments_of_a_wrong_type_are_errors() -> None:
    with pytest.raises(TypeError):
        G.Resize(3.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        G.RandomResizedCrop(3, scale=0.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no Compose"):
        lower_neutral([T.Compose([])])


# Folders


def test_a_folder_tells_of_files_for_pillow(tmp_path: Path) -> None:
    files = Files.of(["a/1.jpg", "a/2.ppm", "a/3.JPeG", "jpg"], [0, 0, 1, 1])
    plan = make_folder(tmp_path, files)
    assert (plan.length, plan.files) == (4, files)
    assert "50.0%" in str(plan.explanation)


# Arrays


def test_arrays() -> None:
    images, labels = np.arange(60, dtype=np.float32).reshape(5, 4, 3), np.arange(5)
    plan = make_arrays({"images": images[:, ::-1], "labels": labels.astype(">i8")})
    assert (plan.kind, plan.length, plan.count, plan.random) == ("array", 5, 5, False)
    assert (plan.dtypes, plan.shapes) == (("float32", "int64"), ((4, 3), ()))
    first, second = (field.arrays[0] for field in plan.fields)
    assert (first.shape, first.strides) == ((5, 4, 3), (48, -12, 4))
    assert first.address == images.ctypes.data + 36, "read where it is, from its end"
    assert np.array_equal(second.owner, labels), "in another byte order: copied"
    assert second.owner.dtype.isnative


def test_arrays_that_do_not_fit_are_errors() -> None:
    for arrays in ([], [np.zeros(3), np.zeros(4)], [np.float64(3)]):
        with pytest.raises(ValueError, match="array"):
            make_arrays(arrays)  # type: ignore[arg-type]
    for dtype in ("O", "U3", "c32", "M8[s]", "g"):
        with pytest.raises(TypeError):
            make_arrays([np.zeros(3, dtype)])
