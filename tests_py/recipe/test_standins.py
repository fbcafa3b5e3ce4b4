"""A stand-in under a user's code does what Pillow's image or torch's tensor does; only its pixels come later."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from PIL import Image, ImageFile, ImageOps
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.MpoImagePlugin import MpoImageFile
from PIL.PngImagePlugin import PngImageFile

from goloader.doors.recipe.stand_ins.image import StandInImage
from goloader.doors.recipe.stand_ins.tensor import StandInTensor
from goloader.doors.same import difference


def opened(path: str) -> Any:
    return Image.open(path)


def rgb(path: str) -> Any:
    return Image.open(path).convert("RGB")


def tensor(path: str) -> Any:
    return F.to_tensor(Image.open(path).convert("RGB"))


KINDS = (
    Image.Image, ImageFile.ImageFile, JpegImageFile, MpoImageFile, PngImageFile, GifImageFile, np.ndarray, torch.Tensor,
)  # fmt: skip


def kinds(image: Any) -> Any:
    return [isinstance(image, kind) for kind in KINDS], image.__class__


# (what is made, what is asked of it): the answer is Pillow's, and nothing becomes real.
FREE: dict[str, tuple[Callable[[str], Any], Callable[[Any], Any]]] = {
    "isinstance": (opened, lambda im: isinstance(im, Image.Image)),
    "its class": (opened, kinds),
    "the class of what is made of it": (rgb, kinds),
    "size": (opened, lambda im: (im.size, im.width, im.height, im.mode, im.getbands())),
    "format": (opened, lambda im: (im.format, im.format_description, im.filename, im.get_format_mimetype())),
    "info": (opened, lambda im: {key: value for key, value in im.info.items() if key != "exif"}),
    "exif": (opened, lambda im: dict(im.getexif())),
    "frames": (opened, lambda im: (getattr(im, "n_frames", 1), im.tell())),
    "no format": (rgb, lambda im: (im.format, im.format_description, isinstance(im, Image.Image), im.mode)),
    "chain": (rgb, lambda im: im.crop((1, 2, 20, 22)).resize((9, 8)).transpose(0).convert("L").copy().size),
    "load": (opened, lambda im: im.load() is None),
    "copy.copy": (rgb, lambda im: (copy.copy(im).size, copy.copy(im) is im)),
    "weakref": (rgb, lambda im: weakref.ref(im)() is im),
    "bool": (rgb, lambda im: bool(im)),
    "shape": (tensor, lambda t: (t.shape, t.dtype, t.device, t.ndim, t.size(), t.stride(), t.is_contiguous(), len(t))),
    "flags": (tensor, lambda t: (t.requires_grad, t.is_cuda, t.is_leaf, t.layout, t.numel(), t.element_size())),
    "is_tensor": (tensor, lambda t: (torch.is_tensor(t), isinstance(t, torch.Tensor), t.is_floating_point())),
    "arithmetic": (tensor, lambda t: (((t - 0.5) / 0.5) * 2 + 1).dtype),
    "casts": (tensor, lambda t: (t.half().dtype, t.double().dtype, t.to(torch.float64).shape)),
}


@pytest.mark.parametrize("name", FREE)
def test_what_needs_no_pixels_makes_nothing_real(name: str, files: list[str], traced: Any) -> None:
    make, ask = FREE[name]
    for path in files:
        plain = path.endswith(".jpg") and not path.endswith("18.jpg")  # bytes behind its end: Pillow opens it
        want = ask(make(path))
        got, real = traced(lambda path=path: ask(make(path)))
        assert got == want
        if plain and not path.endswith("20.jpg"):
            assert not real or real == ["Image.open of a JPEG file of mode RGB"], path


# What becomes real, and is then Pillow's or torch's own.
REAL: dict[str, tuple[Callable[[str], Any], Callable[[Any], Any]]] = {
    "array": (rgb, lambda im: np.asarray(im)),
    "array of the file": (opened, lambda im: np.array(im)),
    "bytes": (rgb, lambda im: im.tobytes()),
    "getpixel": (rgb, lambda im: im.getpixel((3, 4))),
    "pixels": (rgb, lambda im: im.load()[3, 4]),
    "written pixels": (rgb, lambda im: (im.load().__setitem__((3, 4), (1, 2, 3)), im.tobytes())[1]),
    "histogram": (opened, lambda im: im.histogram()),
    "rotate": (rgb, lambda im: im.rotate(33).tobytes()),
    "quantize": (rgb, lambda im: im.quantize(7).tobytes()),
    "thumbnail": (opened, lambda im: (im.thumbnail((9, 9)), im.size, im.tobytes())),
    "draft": (opened, lambda im: (im.draft("L", (10, 10)), im.size, im.mode, im.tobytes())),
    "paste": (rgb, lambda im: (im.paste(im.copy().resize((3, 3)), (2, 1)), im.tobytes())[1]),
    "paste into": (rgb, lambda im: (new := Image.new("RGB", (60, 60)), new.paste(im, (1, 2)), new.tobytes())[2]),
    "save": (rgb, lambda im: (file := io.BytesIO(), im.save(file, "PNG"), file.getvalue())[2]),
    "split and merge": (rgb, lambda im: Image.merge("RGB", im.split()[::-1]).tobytes()),
    "blend": (rgb, lambda im: Image.blend(im, ImageOps.mirror(im), 0.3).tobytes()),
    "point": (rgb, lambda im: im.point(lambda v: 255 - v).tobytes()),
    "equal": (rgb, lambda im: (im == im.copy(), im != im.resize((4, 5)))),
    "repr": (rgb, lambda im: repr(im).split(" at ")[0]),
    "pickle": (rgb, lambda im: pickle.loads(pickle.dumps(im)).tobytes()),
    "deepcopy": (rgb, lambda im: copy.deepcopy(im).tobytes()),
    "info of a copy": (rgb, lambda im: sorted(im.info)),
    "info of a crop": (
        rgb,
        lambda im: (c := im.crop((1, 2, 20, 22)), c.histogram(), c.info, type(c), c.palette, c.readonly, c.format)[1:],
    ),
    "attribute": (rgb, lambda im: (setattr(im, "note", 5), im.note)[1]),
    "with": (opened, lambda im: im.__enter__().convert("RGB").tobytes()),
    "P": (rgb, lambda im: im.convert("P").tobytes()),
    "1": (rgb, lambda im: im.convert("1").tobytes()),
    "crop outside": (rgb, lambda im: im.crop((-500, -500, -490, -490)).tobytes()),
    "resize in a box": (rgb, lambda im: im.resize((9, 9), 2, (1.5, 2, 20, 21)).tobytes()),
    "rotated by 90": (rgb, lambda im: im.transpose(Image.Transpose.ROTATE_90).tobytes()),
    "numpy": (tensor, lambda t: t.numpy()),
    "item": (tensor, lambda t: t[0, 1, 2].item()),
    "sum": (tensor, lambda t: t.sum()),
    "list": (tensor, lambda t: t[:, :2, :2].tolist()),
    "in place": (tensor, lambda t: (t.mul_(2), t.add_(1), t)[2]),
    "written": (tensor, lambda t: (t.__setitem__((0, slice(3)), 0.5), t)[1]),
    "views": (tensor, lambda t: (v := t.view(-1), v.mul_(3), t)[2]),
    "permute": (tensor, lambda t: t.permute(1, 2, 0).contiguous()),
    "grad": (tensor, lambda t: (t.requires_grad_(), (t * t).sum().backward(), t.grad)[2]),
    "cat": (tensor, lambda t: torch.cat([t, t])),
    "stack": (tensor, lambda t: torch.stack([t, t]).mean(0)),
    "stack elsewhere": (tensor, lambda t: torch.stack([t, t], dim=1)),
    "stack into": (tensor, lambda t: torch.stack([t], out=torch.empty(0))),
    "tensor repr": (tensor, repr),
    "tensor pickle": (tensor, lambda t: pickle.loads(pickle.dumps(t))),
    "tensor deepcopy": (tensor, copy.deepcopy),
    "saved": (
        tensor,
        lambda t: (file := io.BytesIO(), torch.save(t, file), torch.load(io.BytesIO(file.getvalue())))[2],
    ),
    "dlpack": (tensor, torch.from_dlpack),
    "clone": (tensor, lambda t: t.clone()),
    "type": (tensor, lambda t: (t.clone(), t.abs_(), type(t) is torch.Tensor)[2]),
    "compare": (tensor, lambda t: torch.equal(t, t)),
    "shift": (tensor, lambda t: t * torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1)),
    "interpolate": (tensor, lambda t: torch.nn.functional.interpolate(t[None], (5, 6), mode="bilinear")),
}


@pytest.mark.parametrize("name", REAL)
def test_what_needs_pixels_gets_pillow_s_and_torch_s(name: str, files: list[str], traced: Any) -> None:
    make, use = REAL[name]
    for path in files[::4] + files[-9:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                want: Any = use(make(path))
            except Exception as error:
                with pytest.raises(type(error)):
                    traced(lambda path=path: use(make(path)))
                continue
            got, _ = traced(lambda path=path: use(make(path)))
        if isinstance(got, (StandInImage, StandInTensor)):
            continue
        assert difference(want, got) is None, path


def test_several_pictures_in_a_file_are_of_their_class(tmp_path: Path, traced: Any) -> None:
    path = tmp_path / "several.jpg"
    pictures = [Image.fromarray(np.full((20, 30, 3), value, np.uint8)) for value in (10, 200)]
    pictures[0].save(path, "MPO", save_all=True, append_images=pictures[1:])
    found, _ = traced(lambda: kinds(Image.open(path)))
    assert found == kinds(Image.open(path)) and found[1] is MpoImageFile


def test_what_is_made_before_a_change_does_not_see_it(jpeg: str, traced: Any) -> None:
    def changed() -> Any:
        image = Image.open(jpeg).convert("RGB")
        before = image.crop((0, 0, 9, 9))
        again = image.copy()
        image.putpixel((2, 2), (255, 0, 255))
        after = image.crop((0, 0, 9, 9))
        return before.tobytes(), again.tobytes(), after.tobytes(), image.tobytes()

    want = changed()
    got, _ = traced(changed)
    assert got == want


def test_an_image_outside_its_with_block_is_closed(jpeg: str, traced: Any) -> None:
    def closed() -> None:
        with Image.open(jpeg) as image:
            pass
        image.convert("RGB").tobytes()

    with pytest.raises(Exception) as want:
        closed()
    with pytest.raises(type(want.value)) as got:
        traced(closed)
    assert str(got.value) == str(want.value)


def bad_files(folder: Path) -> dict[str, Any]:
    jpeg = io.BytesIO()
    Image.new("RGB", (64, 64), (1, 2, 3)).save(jpeg, "JPEG")
    contents = {"empty": b"", "text": b"no image at all", "cut": jpeg.getvalue()[:-200], "head": jpeg.getvalue()[:30]}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    return {name: str(folder / name) for name in [*contents, "missing", "folder"]} | {"number": 5, "none": None}


@pytest.mark.parametrize("name", ["empty", "text", "cut", "head", "missing", "folder", "number", "none"])
def test_a_file_that_is_no_image_raises_at_the_same_line(name: str, tmp_path: Path, traced: Any) -> None:
    path = bad_files(tmp_path)[name]

    def lines(error: BaseException) -> list[int]:
        frames, trace = [], error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is load.__code__:
                frames.append(trace.tb_lineno)
            trace = trace.tb_next
        return frames

    def load() -> Any:
        image = Image.open(path)
        image = image.convert("RGB")
        return F.to_tensor(image)

    with pytest.raises(Exception) as want:
        load()
    with pytest.raises(type(want.value)) as got:
        traced(load)
    assert str(got.value) == str(want.value)
    assert lines(got.value) == lines(want.value)


def test_an_image_that_became_real_inside_its_with_block_is_closed_by_it(jpeg: str, traced: Any) -> None:
    def closed() -> Any:
        with Image.open(jpeg) as image:
            image.histogram()
            file = image.fp
        return file is None or file.closed, image.fp

    want = closed()
    assert traced(closed)[0] == want


def test_other_threads_see_no_stand_ins(jpeg: str, traced: Any) -> None:
    import threading

    seen: list[type] = []

    def look() -> Any:
        thread = threading.Thread(target=lambda: seen.append(type(Image.open(jpeg))))
        thread.start()
        thread.join()
        return type(Image.open(jpeg))

    mine, _ = traced(look)
    assert mine is StandInImage
    assert seen == [type(Image.open(jpeg))] and seen[0] is not StandInImage


def test_a_stand_in_that_outlives_its_batch_becomes_real(jpeg: str, traced: Any) -> None:
    (image, made), _ = traced(lambda: (rgb(jpeg), tensor(jpeg)))
    assert image.resize((7, 8)).tobytes() == rgb(jpeg).resize((7, 8)).tobytes()
    assert type(image) is Image.Image
    assert torch.equal(made + 1, tensor(jpeg) + 1)
    assert type(made) is torch.Tensor


def test_a_relative_path_is_read_from_where_it_was_opened(
    jpeg: str, tmp_path: Path, traced: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, name = os.path.split(jpeg)
    monkeypatch.chdir(folder)
    image, _ = traced(lambda: rgb(name))
    monkeypatch.chdir(tmp_path)
    assert image.tobytes() == rgb(jpeg).tobytes()


def test_hooks_leave_functions_as_they_were() -> None:
    from goloader.doors.recipe import hooks

    hooks.hold()
    swaps = list(hooks._installed.parts)
    hooks.release()
    before = [(swap._function, swap._function.__code__) for swap in swaps]
    assert len(before) > 9
    hooks.hold()
    hooks.hold()
    assert all(function.__code__ is not code for function, code in before)
    hooks.release()
    assert all(function.__code__ is not code for function, code in before)
    hooks.release()
    assert all(function.__code__ is code for function, code in before)


def test_nothing_is_kept(jpeg: str, traced: Any) -> None:
    (image, made), _ = traced(lambda: (rgb(jpeg), tensor(jpeg)))
    kept = weakref.ref(image), weakref.ref(made)
    del image, made
    gc.collect()
    assert [each() for each in kept] == [None, None]
