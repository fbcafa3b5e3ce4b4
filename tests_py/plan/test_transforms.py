"""plan/transforms/torchvision.py: a lowered pipeline, carried out by interpret.py, gives torchvision's bits and draws.

And whatever is not exactly what it seems is refused.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from interpret import run
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

from goloader import transforms as G
from goloader.plan import Lowered, Refusal
from goloader.plan.transforms.torchvision import lower

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def image(height: int = 37, width: int = 53, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def lowered(transform: Any) -> Lowered:
    result = lower(transform)
    assert isinstance(result, Lowered), result
    return result


def refused(transform: Any) -> str:
    result = lower(transform)
    assert isinstance(result, Refusal), result
    return str(result)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    one, other = (tensor.as_subclass(torch.Tensor).contiguous() for tensor in (one, other))
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and torch.equal(one.flatten().view(torch.uint8), other.flatten().view(torch.uint8))
    )


def check(transform: Any, *images: Image.Image, seeds: int = 3) -> Lowered:
    """The lowered transform gives torchvision's bits, and leaves the generator as torchvision does."""
    plan = lowered(transform)
    for picture in images or (image(), image(64, 20, 1), image(30, 31, 2)):
        for seed in range(seeds):
            torch.manual_seed(seed)
            want = transform(picture)
            after = torch.get_rng_state()
            torch.manual_seed(seed)
            got = run(plan, picture)
            assert torch.equal(torch.get_rng_state(), after)
            assert same_bits(got, want), (seed, picture.size)
    return plan


def v1_tail() -> list[Any]:
    return [T.ToTensor(), T.Normalize(MEAN, STD)]


def v2_tail() -> list[Any]:
    return [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]


TAILS = [v1_tail, v2_tail]
BOTH = pytest.mark.parametrize(("api", "tail"), [(T, v1_tail), (v2, v2_tail)], ids=["v1", "v2"])
FILTERS = [
    T.InterpolationMode(name)
    for name in ("nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos")
]


@BOTH
@pytest.mark.parametrize(
    ("size", "max_size"), [(24, None), ((24,), None), ([20, 30], None), ((30, 20), None), (24, 30), (90, 91)]
)
def test_resize_is_torchvisions(api: Any, tail: Any, size: Any, max_size: int | None) -> None:
    plan = check(api.Compose([api.Resize(size, max_size=max_size), *tail()]), seeds=1)
    assert not plan.random


def test_resize_to_the_longer_edge_alone() -> None:
    plan = check(v2.Compose([v2.Resize(None, max_size=25), *v2_tail()]), seeds=1)
    assert plan.steps[0].to_plan() == {"op": "resize", "size": None, "max_size": 25, "filter": "bilinear"}


@BOTH
@pytest.mark.parametrize("mode", [*FILTERS, *Image.Resampling.__members__.values()][:13], ids=str)
def test_every_filter_pillow_offers(api: Any, tail: Any, mode: Any) -> None:
    number = mode if isinstance(mode, T.InterpolationMode) or mode in range(6) else 0
    check(api.Compose([api.Resize((21, 19), interpolation=number), *tail()]), seeds=1)
    check(api.Compose([api.RandomResizedCrop(16, interpolation=number), *tail()]), seeds=1)


@pytest.mark.parametrize("mode", FILTERS, ids=str)
def test_v2_takes_names_of_filters(mode: T.InterpolationMode) -> None:
    check(v2.Compose([v2.Resize(20, interpolation=mode.value), *v2_tail()]), seeds=1)


@BOTH
@pytest.mark.parametrize("size", [16, (16,), [20, 31], (60, 10), (10, 70), 80, 37])
def test_center_crop_is_torchvisions(api: Any, tail: Any, size: Any) -> None:
    check(api.Compose([api.CenterCrop(size), *tail()]), seeds=1)


