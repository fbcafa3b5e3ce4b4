"""Arrays of images, and tensors of arrays: what numpy and torch give, made by the core where none are asked for."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from PIL import Image

from goloader.doors.recipe import hooks
from goloader.doors.recipe.fetch import finish
from goloader.doors.recipe.native import CoreNative
from goloader.doors.recipe.recipe import Source
from goloader.doors.recipe.session import Session
from goloader.doors.recipe.stand_ins.array import StandInArray
from goloader.doors.recipe.switch import recording
from goloader.doors.recipe.workshop import Workshop
from goloader.doors.same import difference

MEAN, STD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)


def traced(function: Callable[[str], Any], path: str, core: bool = True) -> tuple[Any, Session, int]:
    """What a function returns with stand-ins, made by the core; the session; and images that the core made."""
    native = CoreNative(Workshop().core(), workers=1) if core else None
    session = Session(native)
    hooks.hold()
    try:
        with recording(session):
            held = [function(path)]
        leaves = finish(session, held, None if native is None else native.run)
    finally:
        hooks.release()
        if native is not None:
            native.close()
        session.recorder = None
    return held[0], session, sum(leaves.values())


def rgb(path: str) -> Any:
    return Image.open(path).convert("RGB")


def floats(path: str) -> Any:
    return np.array(rgb(path)).astype(np.float32)


def inplace(path: str) -> Any:
    a = np.array(rgb(path), dtype=np.float32)
    a /= 255
    a -= MEAN
    a /= STD
    return torch.from_numpy(a.transpose(2, 0, 1))


def seen_by_all(path: str) -> Any:
    a = floats(path)
    t = torch.from_numpy(a)
    turned = t.permute(2, 0, 1)
    turned.div_(255)
    a *= 2
    t.sub_(0.25)
    return a, t, turned, t.numpy()


def masked(path: str) -> Any:
    m = np.array(Image.open(path).convert("L"))
    m[m > 200] = 0
    m = m.astype(np.int64)
    m[(m == 7) | (m < 3)] = -1
    return torch.from_numpy(m), torch.as_tensor(np.array(Image.open(path).convert("L")), dtype=torch.int64)


def masked_tensor(path: str) -> Any:
    t = torch.as_tensor(np.array(Image.open(path).convert("L")), dtype=torch.long)
    t[t == 255] = -1
    return t, torch.where(t > 100, 1, 0), t.masked_fill(t == 3, 9)


def before_and_after(path: str) -> Any:
    a = np.array(rgb(path))
    kept = a.copy()
    first = torch.from_numpy(a)
    second = first.clone()
    first.mul_(3)
    return kept, first, second, a


# Nothing in these needs the numbers.
RECORDED: dict[str, Callable[[str], Any]] = {
    "array": lambda path: np.array(rgb(path)),
    "asarray, float32": lambda path: np.asarray(rgb(path), dtype=np.float32),
    "asarray, by place": lambda path: np.asarray(rgb(path), np.int16),
    "grey": lambda path: np.asarray(Image.open(path).convert("L")),
    "from_numpy": lambda path: torch.from_numpy(np.array(rgb(path))),
    "transpose": lambda path: torch.from_numpy(np.array(rgb(path)).transpose(2, 0, 1)),
    "transpose of a tuple": lambda path: torch.tensor(np.transpose(np.array(rgb(path)), (2, 0, 1))),
    "T": lambda path: torch.as_tensor(np.array(rgb(path)).transpose((2, 0, 1)).copy()),
    "moveaxis": lambda path: np.moveaxis(np.array(rgb(path)), -1, 0).copy(),
    "rollaxis": lambda path: np.ascontiguousarray(np.rollaxis(np.array(rgb(path)), 2)),
    "to 0..1": lambda path: torch.from_numpy(np.array(rgb(path)) / 255.0).permute(2, 0, 1).float(),
    "float32 arithmetic": lambda path: torch.from_numpy(((floats(path) / 255 - MEAN) / STD).transpose(2, 0, 1).copy()),
    "float64 arithmetic": lambda path: ((np.array(rgb(path)) / 255.0 - MEAN.astype(float)) / [0.2, 0.3, 0.4]).astype(
        "f4"
    ),
    "in place": inplace,
    "seen by all": seen_by_all,
    "before and after": before_and_after,
    "to_tensor": lambda path: F.to_tensor(np.array(rgb(path))),
    "to_tensor of grey": lambda path: F.to_tensor(np.array(Image.open(path).convert("L"))),
    "to_tensor, normalize": lambda path: F.normalize(F.to_tensor(np.asarray(rgb(path))), [0.5], [0.2], inplace=True),
    "BGR": lambda path: np.array(rgb(path))[:, :, ::-1].copy(),
    "BGR and back": lambda path: torch.from_numpy(np.ascontiguousarray(np.array(rgb(path))[..., ::-1][..., ::-1])),
    "crop": lambda path: torch.from_numpy(np.array(rgb(path))[2:9, 3:-1].astype(np.float32)),
    "crop by view": lambda path: torch.from_numpy(np.array(rgb(path))[2:9, 3:-1]),
    "flips": lambda path: (np.fliplr(np.array(rgb(path))).copy(), np.flip(np.array(rgb(path)), 0).copy()),
    "flip by view": lambda path: np.array(rgb(path))[:, ::-1],
    "channels": lambda path: [np.array(rgb(path))[..., c].copy() for c in range(3)] + [np.array(rgb(path))[:, :, 1:2]],
    "new axes": lambda path: (torch.from_numpy(np.array(rgb(path)))[None], np.expand_dims(np.array(rgb(path)), 0)),
    "masks": masked,
    "masks as tensors": masked_tensor,
    "equal": lambda path: np.array(Image.open(path).convert("L")) == 7,
    "clip and where": lambda path: (
        np.clip(np.array(rgb(path)), 10, 99),
        np.where(np.array(rgb(path)) > 9, np.float32(1), np.float32(0)),
    ),
    "views of tensors": lambda path: [
        t[:, 1:5, 2:7] for t in [F.to_tensor(rgb(path)), F.pil_to_tensor(rgb(path)).float().div(255)]
    ],
    "tensor flips": lambda path: (F.hflip(F.to_tensor(rgb(path))), F.vflip(F.pil_to_tensor(rgb(path)))),
    "fromarray": lambda path: F.to_tensor(
        Image.fromarray(np.array(rgb(path))[2:-1, ::-1]).resize((9, 8)).crop((1, 1, 8, 7))
    ),
    "to_pil_image": lambda path: F.to_tensor(F.to_pil_image(np.array(rgb(path))[:, ::-1]).resize((9, 8))),
    "squeezed": lambda path: F.pil_to_tensor(Image.open(path).convert("L")).squeeze(0).long(),
    "unsqueezed": lambda path: F.to_tensor(rgb(path)).unsqueeze(0),
    "cat": lambda path: torch.cat([F.to_tensor(rgb(path))[None], F.to_tensor(rgb(path)).unsqueeze(0)]),
    "stack, then scale": lambda path: (
        torch.stack([torch.from_numpy(np.array(rgb(path)))] * 2).permute(0, 3, 1, 2).float() / 255
    ),
    "stack of a stack": lambda path: torch.stack([torch.stack([F.to_tensor(rgb(path))] * 2)] * 3)[1:, 0],
    "np.stack": lambda path: torch.from_numpy(np.stack([np.array(rgb(path)), np.array(rgb(path))])),
    "one image of a stack": lambda path: torch.stack([F.to_tensor(rgb(path)), F.hflip(F.to_tensor(rgb(path)))])[1],
    "in place on a tensor": lambda path: (t := F.to_tensor(rgb(path)), t.mul_(2).sub_(1), t.clamp_(0, 1))[0],
    "channel constants": lambda path: (
        (F.to_tensor(rgb(path)) - torch.from_numpy(MEAN).view(3, 1, 1)) / torch.from_numpy(STD).reshape(-1, 1, 1)
    ),
    "channels last": lambda path: F.to_tensor(rgb(path)).permute(1, 2, 0).contiguous(),
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_recorded_is_made_by_the_core(name: str, files: list[str]) -> None:
    for path in files[:3] + files[6:8]:
        want = RECORDED[name](path)
        got, session, made = traced(RECORDED[name], path)
        assert difference(want, got) is None
        assert made and not session.reasons, session.reasons
        assert type(got) is type(want)


# Something in these needs the numbers, or cannot be recorded, or is an error.
REAL: dict[str, Callable[[str], Any]] = {
    "mean": lambda path: np.array(rgb(path)).mean(),
    "item": lambda path: np.array(rgb(path))[3, 4, 1] + 1,
    "list": lambda path: np.array(rgb(path))[:2, :2].tolist(),
    "iterate": lambda path: [row.sum() for row in np.array(rgb(path))],
    "bool": lambda path: bool(np.array(rgb(path)).any()),
    "written": lambda path: (a := np.array(rgb(path)), a.__setitem__((slice(2, 5), 3), 9), a)[2],
    "written in a view": lambda path: (a := np.array(rgb(path)), v := a[2:5], v.__iadd__(1), a)[3],
    "written, then tensor": lambda path: (a := np.array(rgb(path)), t := torch.from_numpy(a), a.fill(3), t)[3],
    "read only": lambda path: np.asarray(rgb(path)).__iadd__(1),
    "float into bytes": lambda path: np.array(rgb(path)).__itruediv__(2),
    "backwards": lambda path: torch.from_numpy(np.array(rgb(path))[::-1]),
    "reshape": lambda path: np.array(rgb(path)).reshape(-1, 3),
    "reduce": lambda path: np.add.reduce(np.array(rgb(path)), axis=2),
    "concatenate": lambda path: np.concatenate([np.array(rgb(path)), np.array(rgb(path))], axis=1),
    "lookup": lambda path: np.arange(256)[np.array(Image.open(path).convert("L"))],
    "boolean index": lambda path: (a := np.array(Image.open(path).convert("L")), a[a > 5])[1],
    "two images": lambda path: np.array(rgb(path)) + np.array(rgb(path).transpose(0)),
    "a number a pixel": lambda path: (
        np.array(Image.open(path).convert("L")) * np.arange(np.array(Image.open(path)).shape[1])
    ),
    "wrong extents": lambda path: np.array(rgb(path)) - np.zeros(2),
    "power": lambda path: np.array(rgb(path)) ** 2,
    "exp": lambda path: np.exp(floats(path)),
    "gamma": lambda path: F.to_tensor(rgb(path)) ** 0.5,
    "steps": lambda path: np.array(rgb(path))[::2, ::3].copy(),
    "fancy": lambda path: np.array(rgb(path))[:, :, [2, 0, 1]],
    "out": lambda path: np.multiply(floats(path), 2, out=np.zeros_like(floats(path))),
    "pickle": lambda path: pickle.loads(pickle.dumps(np.array(rgb(path)))),
    "deepcopy": lambda path: copy.deepcopy(np.array(rgb(path))),
    "copy": lambda path: copy.copy(np.array(rgb(path))[:, ::-1]),
    "repr": lambda path: repr(np.array(rgb(path))),
    "attributes": lambda path: (
        a := np.array(rgb(path)).transpose(2, 0, 1),
        (a.shape, a.strides, a.ndim, a.size, a.nbytes, a.itemsize, len(a), a.dtype, str(a.flags), a.base is None),
    )[1],
    "is": lambda path: (a := np.array(rgb(path)), isinstance(a, np.ndarray), np.asarray(a) is a, np.shape(a))[1:],
    "fromarray": lambda path: Image.fromarray(np.array(rgb(path))).resize((9, 8)).tobytes(),
    "fromarray of grey": lambda path: (a := np.array(Image.open(path).convert("L")), Image.fromarray(a).tobytes())[1],
    "to_pil_image of grey": lambda path: F.to_pil_image(np.array(Image.open(path).convert("L"))).tobytes(),
    "to_pil_image of HSV": lambda path: F.to_pil_image(np.array(rgb(path)), mode="HSV").tobytes(),
    "frombytes": lambda path: (a := np.array(rgb(path)), Image.frombytes("RGB", a.shape[1::-1], a).tobytes())[1],
    "frombuffer": lambda path: (
        a := np.array(Image.open(path).convert("L")),
        Image.frombuffer("L", a.shape[::-1], a, "raw", "L", 0, 1).tobytes(),
    )[1],
    "bytes": lambda path: bytes(np.array(rgb(path)).transpose(2, 0, 1)),
    "unequal": lambda path: np.array_equal(np.array(rgb(path)), np.array(rgb(path).transpose(0))),
    "matmul": lambda path: floats(path) @ np.eye(3, dtype=np.float32),
    "with a tensor": lambda path: (
        torch.ones(3) * torch.from_numpy(floats(path)) + torch.from_numpy(floats(path)).mean()
    ),
    "bfloat16": lambda path: F.to_tensor(rgb(path)).bfloat16().mul(3),
    "byte order": lambda path: np.array(rgb(path)).astype(">f4"),
    "numpy scalar": lambda path: np.float32(2) * np.array(rgb(path)) - np.float64(3),
    "palette": lambda path: np.array(rgb(path).convert("P")),
}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("here", [True, False], ids=["core", "no core"])
def test_what_needs_the_numbers_gets_numpy_s(name: str, here: bool, files: list[str]) -> None:
    for path in files[:2] + files[7:8]:
        try:
            want = REAL[name](path)
        except Exception as error:
            with pytest.raises(type(error)) as got:
                traced(REAL[name], path, here)
            assert str(got.value) == str(error)
            continue
        value, _, _ = traced(REAL[name], path, here)
        if here:
            assert type(value) is type(want)
            assert difference(want, value) is None


@pytest.mark.parametrize("whole", [torch.stack, torch.cat, torch.utils.data.default_collate])
def test_where_one_of_a_stack_is_real_the_core_makes_the_others(
    whole: Any, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Source] = []
    load = Source.load
    monkeypatch.setattr(Source, "load", lambda source: (loaded.append(source), load(source))[1])

    def batch(path: str) -> Any:
        images = [F.to_tensor(rgb(each).resize((16, 16))) for each in [path, *files[1:4]]]
        images[2].add_(images[2].mean())
        return whole([each * 2 for each in images])

    want = batch(files[0])
    assert not loaded
    got, session, _ = traced(batch, files[0])
    assert difference(want, got) is None
    assert not loaded and not session.reasons and {what for what, _ in session.seen} > {"Tensor.mean"}


Pair = namedtuple("Pair", ["a", "b"])


class Holder:
    def __init__(self, array: Any) -> None:
        self.array = array


def test_arrays_in_a_batch_are_real_wherever_they_are(jpeg: str) -> None:
    def batch(path: str) -> Any:
        a = np.array(rgb(path))
        return {"list": [a, (a, [a])], "pair": Pair(a, 1), "own": Holder(a), "tensor": torch.from_numpy(a)}

    want = batch(jpeg)
    got, session, made = traced(batch, jpeg)
    assert difference(want, got) is None
    arrays = [got["list"][0], got["list"][1][0], got["list"][1][1][0], got["pair"].a, got["own"].array]
    assert all(type(array) is np.ndarray and array is arrays[0] for array in arrays)
    arrays[0][0, 0, 0] ^= 255
    assert got["tensor"][0, 0, 0] == arrays[0][0, 0, 0]
    assert made and not session.kept


def test_arrays_that_are_kept_become_real_and_are_the_last(jpeg: str) -> None:
    kept: dict[str, Any] = {}
    holder = Holder(None)

    def keep(path: str) -> Any:
        a = np.array(rgb(path))
        kept["it"] = ({"a": a}, [a.transpose(2, 0, 1)])
        holder.array = a[::-1]
        return torch.from_numpy(a).float()

    want = keep(jpeg)
    before, held = kept["it"], holder.array
    got, session, _ = traced(keep, jpeg)
    assert torch.equal(got, want) and session.kept
    after = kept["it"]
    assert type(after[0]["a"]) is type(after[1][0]) is type(holder.array) is np.ndarray
    assert difference([before, held], [after, holder.array]) is None
    assert np.shares_memory(after[0]["a"], holder.array)


def test_a_stand_in_forwards_what_it_does_not_know(jpeg: str) -> None:
    session = Session()
    hooks.hold()
    try:
        with recording(session):
            made = np.array(rgb(jpeg))
            assert type(made) is StandInArray
            assert made.sum() == np.array(rgb(jpeg)).sum()
        with pytest.raises(TypeError, match="unhashable"):
            hash(made)
        assert (made + 1).dtype == np.uint8 and type(made + 1) is np.ndarray
        made[0, 0] = 7
        assert np.asarray(made)[0, 0, 0] == 7 and made.max() == made.copy().max()
    finally:
        hooks.release()


def test_nothing_stands_in_front_of_numpy_when_nobody_records(jpeg: str) -> None:
    functions = np.array, np.asarray, torch.from_numpy, torch.tensor, torch.as_tensor
    hooks.hold()
    try:
        assert functions == (np.array, np.asarray, torch.from_numpy, torch.tensor, torch.as_tensor)
        with recording(Session()):
            assert np.array is not functions[0]
            assert pickle.loads(pickle.dumps(np.array)) is np.array and np.array.__name__ == "array"
            with recording(Session()):
                assert np.array is not functions[0]
            assert np.array is not functions[0]
        assert functions == (np.array, np.asarray, torch.from_numpy, torch.tensor, torch.as_tensor)
    finally:
        hooks.release()


def test_nothing_is_kept_of_an_array(jpeg: str) -> None:
    got, session, _ = traced(lambda path: torch.from_numpy(np.array(rgb(path)) / 255), jpeg)
    session.clear()
    ref = weakref.ref(got)
    del got
    gc.collect()
    assert ref() is None
