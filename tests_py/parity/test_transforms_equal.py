"""Pipelines put together at random from everything that is lowered, v1 and v2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import pytest
import torch
import torchvision
import torchvision.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import nn
from torch.utils import data
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from twins import Program, check, loader_of

import goloader
from goloader import selfcheck

FILTERS = [T.InterpolationMode(name) for name in ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")]
EDGE = st.integers(8, 60)
PAIR = st.tuples(EDGE, EDGE)
BORDERS = st.one_of(st.integers(0, 9), st.tuples(*[st.integers(0, 9)] * 2), st.tuples(*[st.integers(0, 9)] * 4))
FILL = st.one_of(st.integers(0, 255), st.tuples(*[st.integers(0, 255)] * 3))
MODE = st.sampled_from(["constant", "edge", "reflect", "symmetric"])
PROBABILITY = st.sampled_from([0.0, 0.3, 0.5, 1.0])


@st.composite
def resize(draw: st.DrawFn, api: Any) -> Any:
    size = draw(st.one_of(EDGE, PAIR.map(list)))
    largest = draw(st.sampled_from([None, 70])) if isinstance(size, int) else None
    return api.Resize(size, draw(st.sampled_from(FILTERS)), max_size=largest)


@st.composite
def resized_crop(draw: st.DrawFn, api: Any, size: Any = None) -> Any:
    scale = draw(st.sampled_from([(0.08, 1.0), (0.5, 1.0), (0.001, 0.01), (1.0, 3.0), (0.3, 0.3)]))
    ratio = draw(st.sampled_from([(3 / 4, 4 / 3), (0.1, 10.0), (1.0, 1.0), (5.0, 9.0)]))
    return api.RandomResizedCrop(size or draw(st.one_of(EDGE, PAIR)), scale, ratio, draw(st.sampled_from(FILTERS)))


@st.composite
def crop(draw: st.DrawFn, api: Any, size: Any = None) -> Any:
    padding = draw(st.one_of(st.none(), BORDERS.map(lambda b: list(b) if isinstance(b, tuple) else b)))
    mode = draw(MODE) if padding is not None and size is None else "constant"
    return api.RandomCrop(size or draw(st.one_of(EDGE, PAIR)), padding, True, draw(FILL), mode)


def geometry(api: Any) -> st.SearchStrategy[Any]:
    return st.one_of(
        resize(api),
        resized_crop(api),
        crop(api),
        st.builds(api.CenterCrop, st.one_of(EDGE, PAIR)),
        st.builds(api.RandomHorizontalFlip, PROBABILITY),
        st.builds(api.RandomVerticalFlip, PROBABILITY),
        st.builds(api.Pad, BORDERS.map(lambda b: list(b) if isinstance(b, tuple) else b), FILL),
        st.just(api.Grayscale(3)),
        st.just(nn.Identity()),
        *(random_sizes(st.sampled_from(FILTERS), FILL) if api is v2 else ()),
    )


def random_sizes(filters: Any, fill: Any, tensor: bool = False) -> list[Any]:
    """v2's transforms that draw the size that they make of an image."""
    largest = st.none() if tensor else st.none() | EDGE
    resized = [
        st.builds(lambda low, more, mode: v2.RandomResize(low, low + more, mode), EDGE, st.integers(1, 20), filters),
        st.builds(v2.RandomShortestSize, st.lists(EDGE, min_size=1, max_size=3), largest, filters),
    ]
    if not tensor:  # some are too small for any image
        ranges = st.sampled_from([(0.1, 2.0), (0.7, 0.7), (0.0, 0.3), (1, 1.5)])
        resized.append(st.builds(v2.ScaleJitter, PAIR, ranges, filters))
    sides = st.sampled_from([(1.0, 2.0), (1, 1), (1.3, 1.31)])
    return [*resized, st.builds(v2.RandomZoomOut, fill, sides, PROBABILITY)]