CROPS: list[dict[str, Any]] = [
    {"size": 16},
    {"size": (16,)},
    {"size": [20, 12], "padding": 4},
    {"size": (20, 12), "padding": [3, 5]},
    {"size": (20, 12), "padding": (1, 2, 3, 4), "fill": 200},
    {"size": (37, 53), "padding": 0},
    {"size": (70, 60), "pad_if_needed": True},
    {"size": (70, 60), "pad_if_needed": True, "padding": 3, "fill": (1, 2, 3)},
    {"size": (40, 36), "pad_if_needed": True, "padding_mode": "edge"},
    {"size": (40, 36), "pad_if_needed": True, "padding_mode": "symmetric", "padding": (2, 1)},
    {"size": (50, 40), "pad_if_needed": True, "padding_mode": "reflect"},
    {"size": 16, "padding": 2, "fill": 300},
    {"size": 16, "padding": 2, "fill": -5},
    {"size": 16, "padding": 2, "fill": 99.9},
    {"size": 16, "padding": 2, "fill": [17]},
    {"size": 16, "padding": 2, "fill": True},
    {"size": 16, "fill": "not looked at", "padding_mode": "nor this"},
]


@BOTH
@pytest.mark.parametrize("arguments", CROPS, ids=str)
def test_random_crop_is_torchvisions(api: Any, tail: Any, arguments: dict[str, Any]) -> None:
    if api is v2 and arguments.get("fill") == "not looked at":
        arguments = dict(arguments, fill=0)
    big = image(80, 90, 3) if arguments["size"] == (37, 53) else image()
    images = (image(), image(64, 20, 1), image(30, 31, 2)) if arguments.get("pad_if_needed") else (image(), big)
    plan = check(api.Compose([api.RandomCrop(**arguments), *tail()]), *images)
    assert plan.random


@BOTH
@pytest.mark.parametrize(
    "arguments",
    [
        {"size": 16},
        {"size": (16,)},
        {"size": (12, 25)},
        {"size": 16, "scale": (0.5, 0.5)},
        {"size": 16, "scale": (0.9, 1.0), "ratio": (3, 4)},
        {"size": 16, "scale": [0.001, 0.002], "ratio": [0.5, 2]},
        {"size": 16, "scale": (1, 1), "ratio": (5.0, 6.0)},
        {"size": 16, "scale": (1, 1), "ratio": (0.01, 0.02)},
    ],
    ids=str,
)
def test_random_resized_crop_is_torchvisions(api: Any, tail: Any, arguments: dict[str, Any]) -> None:
    check(api.Compose([api.RandomResizedCrop(**arguments), *tail()]), seeds=20)


@BOTH
@pytest.mark.parametrize("p", [0, 0.3, 0.5, 0.7, 1, 1.0])
def test_flips_are_torchvisions(api: Any, tail: Any, p: float) -> None:
    check(api.Compose([api.RandomHorizontalFlip(p), api.RandomVerticalFlip(p), *tail()]), seeds=20)


def test_v1_flips_take_any_number() -> None:
    check(T.Compose([T.RandomHorizontalFlip(-1), T.RandomVerticalFlip(7), *v1_tail()]))


def test_p_is_compared_as_a_float32() -> None:
    # torch.tensor([0.7]) < 0.7 is False: 0.7 is rounded first, and so the plan's p must be.
    assert not bool(torch.tensor([0.7]) < 0.7)
    assert lowered(T.Compose([T.RandomHorizontalFlip(0.7), T.ToTensor()])).steps[0].to_plan()["p"] == float(
        np.float32(0.7)
    )


PADS: list[dict[str, Any]] = [
    {"padding": 3},
    {"padding": [4]},
    {"padding": (2, 5), "fill": 7},
    {"padding": [1, 2, 3, 4], "fill": (10, 20, 30)},
    {"padding": 2, "fill": (9,)},
    {"padding": 2, "fill": [300, -4, 6.7]},
    {"padding": 4, "padding_mode": "edge"},
    {"padding": 4, "padding_mode": "reflect"},
    {"padding": (0, 70), "padding_mode": "reflect"},
    {"padding": 4, "padding_mode": "symmetric", "fill": (1, 2)},
    {"padding": 0},
]


@BOTH
@pytest.mark.parametrize("arguments", PADS, ids=str)
def test_pad_is_torchvisions(api: Any, tail: Any, arguments: dict[str, Any]) -> None:
    check(api.Compose([api.Pad(**arguments), *tail()]), seeds=1)


