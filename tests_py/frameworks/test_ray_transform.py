"""goloader.ray.Transform as a callable on blocks: it makes what the transform makes, seeded as docs/ray.md says."""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pyarrow as pa
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torchvision.transforms import v2

from goloader import DataLoader
from goloader.datasets import ImageFolder
from goloader.ray import Transform
from goloader.ray.columns import images_of
from goloader.state import seeded

FILES = list((photos.native() | photos.foreign()).values())

CHAINS: dict[str, Callable[[], Any]] = {
    "train": lambda: T.Compose([T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), *photos.tail()]),
    "eval": lambda: T.Compose([T.Resize(20), T.CenterCrop(16), T.PILToTensor()]),
    "v2": lambda: v2.Compose(
        [
            v2.RandomCrop(30, pad_if_needed=True),
            v2.ColorJitter(0.4),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    ),
    "RandAugment": lambda: T.Compose([T.Resize((28, 28)), T.RandAugment(), T.ToTensor(), T.RandomErasing()]),
    "Python": lambda: T.Compose([T.Resize((9, 9)), _speckled]),
}


def _speckled(image: Image.Image) -> np.ndarray:
    """Draws from all generators."""
    return np.asarray(image)[..., 0] + np.float64(random.random() + np.random.rand() + torch.rand(()).item())


def _wanted(transform: Any, images: list[Image.Image], keys: list[Any], seed: int, epoch: int = 0) -> np.ndarray:
    samples = []
    for image, key in zip(images, keys, strict=True):
        seeded.seed_all(seeded.key(seed, epoch, key))
        samples.append(np.asarray(transform(image)))
    return np.stack(samples)


def _opened(files: list[bytes]) -> list[Image.Image]:
    return [Image.open(io.BytesIO(each)).convert("RGB") for each in files]


def _arrow(files: list[bytes], kind: Any = None) -> pa.ChunkedArray:
    """In several pieces, the middle one of them a slice."""
    first, last = len(files) // 3, len(files) // 2
    middle = pa.array([b"before", *files[first:last], b"after"], kind or pa.binary()).slice(1, last - first)
    return pa.chunked_array([pa.array(files[:first], middle.type), middle, pa.array(files[last:], middle.type)])


COLUMNS: dict[str, Callable[[list[bytes]], Any]] = {
    "objects": lambda files: np.array([*files, None], object)[:-1],
    "list": lambda files: [memoryview(each) for each in files],
    "binary": _arrow,
    "large_binary": lambda files: _arrow(files, pa.large_binary()),
    "array": lambda files: pa.array(files, pa.binary()),
}


def _table(columns: dict[str, Any]) -> Any:
    return pa.table(columns) if isinstance(columns["bytes"], pa.Array | pa.ChunkedArray) else columns


def _made(batch: Any, name: str = "image") -> np.ndarray:
    return batch[name] if isinstance(batch, dict) else batch[name].combine_chunks().to_numpy_ndarray()


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("chain", CHAINS)
def test_encoded_images_become_what_the_transform_makes_of_them(chain: str, column: str) -> None:
    transform, keys = CHAINS[chain](), [f"name {n}" for n in range(len(FILES))]
    ours = Transform(transform, seed=7, epoch=2, key="name")
    given = {"name": keys, "bytes": COLUMNS[column](FILES), "label": np.arange(len(FILES))}
    made = ours(_table(given))
    want = _wanted(transform, _opened(FILES), keys, seed=7, epoch=2)
    got = _made(made)
    assert got.dtype == want.dtype and np.array_equal(got, want)
    assert list(made if isinstance(made, dict) else made.column_names) == ["name", "image", "label"]
    assert list(np.asarray(made["label"])) == list(range(len(FILES)))
    assert [row.where for row in ours.explain()] == (
        ["Python"] * 2 if chain == "Python" else ["Go"] * len(ours.explain())
    )
    assert ours.explain().codes == (("TRANSFORM_UNKNOWN",) if chain == "Python" else ())


@pytest.mark.parametrize("kind", ["one size", "several sizes", "grey", "one size, Arrow", "Fortran"])
@pytest.mark.parametrize("chain", ["train", "eval", "Python"])
def test_arrays_are_what_pillow_makes_images_of(chain: str, kind: str) -> None:
    transform = T.Compose([T.Resize((12, 9)), _first]) if chain == "Python" else CHAINS[chain]()
    if kind == "grey":
        transform = T.Compose([T.RandomCrop(15), T.ToTensor()])
    draw = np.random.default_rng(5)
    sizes = [(17 + n * ("several" in kind), 23) for n in range(9)]
    shape = () if kind == "grey" else (3,)
    arrays = [draw.integers(0, 256, (*size, *shape), dtype=np.uint8) for size in sizes]
    column: Any = np.stack(arrays) if "several" not in kind else np.array([*arrays, None], object)[:-1]
    if kind == "Fortran":
        column = np.asfortranarray(column)
    batch: Any = {"image": column, "id": np.arange(9)}
    if "Arrow" in kind:
        batch = pa.table({"image": pa.FixedShapeTensorArray.from_numpy_ndarray(column), "id": np.arange(9)})
    ours = Transform(transform, "image", seed=1, key="id")
    made = _made(ours(batch))
    want = _wanted(transform, list(map(Image.fromarray, arrays)), list(range(9)), seed=1)
    assert made.dtype == want.dtype and np.array_equal(made, want)
    assert ours.explain(channels=1 if kind == "grey" else 3).native == (chain != "Python" or kind == "grey")


