"""Files and arrays by way of OpenCV and albumentations: what the core makes is what they make."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import albucore
import albumentations as A
import cv2
import numpy as np
import pytest
import torch
from albumentations.pytorch import ToTensorV2
from failing import batches
from PIL import Image
from torch.utils import data

import goloader
from goloader.doors.recipe import door
from goloader.doors.recipe.files import opencv
from goloader.doors.recipe.session import Session
from goloader.doors.recipe.switch import recording
from goloader.doors.same import difference

CHAINS = int(os.environ.get("GOLOADER_FUZZ_CHAINS", "400"))
FLAGS = (cv2.IMREAD_COLOR, cv2.IMREAD_COLOR_RGB, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_UNCHANGED, 129, 384, 128, 2, 4, 7, 17)


def tensor(array: Any) -> torch.Tensor:
    """A batch of one, made of an array."""
    return torch.stack([torch.from_numpy(array.copy())])


def photo(width: int, height: int, seed: int = 0) -> Image.Image:
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (7, 8, 3), dtype=np.uint8))
    return coarse.resize((width, height), Image.Resampling.BICUBIC)


def png_with(content: bytes, name: bytes, data: bytes) -> bytes:
    """A PNG file with one more chunk behind its header."""
    chunk = struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return content[:33] + chunk + content[33:]


@pytest.fixture(scope="module")
def kinds(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of the other tests, and such as OpenCV reads otherwise than Pillow."""
    folder = tmp_path_factory.mktemp("kinds")
    made: dict[str, bytes] = {}

    def save(name: str, image: Image.Image, **options: Any) -> bytes:
        file = io.BytesIO()
        image.save(file, name.rpartition(".")[2].replace("jpg", "jpeg"), **options)
        made[name] = file.getvalue()
        return file.getvalue()

    for orientation in (0, 1, 2, 3, 6, 8, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        exif[0x010F] = "maker" * 400
        save(f"turned{orientation}.jpg", photo(31, 22), exif=exif)
        save(f"turned{orientation}.png", photo(31, 22), exif=exif)
    for mode in ("L", "LA", "RGBA", "P", "1", "I;16"):
        image = photo(23, 17)
        if mode == "I;16":
            image = Image.fromarray(np.arange(391, dtype=np.uint16).reshape(17, 23) * 150)
        elif mode != "P":
            image = image.convert(mode)
        else:
            image = image.quantize(40)
        save(f"{mode.replace(';', '')}.png", image)
    save("shallow.png", photo(23, 17).convert("L").quantize(4), bits=2)
    save("cmyk.jpg", photo(23, 17).convert("CMYK"))
    save("rgb.jpg", photo(23, 17), keep_rgb=True)
    save("see.png", photo(23, 17), transparency=(1, 2, 3))
    save("moving.png", photo(23, 17), save_all=True, append_images=[photo(23, 17, 1)], default_image=False)
    plain = save("plain.png", photo(23, 17))
    made["deep.png"] = cv2.imencode(".png", np.random.default_rng(0).integers(0, 1 << 16, (9, 11, 3), np.uint16))[
        1
    ].tobytes()
    made["text.png"] = png_with(plain, b"tEXt", b"eXIf\0is a word here")
    made["cut.jpg"] = made["rgb.jpg"][:-40]
    made["zeros.jpg"] = made["rgb.jpg"][:500] + bytes(40) + made["rgb.jpg"][540:]
    made["empty.jpg"] = b""
    made["words.png"] = b"no image at all"
    for name, content in made.items():
        (folder / name).write_bytes(content)
    return [*files, *sorted(map(str, folder.iterdir())), str(folder / "missing.jpg"), str(folder)]


def read(path: str, flags: int) -> Any:
    array = cv2.imread(path, flags)
    return None if array is None else tensor(array)


def decode(content: bytes, flags: int) -> Any:
    array = cv2.imdecode(np.frombuffer(content, np.uint8), flags)
    return None if array is None else tensor(array)


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except cv2.error as error:
        return str(error)


@pytest.mark.parametrize("flags", FLAGS)
def test_files_are_read_as_opencv_reads_them(run: Any, kinds: list[str], flags: int) -> None:
    made = 0
    for path in kinds:
        want = outcome(read, path, flags)
        got, count, _ = run(outcome, read, path, flags)
        assert difference(want, got) is None, path
        made += count
        if os.path.isfile(path):
            content = Path(path).read_bytes()
            want = outcome(decode, content, flags)
            got, count, _ = run(outcome, decode, content, flags)
            assert difference(want, got) is None, path
            made += count
    assert made > 0 if flags in FLAGS[:7] else made == 0


def test_a_path_may_be_of_any_type(run: Any, jpeg: str) -> None:
    for path in (jpeg, Path(jpeg), os.fsencode(jpeg)):
        want = read(path, 1)  # type: ignore[arg-type]
        got, made, _ = run(read, path, 1)
        assert made == 1 and difference(want, got) is None


def test_files_that_opencv_turns_are_left_to_it(kinds: list[str]) -> None:
    for path in kinds:
        name = os.path.basename(path)
        if name.startswith("turned"):
            upright = name[6] == "1" and name.endswith("jpg")
            assert (opencv.read_file(os.fsencode(path), 1) is not None) == upright, name
            assert opencv.read_file(os.fsencode(path), 129) is not None, name


def array_step(r: random.Random, array: Any) -> Any:
    height, width = array.shape[:2]
    codes = [cv2.COLOR_BGR2RGB, cv2.COLOR_RGB2BGR, cv2.COLOR_BGR2GRAY, cv2.COLOR_RGB2GRAY, cv2.COLOR_GRAY2BGR]
    codes += [cv2.COLOR_RGB2HSV, cv2.COLOR_BGR2HSV, cv2.COLOR_HSV2RGB, cv2.COLOR_HSV2BGR, cv2.COLOR_RGB2LAB]
    borders = [cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101, cv2.BORDER_WRAP]
    y, x = r.randrange(height), r.randrange(width)
    size = (r.randint(1, 60), r.randint(1, 60))
    return r.choice(
        [
            lambda: cv2.resize(array, size, interpolation=r.choice([0, 1, 1, 2, 3, 3, 4, 5, 6])),
            lambda: cv2.resize(array, size),
            lambda: cv2.resize(array, None, fx=r.choice([0.5, 2, 0.37]), fy=r.choice([0.5, 1.0])),
            lambda: cv2.resize(array, (max(width // 2, 1), max(height // 2, 1)), interpolation=r.choice([1, 3])),
            lambda: cv2.cvtColor(array, r.choice(codes)),
            lambda: cv2.flip(array, r.choice([-1, 0, 1])),
            lambda: cv2.copyMakeBorder(
                array, 1, 2, 3, 4, r.choice(borders), value=r.choice([0, 7, (1, 2, 3), 2.7, None])
            ),
            lambda: array[y : y + r.randint(1, 40), x : x + r.randint(1, 40)],
            lambda: array[:, ::-1],
            lambda: array[..., ::-1],
            lambda: np.ascontiguousarray(array),
            lambda: cv2.GaussianBlur(array, (3, 3), 0),
            lambda: cv2.warpAffine(
                array,
                np.array(
                    [[0.9, r.uniform(-1, 1), 3], [r.uniform(-1, 1), 1.1, r.uniform(-9, 9)]], r.choice(["f4", "f8"])
                ),
                size,
                flags=r.choice([0, 1, 1, 17, 2]),
                borderMode=r.choice(borders),
                borderValue=r.choice([(), 7, (1, 2, 3)]),
            ),
            lambda: cv2.transpose(array),
            lambda: cv2.rotate(array, r.randrange(3)),
            lambda: np.rot90(array, r.randrange(-4, 5)),
            lambda: array.swapaxes(0, 1),
            lambda: cv2.merge([array] * 3),
            lambda: albucore.multiply_add(array, r.choice([0.7, 1.3]), r.choice([0, -20.5, 31.2])),
            lambda: albucore.add(array, r.choice([0, 9, -3.5, np.array([1.5, -2, 3])])),
            lambda: albucore.multiply(array, r.choice([0.5, 2, np.array([1.5, 2, 0.3])])),
            lambda: albucore.power(array, r.choice([1, 0.8])),
            lambda: albucore.sz_lut(array, np.arange(255, -1, -1, dtype=np.uint8), r.random() < 0.2),
            lambda: cv2.LUT(array, np.arange(255, -1, -1, dtype=np.uint8)),
            lambda: cv2.resize(array, (0, 4)),
        ]
    )()


def array_chain(path: str, seed: int) -> Any:
    """Arrays, and the errors on the way."""
    r = random.Random(seed)
    arrays: list[Any] = [cv2.imread(path, r.choice(FLAGS[:4]))]
    said: list[Any] = []
    for _ in range(r.randint(1, 7)):
        array = arrays[r.randrange(len(arrays))] if r.random() < 0.2 else arrays[-1]
        try:
            arrays.append(array_step(r, array))
        except Exception as error:
            said.append((type(error).__name__, str(error).partition("error:")[2][:60]))
        if r.random() < 0.1:
            arrays[-1][0] = 3
        said.append((arrays[-1].shape, arrays[-1].dtype, arrays[-1].strides))
    return [tensor(array) for array in arrays], said


@pytest.mark.timeout(600)
def test_random_chains_of_opencv_s_functions(run: Any, files: list[str]) -> None:
    paths = [path for path in files if not path.endswith("bmp")]
    made = real = 0
    for number in range(CHAINS):
        path = paths[number % len(paths)]
        want = array_chain(path, number)
        got, count, reasons = run(array_chain, path, number)
        assert difference(want, got) is None, f"chain {number} on {path}"
        made += count
        real += len(reasons)
    assert made > CHAINS / 2 and real > CHAINS / 4


def test_functions_that_are_not_recorded_get_real_arrays(run: Any, jpeg: str) -> None:
    def many(path: str) -> Any:
        array = cv2.imread(path)
        parts = cv2.split(array)
        grey = cv2.imread(path, cv2.IMREAD_COLOR)[..., 1]
        inside = cv2.dnn.blobFromImage(cv2.imread(path)), cv2.createCLAHE(2.0, (4, 4)).apply(grey)
        return [cv2.Canny(array, 10, 20), cv2.merge(parts), cv2.mean(array), cv2.vconcat([array, array]), inside]

    want = many(jpeg)
    got, made, reasons = run(many, jpeg)
    assert difference(want, got) is None and made == 0
    assert reasons == ["cv2.split", "cv2.blobFromImage", "cv2.apply"]


TRANSFORMS: dict[str, list[Any]] = {
    "random resized crop": [A.RandomResizedCrop((24, 25)), A.HorizontalFlip(), A.VerticalFlip()],
    "nearest": [A.RandomResizedCrop((24, 25), interpolation=cv2.INTER_NEAREST)],
    "area": [A.RandomResizedCrop((24, 25), scale=(0.5, 1), area_for_downscale="image")],
    "resize": [A.Resize(30, 31, interpolation=cv2.INTER_AREA)],
    "smallest side": [A.SmallestMaxSize(36), A.CenterCrop(32, 32)],
    "longest side": [A.LongestMaxSize(30), A.PadIfNeeded(32, 33, border_mode=cv2.BORDER_CONSTANT, fill=(1, 2, 3))],
    "padded crop": [A.RandomCrop(70, 40, pad_if_needed=True, border_mode=cv2.BORDER_REFLECT_101)],
    "quarter turns": [A.Resize(30, 31), A.RandomRotate90(p=1), A.Transpose(), A.D4(p=1), A.HorizontalFlip()],
    "light": [A.RandomBrightnessContrast(p=1), A.RandomGamma(), A.Solarize(), A.Posterize(), A.InvertImg()],
    "each channel": [A.RGBShift(p=1), A.RandomBrightnessContrast(), A.Resize(20, 30)],
    "grey": [A.ToGray(p=1), A.RandomBrightnessContrast(), A.RandomResizedCrop((24, 25))],
    "affine": [A.Resize(30, 31), A.ShiftScaleRotate(p=1), A.Affine(rotate=30, p=1, border_mode=cv2.BORDER_REFLECT_101)],
    "rotations": [A.Rotate(p=1, border_mode=cv2.BORDER_REPLICATE), A.SafeRotate(p=1), A.Resize(24, 37)],
    "hue": [A.HueSaturationValue(p=1), A.RandomResizedCrop((24, 37)), A.ChannelShuffle(), A.HueSaturationValue()],
    "choice": [A.OneOf([A.HorizontalFlip(p=1), A.Resize(33, 34), A.RandomCrop(20, 21)]), A.Resize(16, 16)],
}


@pytest.mark.parametrize("last", ["normalize", "float", "bytes"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_albumentations_transforms_are_native(run: Any, files: list[str], name: str, last: str) -> None:
    ends = {"normalize": [A.Normalize()], "float": [A.ToFloat(max_value=255)], "bytes": []}[last]
    transform = A.Compose([*TRANSFORMS[name], *ends, ToTensorV2()])

    def apply(path: str, seed: int) -> Any:
        transform.set_random_seed(seed)
        return torch.stack([transform(image=cv2.imread(path))["image"]])

    for number, path in enumerate(path for path in files if path.endswith(("jpg", "png"))):
        want = apply(path, number)
        got, made, reasons = run(apply, path, number)
        assert difference(want, got) is None, path
        if opencv.read_file(os.fsencode(path), 1) is not None:
            assert (made, reasons) == (1, []), path


class Photos(data.Dataset[Any]):
    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.transform = A.Compose([A.RandomResizedCrop((24, 24)), A.HorizontalFlip(), A.Normalize(), ToTensorV2()])

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> Any:
        image = cv2.imread(self.paths[i])
        if image is None:
            raise FileNotFoundError(self.paths[i])
        self.transform.set_random_seed(i)
        return self.transform(image=image)["image"]


@pytest.mark.parametrize("workers", [0, 2])
def test_damaged_and_missing_files_are_opencv_s_matter(tmp_path: Path, workers: int) -> None:
    paths = []
    for i in range(40):
        path = tmp_path / f"{i}.jpg"
        photo(60, 50, i).save(path, quality=90)
        content = bytearray(path.read_bytes())
        if i == 17:  # libjpeg warns, and goes on
            content[len(content) // 2 : len(content) // 2 + 30] = bytes(30)
        path.write_bytes(content)
        paths.append(str(path))
    os.remove(paths[22])
    want = batches(data.DataLoader(Photos(paths), 4, num_workers=workers), FileNotFoundError)
    loader = goloader.DataLoader(Photos(paths), 4, num_workers=workers)
    assert difference(want, batches(loader, FileNotFoundError)) is None
    assert door.record(loader).on


def test_an_opencv_that_is_not_known_records_nothing(jpeg: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from goloader.doors.recipe.hooks import opencv as hook

    monkeypatch.setattr(opencv, "is_known", lambda: False)
    by_name = {name: make(vars(owner)[name]) for owner, name, make in hook.fronts()}
    assert set(by_name) >= {"imread", "resize", "Canny"}
    with recording(Session()):
        assert type(by_name["imread"](jpeg)) is np.ndarray


def test_an_opencv_that_rounds_otherwise_keeps_its_affine_transforms(
    run: Any, jpeg: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def turn(path: str) -> Any:
        array = cv2.cvtColor(cv2.imread(path), cv2.COLOR_RGB2HSV)
        return tensor(cv2.warpAffine(array, np.array([[0.9, 0.2, 3], [0.1, 1, 0]]), (9, 8)))

    want = turn(jpeg)
    assert run(turn, jpeg)[1:] == (1, [])
    monkeypatch.setattr(opencv, "fuses", lambda: False)
    got, made, reasons = run(turn, jpeg)
    assert difference(want, got) is None and (made, reasons) == (0, ["cv2.warpAffine"])


@pytest.mark.slow
def test_a_program_without_pillow_is_recorded(tmp_path: Path) -> None:
    for i in range(4):
        photo(40, 30, i).save(tmp_path / f"{i}.jpg")
    program = f"""
import sys, cv2, torch, goloader
class Own:
    def __len__(self): return 4
    def __getitem__(self, i): return torch.from_numpy(cv2.resize(cv2.imread(r"{tmp_path}/" + str(i) + ".jpg"), (9, 8)))
assert "PIL.Image" not in sys.modules
loader = goloader.DataLoader(Own(), 2)
for _ in range(2):
    assert [batch.shape for batch in loader] == [(2, 8, 9, 3)] * 2
assert "6 images" in str(loader.explain()), loader.explain()
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ), timeout=280)
