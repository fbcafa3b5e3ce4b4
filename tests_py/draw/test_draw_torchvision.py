"""core/draw against torchvision: for one generator state the same work on the same image, and the same state after.

The truth is torchvision's own transforms, drawing from torch's own generator. They run on images that only note what is
done to them (any size, thousands of draws), and on small images of noise, where a recipe is played with Pillow and
numpy and the pixels are compared. Recipes come from the Go program in tests_go/draw/drawdump.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as v1
import torchvision.transforms.v2 as v2
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms import InterpolationMode

ROOT = Path(__file__).resolve().parents[2]
CROP, RESIZE, FLIP_H, FLIP_V, PAD, GREY = range(6)  # core/recipe.Kind
PAD_MODES = ("constant", "edge", "reflect", "symmetric")  # core/recipe.PadMode
FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by Pillow's numbers

Size = tuple[int, int]  # width, height


class Drawdump:
    """The Go program, as long as a test module lives."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0

    def _send(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        assert reply, f"drawdump ended with {self.process.wait()}"
        answer: dict[str, Any] = json.loads(reply)
        return answer

    def draw(self, plan: dict[str, Any], state: torch.Tensor, sizes: Sequence[Size]) -> dict[str, Any]:
        reply = self._send({"plan": plan, "state": _encoded(state), "sizes": sizes})
        while "need_exp" in reply:
            self.asked += 1
            reply = self._send({"exp": torch.exp(torch.tensor([reply["need_exp"]], dtype=torch.float32)).item()})
        return reply

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(60) == 0


@pytest.fixture(scope="module")
def drawdump(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drawdump]:
    program = tmp_path_factory.mktemp("drawdump") / "drawdump"
    subprocess.run(["go", "build", "-trimpath", "-o", str(program), "./tests_go/draw/drawdump"], cwd=ROOT, check=True)
    running = Drawdump(program)
    yield running
    running.close()


def _encoded(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _fused() -> bool:
    """Whether this torch fuses uniform_'s product and sum: some draw tells."""
    generator = torch.Generator().manual_seed(0)
    r = torch.rand(1000, generator=generator).numpy()
    generator.manual_seed(0)
    got = torch.cat([torch.empty(1).uniform_(0.08, 1.0, generator=generator) for _ in range(1000)]).numpy()
    lo, width = np.float32(0.08), np.float32(1.0) - np.float32(0.08)
    fused = (r.astype(np.float64) * np.float64(width) + np.float64(lo)).astype(np.float32)
    plain = r * width + lo
    assert (got == fused).all() != (got == plain).all()
    return bool((got == fused).all())


FUSED = _fused()


@dataclass
class Case:
    """The same transforms twice: as torchvision's objects and as a plan's."""

    objects: list[Any] = field(default_factory=list)
    plan: list[dict[str, Any]] = field(default_factory=list)
    channels: int = 3

    def add(self, name: str, api: str, /, **arguments: Any) -> None:
        cls = getattr(v1 if api == "v1" else v2, name)
        step: dict[str, Any] = {"op": "".join("_" + c.lower() if c.isupper() else c for c in name)[1:]} | arguments
        if "filter" in arguments:
            arguments["interpolation"] = InterpolationMode(arguments.pop("filter"))
        if "fill" in arguments:  # a list of one stands for a number
            arguments["fill"] = tuple(step["fill"]) if len(step["fill"]) > 1 else step["fill"][0]
        if name == "Grayscale":
            arguments["num_output_channels"] = arguments.pop("channels")
            self.channels = step["channels"]
        if name == "Resize" and step["size"] is not None and len(step["size"]) == 1:
            arguments["size"] = step["size"][0]
        made = cls(**arguments)
        if name in ("RandomCrop", "RandomResizedCrop"):
            step["api"] = api
        if name == "RandomResizedCrop":
            step["log_ratio"] = torch.log(torch.tensor(made.ratio)).tolist()
        self.objects.append(made)
        self.plan.append(step)

    def to_plan(self, count: int) -> dict[str, Any]:
        table = base64.b64encode(bytes(range(256)) * self.channels).decode()
        return {
            "version": 1,
            "source": {"kind": "folder"},
            "parts": [{"count": count, "transforms": self.plan, "table": table}],
            "output": {"dtype": "uint8", "channels": self.channels},
            "rng": {"fma": FUSED, "correctly_rounded_exp": False},
            "pillow": {"pass_order": "shrink_first", "max_pixels": None, "decoders": []},
            "seek_index": None,
        }


class Noted(Image.Image):
    """An RGB image without pixels that notes what is done to it, in a recipe's words."""

    def __init__(self, size: Size, steps: list[tuple[Any, ...]]) -> None:
        super().__init__()
        self._size, self._mode, self.steps = size, "RGB", steps

    def _then(self, size: Size, *step: Any) -> Noted:
        return Noted(size, [*self.steps, step])

    def crop(self, box: Any = None) -> Noted:
        left, top, right, bottom = box
        if tuple(box) == (0, 0, *self.size):
            return self
        if right == left or bottom == top:  # black once it is resized: one pixel of a black border says the same
            return self._then(self.size, PAD)._then((1, 1), CROP, self.width, 0, 1, 1)
        return self._then((right - left, bottom - top), CROP, left, top, right - left, bottom - top)

    def resize(self, size: Any, resample: Any = None, *_: Any, **__: Any) -> Noted:
        if min(size) <= 0:
            raise ValueError("height and width must be > 0")
        return self._then(tuple(size), RESIZE, int(resample), *size)

    def transpose(self, method: Any) -> Noted:
        return self._then(self.size, FLIP_H if method == Image.Transpose.FLIP_LEFT_RIGHT else FLIP_V)


def noted(step: dict[str, Any]) -> tuple[Any, ...]:
    """A Go step as Noted has it."""
    match step["Kind"]:
        case 0:
            return CROP, step["Left"], step["Top"], step["Width"], step["Height"]
        case 1:
            return RESIZE, step["Filter"], step["Width"], step["Height"]
        case kind:
            return (kind,)


def played(steps: Sequence[dict[str, Any]], image: Image.Image) -> Image.Image:
    """A recipe carried out by Pillow and numpy."""
    for s in steps:
        match s["Kind"]:
            case 0:
                box = (s["Left"], s["Top"], s["Left"] + s["Width"], s["Top"] + s["Height"])
                assert 0 <= box[0] < box[2] <= image.width and 0 <= box[1] < box[3] <= image.height
                image = image.crop(box)
            case 1:
                image = image.resize((s["Width"], s["Height"]), s["Filter"])
            case 2:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            case 3:
                image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
            case 4:
                image = _padded(s, image)
            case 5:
                grey = image.convert("L")
                image = grey if s["Channels"] == 1 else Image.merge("RGB", [grey] * 3)
    return image


def _padded(s: dict[str, Any], image: Image.Image) -> Image.Image:
    pixels = np.asarray(image)
    sides = ((s["Top"], s["Bottom"]), (s["Left"], s["Right"]))
    planes = [pixels] if pixels.ndim == 2 else list(pixels.transpose(2, 0, 1))
    mode: Any = PAD_MODES[s["Mode"]]
    if mode == "constant":
        out = [np.pad(plane, sides, mode, constant_values=s["Fill"][c]) for c, plane in enumerate(planes)]
    else:
        out = [np.pad(plane, sides, mode) for plane in planes]
    return Image.fromarray(out[0] if len(out) == 1 else np.dstack(out))


def noise(size: Size) -> Image.Image:
    width, height = size
    return Image.fromarray(np.random.default_rng(width << 16 | height).integers(0, 256, (height, width, 3), np.uint8))


def apply(objects: Sequence[Any], image: Any) -> Any:
    """torchvision's result, or the words with which it refuses."""
    try:
        for each in objects:
            image = each(image)
    except ValueError as refusal:
        return str(refusal)
    return image


# Strategies


APIS = st.sampled_from(("v1", "v2"))
FILTER = st.sampled_from(FILTERS)
EDGE = st.integers(1, 40)
PROBABILITY = st.one_of(st.just(0.5), st.just(0), st.just(1), st.floats(0, 1))


def _interval(lo: float, hi: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(lo, hi), min_size=2, max_size=2).map(sorted)


@st.composite
def fills(draw: st.DrawFn, channels: int) -> list[int]:
    length = draw(st.sampled_from(sorted({1, channels})))
    return draw(st.lists(st.integers(0, 255), min_size=length, max_size=length))


def add_resize(case: Case, draw: st.DrawFn, edges: st.SearchStrategy[int]) -> None:
    api = draw(APIS)
    kind = draw(st.integers(0, 3 if api == "v2" else 2))
    size: list[int] | None
    limit: int | None = None
    if kind == 3:
        size, limit = None, draw(edges)
    elif kind == 2:
        size = [draw(edges)]
        limit = size[0] + draw(edges)
    else:
        size = draw(st.lists(edges, min_size=kind + 1, max_size=kind + 1))
    case.add("Resize", api, size=size, max_size=limit, filter=draw(FILTER))


def add_center_crop(case: Case, draw: st.DrawFn, edges: st.SearchStrategy[int]) -> None:
    case.add("CenterCrop", draw(APIS), size=[draw(edges), draw(edges)])


def add_random_resized_crop(case: Case, draw: st.DrawFn, edges: st.SearchStrategy[int]) -> None:
    scale = draw(st.one_of(st.just([0.08, 1.0]), _interval(0, 1.5)))
    ratio = draw(st.one_of(st.just([3 / 4, 4 / 3]), _interval(0.02, 1.9), _interval(0.6, 50)))
    case.add(
        "RandomResizedCrop", draw(APIS), size=[draw(edges), draw(edges)], scale=scale, ratio=ratio, filter=draw(FILTER)
    )


def add_flip(case: Case, draw: st.DrawFn, _: Any) -> None:
    case.add(draw(st.sampled_from(("RandomHorizontalFlip", "RandomVerticalFlip"))), draw(APIS), p=draw(PROBABILITY))


def add_random_crop(case: Case, draw: st.DrawFn, edges: st.SearchStrategy[int], padded: bool = False) -> None:
    padding = draw(st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=4, max_size=4))) if padded else None
    case.add(
        "RandomCrop",
        draw(APIS),
        size=[draw(edges), draw(edges)],
        padding=padding,
        pad_if_needed=padded and draw(st.booleans()),
        fill=draw(fills(case.channels)),
        padding_mode=draw(st.sampled_from(PAD_MODES)),
    )