@st.composite
def pipelines(draw: st.DrawFn) -> Any:
    api = draw(st.sampled_from([T, v2]))
    steps = draw(st.lists(geometry(api), max_size=3))
    # Samples of one batch need one size.
    last = draw(
        st.one_of(
            resized_crop(api, (24, 29)),
            crop(api, (24, 29)),
            st.just(api.CenterCrop((24, 29))),
            st.just(api.Resize((24, 29))),
        )
    )
    normalize = [api.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))]
    if api is T:
        tail = draw(
            st.sampled_from(
                [
                    [T.ToTensor(), *normalize],
                    [T.PILToTensor()],
                    [T.PILToTensor(), T.ConvertImageDtype(torch.float32), *normalize],
                ]
            )
        )
    else:
        dtype = draw(st.sampled_from([torch.float32, torch.float16, torch.float64, torch.bfloat16]))
        tail = draw(st.sampled_from([[v2.ToImage(), v2.ToDtype(dtype, scale=True), *normalize], [v2.PILToTensor()]]))
    return api.Compose([*steps, last, *tail])


@pytest.mark.slow  # many seconds
@given(pipeline=pipelines(), num_workers=st.sampled_from([0, 0, 2]), seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_any_pipeline(kinds: Path, pipeline: Any, num_workers: int, seed: int) -> None:
    files = ImageFolder(str(kinds), pipeline)
    arguments = loader_of(files, batch_size=11, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=1, draw=True, seed=seed))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_drawn_size_without_pixels_is_pillows_error(kinds: Path, workers: int) -> None:
    pipeline = v2.Compose([v2.ScaleJitter((8, 31), (0.1, 2.0)), v2.CenterCrop(4), v2.ToImage()])
    arguments = loader_of(ImageFolder(str(kinds), pipeline), batch_size=4, shuffle=True, num_workers=workers)
    events = check(Program(arguments, epochs=2, draw=True))
    assert any("must be > 0" in str(event) for event in events)


TENSOR_FILTERS = [T.InterpolationMode.BILINEAR, T.InterpolationMode.BICUBIC]


@st.composite
def tensor_pipelines(draw: st.DrawFn) -> Any:
    """v2's transforms of uint8 tensors."""
    filters = st.sampled_from(TENSOR_FILTERS)
    resized = st.builds(v2.RandomResizedCrop, st.one_of(EDGE, PAIR), interpolation=filters)
    borders = BORDERS.map(lambda b: list(b) if isinstance(b, tuple) else b)
    number, modes = st.none() | st.integers(0, 255), st.sampled_from(["constant", "edge"])
    geometry = st.one_of(
        st.builds(v2.Resize, st.one_of(EDGE, PAIR.map(list)), filters),
        resized,
        st.builds(v2.CenterCrop, st.one_of(EDGE, PAIR)),
        st.builds(v2.RandomCrop, PAIR, st.none() | borders, st.just(True), number, modes),
        st.builds(v2.Pad, borders, number, modes),
        st.builds(v2.RandomRotation, st.integers(0, 200), st.sampled_from(["nearest", "bilinear"]), fill=number),
        st.builds(v2.RandomHorizontalFlip, PROBABILITY),
        st.builds(v2.RandomVerticalFlip, PROBABILITY),
        *random_sizes(filters, number.map(lambda each: each or 0), tensor=True),
    )
    steps = draw(st.lists(geometry, max_size=3))
    last = draw(
        st.sampled_from(
            [
                v2.RandomResizedCrop((24, 29), (0.08, 1.0)),
                v2.RandomResizedCrop((3, 2), interpolation=T.InterpolationMode.BICUBIC),
                v2.CenterCrop((24, 29)),
                v2.Compose([v2.Resize((30, 31)), v2.RandomCrop((24, 29))]),
            ]
        )
    )
    maker = draw(st.sampled_from([v2.ToImage(), v2.PILToTensor(), T.PILToTensor()]))
    float_tail = [v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))]
    return v2.Compose([maker, *steps, last, *draw(st.sampled_from([[], [v2.ToPureTensor()], float_tail]))])


@pytest.mark.slow
@given(pipeline=tensor_pipelines(), num_workers=st.sampled_from([0, 0, 2]), seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_any_pipeline_of_tensors(kinds: Path, pipeline: Any, num_workers: int, seed: int) -> None:
    files = ImageFolder(str(kinds), pipeline)
    arguments = loader_of(files, batch_size=11, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=1, draw=True, seed=seed))