@pytest.mark.parametrize(
    "fill",
    [{"others": (1, 2, 3)}, {tv_tensors.Mask: 5, "others": 9}, {tv_tensors.Mask: 5}, None],
    ids=str,
)
def test_v2_fill_by_type(fill: Any) -> None:
    check(v2.Compose([v2.Pad(3, fill=fill), *v2_tail()]), seeds=1)
    check(v2.Compose([v2.RandomCrop(10, padding=3, fill=fill), *v2_tail()]), seeds=3)


@pytest.mark.parametrize("fill", [{Image.Image: 7, "others": 9}, {Image.Image: None}], ids=str)
def test_a_fill_for_images_of_pillow_is_not_for_those_of_files(fill: Any) -> None:
    assert "its fill depends on the type of an image" in refused(v2.Compose([v2.Pad(3, fill=fill), *v2_tail()]))


@BOTH
def test_grayscale_is_torchvisions(api: Any, tail: Any) -> None:
    check(api.Compose([api.Grayscale(3), *tail()]), seeds=1)
    one = [tail()[0], api.Normalize([0.4], [0.3])] if api is T else [*tail()[:2], api.Normalize([0.4], [0.3])]
    assert check(api.Compose([api.Grayscale(), *one]), seeds=1).channels == 1
    assert check(api.Compose([api.Grayscale(), api.Grayscale(3), *tail()]), seeds=1).channels == 3
    check(api.Compose([api.Grayscale(), api.Grayscale(), api.Pad(2, fill=300), api.Resize(20), *one]), seeds=1)
    check(api.Compose([api.Grayscale(), api.Pad(2, fill=(70,)), *one]), seeds=1)
    check(api.Compose([api.Grayscale(3), api.Pad(2, fill=(1, 2, 3)), *tail()]), seeds=1)


def test_fill_must_fit_the_channels() -> None:
    assert "3 values for 1 channels" in refused(T.Compose([T.Grayscale(), T.Pad(2, fill=(1, 2, 3)), T.ToTensor()]))
    assert "2 values for 3 channels" in refused(T.Compose([T.Pad(2, fill=(1, 2)), T.ToTensor()]))


def test_v2_normalize_spreads_a_grey_image_over_three_means() -> None:
    transform = v2.Compose([v2.Grayscale(), *v2_tail()])
    assert check(transform, seeds=1).channels == 3


# Tails


TAIL_CASES: list[Any] = [
    [T.ToTensor()],
    [T.PILToTensor()],
    [T.PILToTensor(), T.ConvertImageDtype(torch.float32)],
    [T.PILToTensor(), T.ConvertImageDtype(torch.float64), T.Normalize(MEAN, STD)],
    [T.PILToTensor(), T.ConvertImageDtype(torch.float16), T.Normalize(MEAN, STD)],
    [T.PILToTensor(), T.ConvertImageDtype(torch.bfloat16), T.Normalize(MEAN, STD)],
    [T.PILToTensor(), T.ConvertImageDtype(torch.int16)],
    [T.PILToTensor(), T.ConvertImageDtype(torch.int32)],
    [T.PILToTensor(), T.ConvertImageDtype(torch.int64)],
    [T.PILToTensor(), T.ConvertImageDtype(torch.int8)],
    [T.ToTensor(), T.ConvertImageDtype(torch.uint8)],
    [T.ToTensor(), T.Normalize(MEAN, STD, inplace=True)],
    [T.ToTensor(), T.Normalize(0.5, 0.25)],
    [T.ToTensor(), T.Normalize(torch.tensor(MEAN), np.array(STD))],
    [T.ToTensor(), T.Normalize([0.5], [0.25]), T.Normalize(MEAN, STD)],
    [T.ToTensor(), T.Normalize(MEAN, STD), torch.nn.Identity(), v2.Identity()],
    [T.ToTensor(), T.Normalize((1e30, -1e-30, 0), (1e-40, 3e38, 7))],
    [v2.ToImage()],
    [v2.PILToTensor()],
    [v2.ToImage(), v2.ToDtype(torch.float32)],
    [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)],
    [v2.ToImage(), v2.ToDtype(torch.float64, scale=True)],
    [v2.ToImage(), v2.ToDtype(torch.bfloat16, scale=True), v2.Normalize(MEAN, STD)],
    [v2.ToImage(), v2.ToDtype(torch.float16, scale=True), v2.Normalize(MEAN, STD)],
    [v2.ToImage(), v2.ToDtype(torch.int32, scale=True)],
    [v2.ToImage(), v2.ToDtype(torch.bool)],
    [v2.ToImage(), v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)],
    [v2.PILToTensor(), v2.ToDtype({torch.Tensor: torch.float32}, scale=True), v2.Normalize(MEAN, STD)],
    [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.ToPureTensor(), v2.Normalize(MEAN, STD, inplace=True)],
    [v2.PILToTensor(), v2.ToImage(), v2.ConvertImageDtype(torch.float32)],
    [v2.ToDtype(torch.float32, scale=True), v2.ToPureTensor(), v2.ToImage()],
]


