"""plan/probe.py: the rules of the installed Pillow and torch, and a refusal where none fits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import PIL
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from goloader.plan import Refusal, probe


@pytest.fixture(autouse=True)
def fresh() -> Any:
    probe.world.cache_clear()
    yield
    probe.world.cache_clear()


def test_the_installed_world_is_known() -> None:
    world = probe.world()
    assert isinstance(world, probe.World)
    assert world.pass_order == probe.pass_order_of(PIL.__version__)
    assert not world.correctly_rounded_exp
    assert probe.world() is world


def test_without_torch_only_pillow_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_probe_torch", lambda: pytest.fail("torch was asked"))
    assert probe.world(torch=False) == probe.World(probe.pass_order_of(PIL.__version__), True, True)


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("9.5.0", "horizontal_first"),
        ("10.4.0", "horizontal_first"),
        ("12.2.0", "horizontal_first"),
        ("12.3.0", "tall_first"),
        ("12.4.1", "tall_first"),
        ("13.0.0", "shrink_first"),
        ("13.1.0.dev0", "shrink_first"),
        ("14", "shrink_first"),
    ],
)
def test_orders_by_version(version: str, order: str) -> None:
    assert probe.pass_order_of(version) == order


@given(
    st.tuples(st.integers(1, 30), st.integers(1, 40)),
    st.tuples(st.integers(1, 30), st.integers(1, 40)),
    st.sampled_from([1, 2, 3, 4, 5]),
    st.integers(0, 1000),
)
@example(size=(17, 23), out=(15, 17), number=5, seed=178)  # tells 0.54 from 0.54f
@settings(deadline=None, max_examples=200)
def test_the_reference_resize_is_pillows(size: tuple[int, int], out: tuple[int, int], number: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, size[::-1], dtype=np.uint8)
    vertical = probe.vertical_first(probe.pass_order_of(PIL.__version__), size, out)
    got = probe.resized(pixels, out, number, vertical=vertical)
    assert np.array_equal(got, np.asarray(Image.fromarray(pixels).resize(out, Image.Resampling(number))))


@pytest.mark.parametrize("order", ["horizontal_first", "tall_first", "shrink_first"])
def test_the_resizes_tell_the_orders_apart(order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Pillow with any of the three orders (ours, standing in) is known by it and refused under another's name."""

    class Resizer:
        def __init__(self, pixels: Any) -> None:
            self.pixels = pixels

        def resize(self, out: tuple[int, int], number: int) -> Any:
            size = self.pixels.shape[::-1]
            return probe.resized(self.pixels, out, int(number), vertical=probe.vertical_first(order, size, out))

    monkeypatch.setattr(Image, "fromarray", Resizer)
    for claimed, version in (("horizontal_first", "12.2"), ("tall_first", "12.3"), ("shrink_first", "13.0")):
        probe.world.cache_clear()
        monkeypatch.setattr(PIL, "__version__", version)
        world = probe.world()
        if claimed == order:
            assert isinstance(world, probe.World)
            assert world.pass_order == order
        else:
            assert isinstance(world, Refusal)
            assert version in world.what


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_another_arithmetic_of_any_filter_is_refused(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Image.Image.resize

    def other(self: Any, out: Any, filter: Any) -> Any:
        swapped = {1: 3, 2: 4, 3: 1, 4: 2, 5: 2}
        return original(self, out, Image.Resampling(swapped[number]) if filter == number else filter)

    monkeypatch.setattr(Image.Image, "resize", other)
    assert isinstance(probe.world(), Refusal)


def test_both_uniform_rules_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws used must round differently under the two rules, and none may be a tie in float64."""
    low, high = np.float32(0.08), np.float32(1.0)
    width = np.float32(high - low)
    differ = 0
    for word in probe._WORDS:
        share = Fraction(word & 0xFFFFFF, 1 << 24)
        exact = share * Fraction(float(width)) + Fraction(float(low))
        fused = np.float32(float(exact))
        # Rounding to float64 first changed nothing.
        for neighbour in (np.nextafter(fused, np.float32(-9)), np.nextafter(fused, np.float32(9))):
            assert abs(Fraction(float(fused)) - exact) < abs(Fraction(float(neighbour)) - exact)
        differ += fused != np.float32(np.float32(share) * width) + low
    assert differ

    expected = {
        True: lambda share: np.float32(np.float64(share) * np.float64(width) + np.float64(low)),
        False: lambda share: np.float32(share * width) + low,
    }
    for fma, rule in expected.items():

        def uniform_(self: Any, a: float, b: float, *, generator: Any, rule: Any = rule) -> Any:
            return torch.tensor(rule(torch.rand(1, generator=generator).numpy()))

        monkeypatch.setattr(torch.Tensor, "uniform_", uniform_)
        probe.world.cache_clear()
        world = probe.world()
        assert isinstance(world, probe.World)
        assert world.fma is fma

    monkeypatch.setattr(torch.Tensor, "uniform_", lambda self, a, b, generator: torch.rand(1))
    probe.world.cache_clear()
    assert "uniform_" in str(probe.world())


@pytest.mark.parametrize("name", ["rand", "randint"])
def test_other_draws_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = getattr(torch, name)
    monkeypatch.setattr(torch, name, lambda *args, **kwargs: 1 - original(*args, **kwargs))
    assert f"what {name} draws" in str(probe.world())


def test_the_probe_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    probe.world()
    assert torch.equal(torch.get_rng_state(), before)


def test_max_pixels_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe.max_pixels() == Image.MAX_IMAGE_PIXELS == probe._MAX_PIXELS
    for value in (1000, None):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", value)
        assert probe.max_pixels() == value


def test_another_opener_of_jpegs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Image.preinit()
    assert probe.check_pillow_plugins() is None
    monkeypatch.setitem(Image.OPEN, "JPEG", (test_max_pixels_is_read_each_time, None))
    assert "registered to open JPEG" in str(probe.check_pillow_plugins())