@pytest.mark.parametrize("api", [T, v2])
@pytest.mark.parametrize("mode", FILTERS)
def test_each_filter_up_and_down(kinds: Path, api: Any, mode: Any) -> None:
    steps = [api.Resize((90, 11), mode), api.RandomResizedCrop((13, 64), interpolation=mode), T.PILToTensor()]
    files = ImageFolder(str(kinds), api.Compose(steps))
    check(Program(loader_of(files, batch_size=11), epochs=1, draw=True))


@st.composite
def moved_tensors(draw: st.DrawFn) -> Any:
    """Flips and crops among what makes a tensor of an image and what is done to that."""
    api = draw(st.sampled_from([T, v2]))
    tail = [T.PILToTensor(), api.ConvertImageDtype(torch.float32), api.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))]
    move = st.one_of(
        st.builds(api.RandomHorizontalFlip, PROBABILITY),
        st.builds(api.RandomVerticalFlip, PROBABILITY),
        st.builds(api.RandomCrop, st.tuples(st.integers(20, 24), st.integers(20, 29))),
    )
    mixed = [api.Resize((24, 29))]
    for each in tail:
        mixed += [each, *draw(st.lists(move, max_size=2))]
    return api.Compose([*mixed, api.RandomCrop(20)])


@given(pipeline=moved_tensors(), num_workers=st.sampled_from([0, 0, 2]), seed=st.integers(0, 2**32))
@settings(max_examples=25)
@pytest.mark.slow
def test_moves_of_any_tensor(kinds: Path, pipeline: Any, num_workers: int, seed: int) -> None:
    files = ImageFolder(str(kinds), pipeline)
    assert goloader.DataLoader(files, trace=False).explain().native
    arguments = loader_of(files, batch_size=11, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=1, draw=True, seed=seed))


needs_sums = pytest.mark.skipif(not selfcheck.holds("torch.resize.float"), reason="torch adds in another order here")
NORMALIZE = T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))


@st.composite
def resized_numbers(draw: st.DrawFn) -> Any:
    """A resize of a float tensor, with what may come before it and behind."""
    api = draw(st.sampled_from([T, v2]))
    floats = [[T.ToTensor()], [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]]
    steps = [*draw(st.lists(geometry(api), max_size=1)), *draw(st.sampled_from(floats))]
    before, behind = draw(st.sampled_from([([], [NORMALIZE]), ([NORMALIZE], []), ([NORMALIZE], [NORMALIZE]), ([], [])]))
    moves = [api.RandomHorizontalFlip(), api.RandomVerticalFlip(), nn.Identity()]
    moved = st.lists(st.sampled_from(moves), max_size=2)
    size = draw(st.one_of(PAIR.map(list), EDGE, st.tuples(st.integers(2, 4), st.integers(2, 300)).map(list)))
    least = min(size) if isinstance(size, list) else size
    cut = draw(st.sampled_from([[], [api.CenterCrop(least), api.RandomCrop((least, 2))], [api.RandomCrop(2)]]))
    resize = draw(st.sampled_from([api.Resize(size), api.RandomResizedCrop(size, (0.01, 1.0), (0.1, 10.0))]))
    return api.Compose([*steps, *before, *draw(moved), resize, *cut, *draw(moved), *behind])


@st.composite
def resized_bytes(draw: st.DrawFn) -> Any:
    """Resizes of a uint8 tensor by v1, with what may come before them and behind."""
    size = st.one_of(PAIR, EDGE, st.tuples(st.integers(2, 4), st.integers(2, 300))).map(
        lambda each: list(each) if isinstance(each, tuple) else each
    )
    resize = st.one_of(
        st.builds(T.Resize, size), st.builds(T.RandomResizedCrop, size, st.just((0.01, 1.0)), st.just((0.1, 10.0)))
    )
    moved = st.lists(st.sampled_from([T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.RandomCrop(2)]), max_size=1)
    tail = draw(st.sampled_from([[], [T.ConvertImageDtype(torch.float32), NORMALIZE]]))
    made = draw(st.sampled_from([T.PILToTensor(), v2.PILToTensor()]))
    return T.Compose([made, *draw(moved), draw(resize), *draw(moved), draw(resize), T.Resize((24, 29)), *tail])