@pytest.mark.parametrize("tail", TAIL_CASES, ids=lambda tail: ", ".join(map(repr, tail)))
def test_tails_are_torchs_bits_at_every_width(tail: list[Any]) -> None:
    # Widths around every vector length, so that each byte meets vector loops and what is left behind them.
    plan = lowered(T.Compose(tail))
    for width in (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257):
        for height in (1, 3):
            picture = image(height, width, width)
            want = T.Compose(tail)(picture)
            assert same_bits(run(plan, picture), want)
            assert plan.tensor == type(want).__name__
            assert same_bits(torch.stack([want]), run(plan, picture)[None])
    assert plan.contiguous == T.Compose(tail)(image()).is_contiguous()


def test_a_big_image_split_over_threads_has_the_same_bits() -> None:
    picture = image(301, 403)
    for tail in (v1_tail(), v2_tail()):
        assert same_bits(run(lowered(T.Compose(tail)), picture), T.Compose(tail)(picture))


def test_v2_to_tensor_is_known() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tail = v2.ToTensor()
    check(v2.Compose([v2.Resize(20), tail, v2.Normalize(MEAN, STD)]), seeds=1)


def test_batches_of_any_tail_are_contiguous_plain_tensors() -> None:
    for tail in TAIL_CASES:
        samples = [T.Compose(tail)(image()) for _ in range(2)]
        batch = torch.utils.data.default_collate(samples)
        assert type(batch) is torch.Tensor
        assert batch.is_contiguous()


# Shapes of the answer


def test_containers_nest() -> None:
    transform = T.Compose(
        [
            v2.Compose([T.Resize(32), torch.nn.Sequential(T.CenterCrop(24), v2.RandomHorizontalFlip())]),
            torch.nn.Identity(),
            T.Compose((T.ToTensor(), torch.nn.Sequential(T.Normalize(MEAN, STD)))),
            T.Compose([]),
            torch.nn.Sequential(),
        ]
    )
    plan = check(transform)
    assert [type(step) for step in plan.steps] == [G.Resize, G.CenterCrop, G.RandomHorizontalFlip]
    assert plan.size == (24, 24)


def test_a_bare_transform_is_enough() -> None:
    assert check(T.ToTensor(), seeds=1).steps == ()


def test_size_is_known_where_it_is_fixed() -> None:
    def size(*steps: Any) -> Any:
        return lowered(T.Compose([*steps, T.ToTensor()])).size

    assert size() is None
    assert size(T.Resize(20)) is None
    assert size(T.Resize(20), T.CenterCrop((7, 9))) == (7, 9)
    assert size(T.Resize((40, 20)), T.Resize(10)) == (20, 10)
    assert size(T.Resize((40, 20)), T.Resize(10, max_size=15)) == (15, 7)
    assert size(T.Resize((40, 20)), v2.Resize(None, max_size=10)) == (10, 5)
    assert size(T.RandomCrop((8, 9)), T.Pad((1, 2, 3, 4)), T.RandomVerticalFlip()) == (14, 13)
    assert size(T.Pad(3)) is None