def add_padded_crop(case: Case, draw: st.DrawFn, edges: st.SearchStrategy[int]) -> None:
    add_random_crop(case, draw, edges, padded=True)


def add_pad(case: Case, draw: st.DrawFn, _: Any) -> None:
    case.add(
        "Pad",
        draw(APIS),
        padding=draw(st.lists(st.integers(0, 12), min_size=4, max_size=4)),
        fill=draw(fills(case.channels)),
        padding_mode=draw(st.sampled_from(PAD_MODES)),
    )


def add_grayscale(case: Case, draw: st.DrawFn, _: Any) -> None:
    case.add("Grayscale", draw(APIS), channels=draw(st.sampled_from((1, 3))))


def add_narrow_crop(case: Case, draw: st.DrawFn, edges: st.SearchStrategy[int]) -> None:
    """Ratios that leave nothing of a narrow image's central crop."""
    ratio = draw(st.one_of(_interval(3, 60), _interval(0.01, 0.4)))
    case.add(
        "RandomResizedCrop",
        draw(APIS),
        size=[draw(edges), draw(edges)],
        scale=[0.5, 1.0],
        ratio=ratio,
        filter=draw(FILTER),
    )


PIXELLESS = (add_resize, add_random_crop, add_random_resized_crop, add_flip)
ALL = (*PIXELLESS, add_center_crop, add_padded_crop, add_pad, add_grayscale, add_narrow_crop)