@pytest.mark.slow
@needs_sums
@given(pipeline=resized_numbers(), num_workers=st.sampled_from([0, 0, 3]), seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_any_resize_of_numbers(kinds: Path, pipeline: Any, num_workers: int, seed: int) -> None:
    files = ImageFolder(str(kinds), T.Compose([T.CenterCrop((70, 81)), pipeline]))
    check(
        Program(loader_of(files, batch_size=11, shuffle=True, num_workers=num_workers), epochs=1, draw=True, seed=seed)
    )


@pytest.mark.slow
@needs_sums
@given(pipeline=resized_bytes(), num_workers=st.sampled_from([0, 0, 3]), seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_any_resize_of_bytes_by_v1(kinds: Path, pipeline: Any, num_workers: int, seed: int) -> None:
    files = ImageFolder(str(kinds), pipeline)
    arguments = loader_of(files, batch_size=11, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=1, draw=True, seed=seed))


@needs_sums
@pytest.mark.parametrize("num_workers", [1, 0, 3])
@pytest.mark.parametrize("size", [(40, 50), (7, 301), 64])
def test_a_resize_behind_to_tensor(kinds: Path, size: Any, num_workers: int) -> None:
    cut = [T.CenterCrop(60)] if size == 64 else []
    files = ImageFolder(str(kinds), T.Compose([T.ToTensor(), T.Resize(size), *cut, NORMALIZE]))
    check(Program(loader_of(files, batch_size=1 if size == 64 else 5, num_workers=num_workers), epochs=1, draw=True))


class Own(data.Dataset[Any]):
    """Images of OpenCV's, one of which is resized as a tensor, and one only sometimes."""

    def __init__(self, root: Path, transform: Any) -> None:
        self.files, self.transform = sorted(str(path) for path in root.glob("*/*.png")), transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = cv2.imread(self.files[index])
        grey = Image.open(self.files[index]).convert("L")
        return self.transform(image), T.Resize((30, 31))(T.functional.to_tensor(grey)), index


class Tutorial(data.Dataset[Any]):
    """As PyTorch's tutorial has it: images of torchvision's, whose bytes v1 resizes."""

    def __init__(self, root: Path, transform: Any = None) -> None:
        self.files, self.transform = sorted(str(path) for path in root.glob("*/*.png")), transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = torchvision.io.read_image(self.files[index], torchvision.io.ImageReadMode.RGB)
        small = T.functional.resize(image, [20, 31])
        return (image if self.transform is None else self.transform(image)), small / 255, index


@needs_sums
@pytest.mark.parametrize("num_workers", [1, 0, 3])
def test_a_resize_of_bytes_in_a_class(kinds: Path, num_workers: int) -> None:
    files = Tutorial(kinds, T.Compose([T.Resize((33, 20)), T.RandomHorizontalFlip(), T.ConvertImageDtype(torch.float)]))
    check(Program(loader_of(files, batch_size=5, shuffle=True, num_workers=num_workers), draw=True))


@needs_sums
@pytest.mark.parametrize("num_workers", [1, 0, 3])
def test_a_resize_of_numbers_in_a_class(kinds: Path, num_workers: int) -> None:
    files = Own(kinds, T.Compose([T.ToTensor(), T.Resize((33, 20)), T.RandomHorizontalFlip(), NORMALIZE]))
    check(Program(loader_of(files, batch_size=5, shuffle=True, num_workers=num_workers), draw=True))


@pytest.mark.parametrize(
    "steps",
    [
        [T.Resize((9, 8)), T.Resize((30, 20))],
        [T.Resize((1, 8))],
        [T.Resize((9, 8), T.InterpolationMode.BICUBIC)],
        [T.Resize((9, 8), antialias=False)],
        [T.Resize((9, 8)), T.CenterCrop(9)],
        [T.Resize((9, 8)), T.RandomErasing(1.0)],
        [T.Resize((9, 8)), NORMALIZE, NORMALIZE],
        [T.Resize((9, 8)), T.ConvertImageDtype(torch.float64)],
    ],
    ids=str,
)
def test_other_resizes_of_numbers_stay_with_torch(kinds: Path, steps: list[Any]) -> None:
    files = ImageFolder(str(kinds), T.Compose([T.ToTensor(), *steps]))
    check(Program(loader_of(files, batch_size=5), epochs=1), native=False)