@given(
    st.tuples(st.integers(1, 200), st.integers(1, 200)),
    st.one_of(st.integers(1, 300), st.tuples(st.integers(1, 300), st.integers(1, 300)), st.none()),
    st.one_of(st.none(), st.integers(1, 400)),
)
@settings(max_examples=200)
def test_sizes_are_computed_as_torchvision_computes_them(
    have: tuple[int, int], size: Any, max_size: int | None
) -> None:
    from torchvision.transforms.functional import _compute_resized_output_size

    try:
        step = G.Resize(size, max_size=max_size)
    except ValueError:
        return
    wanted = None if size is None else [size] if isinstance(size, int) else list(size)
    assert step.size_after(have) == tuple(_compute_resized_output_size(have, wanted, max_size, allow_size_none=True))


def test_lowering_again_gives_an_equal_answer_until_something_changes() -> None:
    transform = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), *v1_tail()])
    first = lowered(transform)
    assert lowered(transform) == first
    transform.transforms[-1].mean = (0.5, 0.5, 0.5)
    assert lowered(transform) != first
    transform.transforms[-1].mean = MEAN
    assert lowered(transform) == first
    transform.transforms[1].p = 0.25
    assert lowered(transform) != first


def test_v2_keeps_the_log_ratio_it_was_made_with() -> None:
    crop = v2.RandomResizedCrop(16, ratio=(0.5, 2.0))
    crop.ratio = (0.25, 4.0)
    check(v2.Compose([crop, *v2_tail()]), seeds=20)


def test_the_plan_of_a_step_is_the_schemas() -> None:
    steps = lowered(
        v2.Compose(
            [v2.RandomResizedCrop((8, 9)), v2.RandomCrop(4, padding=(1, 2, 3, 4)), v2.Grayscale(3), v2.ToImage()]
        )
    ).to_plan(5)
    log_ratio = torch.log(torch.tensor((3.0 / 4.0, 4.0 / 3.0))).tolist()
    assert steps["count"] == 5
    assert steps["transforms"] == [
        {
            "op": "random_resized_crop",
            "size": [8, 9],
            "scale": [0.08, 1.0],
            "ratio": [3.0 / 4.0, 4.0 / 3.0],
            "log_ratio": log_ratio,
            "filter": "bilinear",
            "api": "v2",
        },
        {
            "op": "random_crop",
            "size": [4, 4],
            "padding": [1, 2, 3, 4],
            "pad_if_needed": False,
            "fill": [0],
            "padding_mode": "constant",
            "api": "v2",
        },
        {"op": "grayscale", "channels": 3},
    ]


# Refusals


class MyResize(T.Resize):
    pass


class MyCompose(T.Compose):
    pass


def hooked(**hooks: bool) -> Any:
    module = T.Resize(20)
    for name in hooks:
        getattr(module, name)(lambda *args: None)
    return module