def _first(image: Image.Image) -> Image.Image:
    return image


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_arrow_s_images_are_read_where_they_are(kind: Any) -> None:
    column = pa.array(FILES, kind).slice(2)
    images = images_of(column)
    begin, size = column.buffers()[2].address, column.buffers()[2].size
    assert all(begin <= data < begin + size for data in images.places["data"].tolist())
    assert [images.bytes(row).tobytes() for row in range(len(images))] == FILES[2:]


def test_paths_are_read(root: Path) -> None:
    paths = sorted(map(str, root.rglob("*.jpg")))
    transform = CHAINS["train"]()
    made = Transform(transform, "path", output="pixels", key="path")({"path": np.array(paths)})
    assert list(made) == ["pixels"]
    assert np.array_equal(
        made["pixels"], _wanted(transform, [Image.open(path).convert("RGB") for path in paths], paths, 0)
    )


def test_a_row_is_the_same_in_any_batch_of_any_process() -> None:
    transform = Transform(CHAINS["train"](), seed=3)
    whole = transform({"bytes": FILES})["image"]
    again = pickle.loads(pickle.dumps(transform))
    order = np.random.default_rng(0).permutation(len(FILES))
    for rows in np.array_split(order, [1, 3, 20]):
        assert np.array_equal(again({"bytes": [FILES[row] for row in rows]})["image"], whole[rows])
    assert not np.array_equal(Transform(CHAINS["train"](), seed=4)({"bytes": FILES})["image"], whole)
    assert not np.array_equal(Transform(CHAINS["train"](), seed=3, epoch=1)({"bytes": FILES})["image"], whole)


def test_with_indices_for_keys_it_is_a_loader_with_rng_sample(root: Path) -> None:
    dataset = ImageFolder(root, CHAINS["train"]())
    loader = DataLoader(dataset, batch_size=26, rng="sample", generator=torch.Generator().manual_seed(11))
    ours = Transform(CHAINS["train"](), "path", seed=11, key="index")
    batch = {"path": [path for path, _ in dataset.samples], "index": np.arange(26)}
    for epoch in range(2):
        ours.epoch = epoch
        (images, _), *_ = loader
        assert np.array_equal(ours(batch)["image"], images.numpy())


def test_what_is_changed_between_batches_counts() -> None:
    transform = T.Compose([T.Resize((8, 8)), T.RandomHorizontalFlip(0.0), T.ToTensor()])
    ours = Transform(transform, key="id")
    batch = {"bytes": FILES[:4], "id": range(4)}
    before = ours(batch)["image"]
    transform.transforms[1].p = 1.0
    assert np.array_equal(ours(batch)["image"], before[..., ::-1])


@pytest.mark.parametrize("chain", ["train", "Python"])
def test_the_process_goes_on_drawing_as_if_there_had_been_no_batch(chain: str) -> None:
    seeded.seed_all(9)
    want = torch.rand(()).item(), random.random(), np.random.rand()
    seeded.seed_all(9)
    Transform(CHAINS[chain]())({"bytes": FILES[:5]})
    assert (torch.rand(()).item(), random.random(), np.random.rand()) == want


def _cut(files: list[bytes]) -> list[bytes]:
    return [*files[:3], files[3][:150], *files[4:]]


@pytest.mark.parametrize("chain", ["eval", "Python"])
@pytest.mark.parametrize("column", ["list", "binary"])
def test_a_damaged_image_is_named_and_the_next_batch_is_whole(chain: str, column: str) -> None:
    ours, whole = Transform(CHAINS[chain](), key="id"), FILES[:8]
    names = pa.array([f"{n}.jpg" for n in range(8)]) if column == "binary" else [f"{n}.jpg" for n in range(8)]
    before = _made(ours(_table({"bytes": COLUMNS[column](whole), "id": np.arange(8)})))
    with pytest.raises(RuntimeError, match=r"row 3 of the batch, id 3, path '3.jpg': .*[Tt]runcated") as raised:
        ours(_table({"bytes": COLUMNS[column](_cut(whole)), "id": np.arange(8), "path": names}))
    assert isinstance(raised.value.__cause__, OSError)
    assert np.array_equal(_made(ours(_table({"bytes": COLUMNS[column](whole), "id": np.arange(8)}))), before)