@st.composite
def cases(draw: st.DrawFn, adders: Sequence[Any], edges: st.SearchStrategy[int]) -> Case:
    case = Case()
    for add in draw(st.lists(st.sampled_from(adders), min_size=1, max_size=4)):
        add(case, draw, edges)
    return case


def started(seed: int, skip: int) -> torch.Tensor:
    """Seed torch's generator, draw a few words, and return its state."""
    torch.manual_seed(seed)
    for _ in range(skip):
        torch.rand(1)
    return torch.get_rng_state()


def check_frame(case: Case, reply: dict[str, Any]) -> None:
    """What holds whatever was drawn."""
    assert base64.b64decode(reply["state"]) == torch.get_rng_state().numpy().tobytes()
    assert reply["random"] == any("Random" in type(each).__name__ for each in case.objects)
    for drawn in reply["draws"]:
        assert len(drawn["steps"] or []) <= reply["steps_max"]


SEEDS = st.integers(0, 2**64 - 1)
SKIPS = st.integers(0, 1300)  # past two refills


@pytest.mark.filterwarnings("ignore")
class TestSameAsTorchvision:
    @settings(max_examples=300)
    @given(
        cases(PIXELLESS, st.integers(1, 700)),
        SEEDS,
        SKIPS,
        st.lists(st.tuples(st.integers(1, 4000), st.integers(1, 4000)), min_size=10, max_size=10),
    )
    @pytest.mark.slow
    def test_numbers(self, drawdump: Drawdump, case: Case, seed: int, skip: int, sizes: list[Size]) -> None:
        reply = drawdump.draw(case.to_plan(len(sizes)), started(seed, skip), sizes)
        for size, drawn in zip(sizes, reply["draws"], strict=True):
            want = apply(case.objects, Noted(size, []))
            if isinstance(want, str):
                assert drawn.get("refused") == want
                continue
            assert [noted(s) for s in drawn["steps"]] == want.steps
            assert tuple(drawn["size"]) == want.size
        check_frame(case, reply)

    @settings(max_examples=400)
    @given(cases(ALL, EDGE), SEEDS, SKIPS, st.lists(st.tuples(EDGE, EDGE), min_size=8, max_size=8))
    @pytest.mark.slow
    def test_pixels(self, drawdump: Drawdump, case: Case, seed: int, skip: int, sizes: list[Size]) -> None:
        reply = drawdump.draw(case.to_plan(len(sizes)), started(seed, skip), sizes)
        for size, drawn in zip(sizes, reply["draws"], strict=True):
            want = apply(case.objects, noise(size))
            if isinstance(want, str):
                assert drawn.get("refused") == want
                continue
            got = played(drawn["steps"], noise(size))
            assert got.mode == want.mode and got.size == want.size == tuple(drawn["size"])
            assert got.tobytes() == want.tobytes()
        check_frame(case, reply)

    @pytest.mark.parametrize("api", ["v1", "v2"])
    @pytest.mark.parametrize("ratio", [(3 / 4, 4 / 3), (0.5, 2.0), (1.0, 1.0), (0.1, 0.1)])
    def test_many_random_resized_crops(self, drawdump: Drawdump, api: str, ratio: tuple[float, float]) -> None:
        """So many that arguments come up where torch.exp is not the nearest float32."""
        case = Case()
        case.add("RandomResizedCrop", api, size=[224, 224], scale=[0.08, 1.0], ratio=list(ratio), filter="bilinear")
        case.add("RandomHorizontalFlip", api, p=0.5)
        rng = np.random.default_rng(5)
        sizes = [(int(w), int(h)) for w, h in rng.integers(1, 900, (8000, 2))]
        reply = drawdump.draw(case.to_plan(len(sizes)), started(11, 3), sizes)
        for size, drawn in zip(sizes, reply["draws"], strict=True):
            assert [noted(s) for s in drawn["steps"]] == apply(case.objects, Noted(size, [])).steps
        check_frame(case, reply)