def with_attribute(transform: Any, name: str) -> Any:
    setattr(transform, name, lambda *args: None)
    return transform


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([T.ElasticTransform(), T.ToTensor()], "ElasticTransform is not known"),
        ([T.GaussianBlur(3), T.ToTensor()], "the size of its images is not known"),
        ([lambda x: x, T.ToTensor()], "function is not known"),
        ([T.Lambda(lambda x: x), T.ToTensor()], "Lambda is not known"),
        ([MyResize(3), T.ToTensor()], "MyResize is not known"),
        ([MyCompose([T.Resize(3)]), T.ToTensor()], "MyCompose is not known"),
        ([T.ToTensor(), T.Resize(3, antialias=False)], "a tensor that is not uint8"),
        ([T.ToTensor(), T.Resize(3), T.Resize(4)], "a tensor that is not uint8"),
        ([T.ToTensor(), T.Resize(3), T.Pad(1)], "or resized ones"),
        ([T.ToTensor(), T.Resize(3), T.ConvertImageDtype(torch.float64)], "not float32"),
        ([T.ToTensor(), T.Resize(3), T.ConvertImageDtype(torch.float32)], "behind a resize of numbers"),
        ([T.ToTensor(), T.ConvertImageDtype(torch.float64), T.CenterCrop(3)], "a tensor of float64"),
        ([T.ToTensor(), T.RandomCrop(3, padding=1, padding_mode="reflect")], "whose size is not known"),
        ([T.PILToTensor(), T.Resize(3, antialias=False)], "its arithmetic on tensors"),
        ([T.PILToTensor(), T.Resize((1, 3))], "its arithmetic on tensors"),
        ([T.PILToTensor(), T.Resize(3, max_size=9)], "its arithmetic on tensors"),
        ([v2.ToImage(), v2.ToDtype(torch.float32), v2.Pad(3, fill={tv_tensors.Image: 1})], "its fill depends"),
        ([T.PILToTensor(), T.Pad(3)], "its arithmetic on tensors"),
        ([v2.ToImage(), v2.Resize(3, v2.InterpolationMode.NEAREST)], "its arithmetic on tensors"),
        ([v2.ToImage(), v2.Resize(3, antialias=False)], "its arithmetic on tensors"),
        ([v2.ToImage(), v2.Resize((1, 1))], "its arithmetic on tensors"),
        ([v2.ToImage(), v2.RandomCrop(3, padding=1, padding_mode="reflect")], "its arithmetic on tensors"),
        ([v2.ToImage(), v2.RandomCrop(3, padding=1, fill=300)], "its arithmetic on tensors"),
        ([v2.ToImage(), v2.RandomCrop(3, padding=1, fill=(1, 2, 3))], "its arithmetic on tensors"),
        (
            [v2.ToImage(), v2.RandomCrop(3, padding=1, fill={tv_tensors.Image: 1})],
            "its arithmetic on tensors",
        ),
        ([v2.ToImage(), v2.Pad(3, fill=0.5)], "its arithmetic on tensors"),
        ([T.ToTensor(), T.RandomErasing(value="random")], "it draws noise for few pixels"),
        ([T.Resize(3)], "nothing makes a tensor"),
        ([T.Normalize(MEAN, STD), T.ToTensor()], "before the step that makes a tensor"),
        ([v2.ConvertImageDtype(torch.float32), v2.ToImage()], "before the step that makes a tensor"),
        ([T.ToTensor(), T.ToTensor()], "is not known"),
        ([T.PILToTensor(), T.Normalize(MEAN, STD)], "raises TypeError"),
        ([T.ToTensor(), T.Normalize(MEAN, (1, 0, 1))], "raises ValueError"),
        ([T.ToTensor(), T.Normalize((1, 2), (1, 2))], "raises RuntimeError"),
        ([T.ToTensor(), T.Normalize(torch.zeros(3, 1, 256), STD)], "raises RuntimeError"),
        ([T.ToTensor(), T.Normalize(torch.zeros(3, requires_grad=True), STD)], "has a gradient"),
        ([T.ToTensor(), T.ConvertImageDtype(torch.int32)], "raises RuntimeError"),
        ([v2.ToImage(), v2.ToDtype(torch.complex64)], "no torch.complex64"),
        ([v2.ToImage(), v2.ToDtype({tv_tensors.Mask: torch.int64})], "raises ValueError"),
        ([T.Resize(20, max_size=20), T.ToTensor()], "strictly greater"),
        ([T.Resize((20, 20), max_size=30), T.ToTensor()], "max_size"),
        ([T.Resize(0), T.ToTensor()], "between 1 and"),
        ([T.Resize(1 << 21), T.ToTensor()], "between 1 and"),
        ([T.Resize((3.5, 4)), T.ToTensor()], "integer"),
        ([T.Pad(-1), T.ToTensor()], "between 0 and"),
        ([T.Pad(1.5), T.ToTensor()], "padding is 1.5"),
        ([T.Pad(2, fill=np.int64(3)), T.ToTensor()], "fill is"),
        ([T.Pad(2, fill=float("nan")), T.ToTensor()], "NaN"),
        ([T.RandomCrop(3, padding=()), T.ToTensor()], "1, 2, or 4"),
        ([T.RandomCrop(3, padding=1, padding_mode="wrap"), T.ToTensor()], "padding_mode"),
        ([T.RandomResizedCrop(3, ratio=(2, float("inf"))), T.ToTensor()], "ratio"),
        ([T.RandomResizedCrop(3, ratio=(0.0, 1.0)), T.ToTensor()], "ratio"),
        ([T.RandomResizedCrop(3, scale=(-0.5, 1.0)), T.ToTensor()], "scale"),
        ([T.RandomHorizontalFlip(torch.tensor(0.5)), T.ToTensor()], "p is"),
        ([T.RandomHorizontalFlip(float("nan")), T.ToTensor()], "p is"),
        ([T.Grayscale(2), T.ToTensor()], "must be 1 or 3"),
        ([hooked(register_forward_hook=True), T.ToTensor()], "hooks"),
        ([hooked(register_forward_pre_hook=True), T.ToTensor()], "hooks"),
        ([with_attribute(T.Resize(3), "forward"), T.ToTensor()], "hides"),
        ([with_attribute(T.RandomCrop(3), "get_params"), T.ToTensor()], "hides"),
        ([with_attribute(v2.RandomCrop(3), "make_params"), T.ToTensor()], "hides"),
        ([with_attribute(v2.Resize(3), "transform"), T.ToTensor()], "hides"),
        ([T.RandomCrop(1, padding=1)] * 11 + [T.ToTensor()], "at most 32 passes"),
        ([T.CenterCrop(20_000), T.ToTensor()], "MAX_IMAGE_PIXELS"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_refused_says_why(steps: list[Any], why: str) -> None:
    assert why in refused(T.Compose(steps))


@pytest.mark.parametrize("ratio", [(2.0, 1.0), (1.0, 0.5)])
@pytest.mark.filterwarnings("ignore:Scale and ratio")
def test_bounds_the_wrong_way_round_are_refused(ratio: Any) -> None:
    refused(T.Compose([T.RandomResizedCrop(3, ratio=ratio), T.ToTensor()]))
    refused(T.Compose([T.RandomResizedCrop(3, scale=ratio), T.ToTensor()]))


def test_no_transform_is_refused() -> None:
    assert "PIL images" in refused(None)
    assert "is not known" in refused(T.ToTensor)


def test_compose_of_an_iterator_is_not_used_up() -> None:
    steps = iter([T.ToTensor()])
    assert "list_iterator" in refused(T.Compose(steps))
    assert next(steps) is not None


def test_global_hooks_are_refused() -> None:
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *args: None)
    try:
        assert "hooks" in refused(T.Compose([T.Resize(3), T.ToTensor()]))
    finally:
        handle.remove()
    lowered(T.Compose([T.Resize(3), T.ToTensor()]))