@pytest.mark.parametrize(
    ("column", "error", "text"),
    [
        ([FILES[0], None], RuntimeError, "row 1 of the batch: there is no image"),
        (pa.array([None, FILES[0]]), RuntimeError, "row 0 of the batch: there is no image"),
        (["/nowhere.jpg"], RuntimeError, "row 0 of the batch, bytes '/nowhere.jpg': .*No such file"),
        ([FILES[0], b""], RuntimeError, "row 1 of the batch: cannot identify"),
        ([1, 2], TypeError, "a column of int has no images"),
        (np.zeros((2, 5)), TypeError, "a column of float64"),
        (np.array([b"a\0"]), TypeError, "a column of |S2"),
        (np.zeros((2, 5, 5, 4), np.uint8), TypeError, r"uint8\[5, 5, 4\] is no image"),
        (np.zeros((2, 0, 5, 3), np.uint8), TypeError, r"uint8\[0, 5, 3\] is no image"),
        ([np.zeros((5, 5), np.uint8), np.zeros((5, 5, 3), np.uint8)], TypeError, "of one channel and of three"),
        ([np.zeros((5, 5, 3))], TypeError, r"float64\[5, 5, 3\] is no image"),
        (pa.array([1, 2]), TypeError, "a column of int64"),
    ],
)
def test_what_is_no_image_is_an_error_that_says_so(column: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Transform(CHAINS["eval"]())(_table({"bytes": column}))


def test_what_the_transform_refuses_is_its_own_error() -> None:
    with pytest.raises(RuntimeError, match=r"row 1 of the batch: Required crop size .* larger than input"):
        Transform(T.Compose([T.RandomCrop(36), T.ToTensor()]))(
            {"bytes": [photos.save(photos.picture(size, size, 0), "PNG") for size in (40, 30)]}
        )


def test_rows_that_differ_in_shape_are_an_error() -> None:
    for chain in (T.Compose([T.Resize(20), T.ToTensor()]), T.Compose([T.Resize(20), _first, T.ToTensor()])):
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            Transform(chain)({"bytes": FILES})


def test_an_empty_batch_is_empty() -> None:
    ours = Transform(T.Compose([T.CenterCrop(7), T.ToTensor()]))
    made = ours({"bytes": np.empty(0, object)})["image"]
    assert made.shape == (0, 3, 7, 7) and made.dtype == np.float32
    of_arrow = ours(pa.table({"bytes": pa.array([], pa.binary())}))["image"]
    assert len(of_arrow) == 0 and of_arrow.type == pa.fixed_shape_tensor(pa.float32(), (3, 7, 7))


@pytest.mark.parametrize("make", ["numbers", "channels last", "flags"])
def test_whatever_a_transform_makes_is_a_column_of_arrow_too(make: str) -> None:
    chains: dict[str, Callable[[Image.Image], Any]] = {
        "numbers": lambda image: float(np.mean(image)),
        "channels last": lambda image: torch.from_numpy(np.array(image.resize((5, 4)))).permute(2, 0, 1),
        "flags": lambda image: np.asarray(image.resize((5, 4))) > 100,
    }
    ours = Transform(chains[make])
    want = ours({"bytes": FILES})["image"]
    column = ours(pa.table({"bytes": FILES}))["image"].combine_chunks()
    assert np.array_equal(np.array(getattr(column, "storage", column).to_pylist()).reshape(want.shape), want)
    assert len(column.type.shape if want.ndim > 1 else ()) == want.ndim - 1


def test_threads_may_share_one() -> None:
    ours = Transform(CHAINS["train"]())
    want = ours({"bytes": FILES})["image"]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: ours({"bytes": FILES})["image"], range(12)))
    assert all(np.array_equal(each, want) for each in made)


def test_bad_arguments_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="transform should be callable"):
        Transform(None)
    with pytest.raises(ValueError, match="num_workers"):
        Transform(T.ToTensor(), num_workers=0)
    ours = Transform(T.ToTensor(), key="id")
    with pytest.raises(KeyError, match="no column 'id'; it has 'bytes'"):
        ours({"bytes": FILES})
    with pytest.raises(ValueError, match="has a column 'image' already"):
        Transform(T.ToTensor())({"bytes": FILES, "image": FILES})
    with pytest.raises(TypeError, match="batch_format"):
        ours([FILES])
    with pytest.raises(TypeError, match="cannot be the key"):
        Transform(CHAINS["train"](), key="id")({"bytes": FILES[:1], "id": [1.5]})
    with pytest.raises(TypeError, match="bfloat16"):
        Transform(v2.Compose([v2.ToImage(), v2.ToDtype(torch.bfloat16)]))({"bytes": FILES[:1]})