def test_compiled_modules_are_refused() -> None:
    module = T.Resize(3)
    module.compile()
    refused(T.Compose([module, T.ToTensor()]))


def test_patched_methods_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(T.RandomCrop, "get_params", staticmethod(lambda img, size: (0, 0, *size)))
    assert "was replaced" in refused(T.Compose([T.RandomCrop(3), T.ToTensor()]))
    monkeypatch.undo()
    monkeypatch.setattr(T.ToTensor, "__call__", lambda self, image: image)
    assert "was replaced" in refused(T.ToTensor())


def test_another_default_dtype_is_refused() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert "float64" in refused(T.ToTensor())
    finally:
        torch.set_default_dtype(torch.float32)


def test_gradients_are_refused_whatever_the_mode() -> None:
    with torch.no_grad():
        assert "gradient" in refused(T.Compose([T.ToTensor(), T.Normalize(torch.ones(3, requires_grad=True), STD)]))


def test_images_that_stay_images_in_a_batch_are_refused() -> None:
    transform = v2.Compose(v2_tail())
    lowered(transform)
    with tv_tensors.set_return_type("TVTensor"):
        assert "not a plain tensor" in refused(transform)
    lowered(transform)


def test_another_default_device_is_refused() -> None:
    with torch.device("meta"):
        assert "device" in refused(T.ToTensor())


def test_antialias_false_is_noted() -> None:
    assert lowered(T.Compose([T.Resize(3, antialias=False), T.ToTensor()])).notes


def test_tables_are_kept_but_not_for_ever() -> None:
    # Tables are kept by what they are made of: an epoch's check must not run the tail again.
    from goloader.plan.transforms import torchvision as module

    transform = T.Compose([T.RandomResizedCrop(16), *v1_tail()])
    lowered(transform)
    before = len(module._tables)
    for _ in range(20):
        lowered(transform)
    assert len(module._tables) == before
    for number in range(100):
        lowered(T.Compose([T.ToTensor(), T.Normalize(number, 1.0)]))
    assert len(module._tables) == module._TABLES_MAX
