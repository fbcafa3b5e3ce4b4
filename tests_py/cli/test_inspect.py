"""python -m goloader inspect and index: what files hold, a sheet of their images, and lists made ahead."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import numpy as np
import photos
import pytest
from PIL import Image

from goloader.cli import main
from goloader.datasets import ImageFolder, TarDataset, TarImages

COLOURS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (250, 200, 0)]


def image_of(colour: tuple[int, int, int]) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (320, 200), colour).save(file, "PNG")
    return file.getvalue()


def archive(path: Path, *, classes: bool = True) -> Path:
    """Four samples of one colour each."""
    with tarfile.open(path, "w") as written:
        for number, colour in enumerate(COLOURS):
            files = {"png": image_of(colour), "txt": b"a caption"} | ({"cls": b"%d" % number} if classes else {})
            for suffix, body in files.items():
                member = tarfile.TarInfo(f"{number:03d}.{suffix}")
                member.size = len(body)
                written.addfile(member, io.BytesIO(body))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, colour in enumerate(COLOURS):
        below = tmp_path / "folder" / f"class{number % 2}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{number}.png").write_bytes(image_of(colour))
    return tmp_path / "folder"


def colours_on(sheet: Path, count: int) -> list[tuple[int, int, int]]:
    """The colour in the middle of each image of a sheet with one row."""
    with Image.open(sheet) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    width = pixels.shape[1] // count
    return [tuple(map(int, pixels[50, n * width + width // 2])) for n in range(count)]  # type: ignore[misc]


def test_archives_have_their_files_by_suffix_and_a_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, sheet = archive(tmp_path / "a.tar"), tmp_path / "sheet.png"
    assert main(["inspect", str(path), "--sheet", str(sheet)]) == 0
    size = sum(len(image_of(colour)) for colour in COLOURS)
    assert capsys.readouterr().out.splitlines() == [
        f"tar archives: 4 samples, {path.stat().st_size:,} bytes in 1 files",
        f"  png  4 files, {size:,} bytes",
        "  txt  4 files, 36 bytes",
        "  cls  4 files, 4 bytes",
        f"4 images in {sheet}",
    ]
    assert colours_on(sheet, 4) == COLOURS
    assert not list(tmp_path.glob("*.goloader"))


def test_a_folder_has_its_classes_and_a_sheet_of_some(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = folder.parent / "sheet.png"
    assert main(["inspect", str(folder), "--sheet", str(sheet), "--samples", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("a folder of images: 4 samples, ")
    assert "  class1  class 1, 2 images\n" in printed
    assert colours_on(sheet, 2) == [COLOURS[0], COLOURS[1]]  # samples 0 and 2 are the first of either class


def test_what_has_no_image_has_no_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as written:
        member = tarfile.TarInfo("0.txt")
        member.size = 4
        written.addfile(member, io.BytesIO(b"text"))
    with pytest.raises(SystemExit) as left:
        main(["inspect", str(tmp_path / "a.tar"), "--sheet", str(tmp_path / "sheet.png")])
    assert left.value.code == 2
    assert "none of these samples has an image" in capsys.readouterr().err


def test_lists_of_archives_are_made_ahead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "a.tar", "b.tar":
        os.utime(archive(tmp_path / name), (1e9, 1e9))  # what has just been written is listed anew
    given = str(tmp_path / "{a,b}.tar")
    assert main(["index", given]) == 0
    assert capsys.readouterr().out.splitlines() == ["8 samples of 24 files", "8 of them images with a class"]
    kept = {path.name: path.stat() for path in tmp_path.glob("*.goloader")}
    assert set(kept) == {"a.tar.members.goloader", "a.tar.images.goloader"}
    assert len(TarDataset(given)) == len(TarImages(given)) == 8
    after = {path.name: path.stat() for path in tmp_path.glob("*.goloader")}
    assert {name: stat.st_mtime_ns for name, stat in after.items()} == {n: s.st_mtime_ns for n, s in kept.items()}


def test_archives_without_classes_have_the_list_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = archive(tmp_path / "a.tar", classes=False)
    assert main(["index", str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("4 samples of 8 files\nno list of images: ")
    assert [each.name for each in tmp_path.glob("*.goloader")] == ["a.tar.members.goloader"]


def test_a_folder_is_listed_ahead(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(folder)]) == 0
    assert capsys.readouterr().out == "4 images of 2 classes\n"
    assert (folder / ".goloader").is_file()
    assert len(ImageFolder(folder, index=True).samples) == 4


@pytest.mark.parametrize("name", ["nothing.tar", "text.txt"])
def test_what_cannot_be_listed_is_an_error(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    photos.fill(tmp_path / "unused", photos.plain(1))
    (tmp_path / "text.txt").write_text("text")
    with pytest.raises(SystemExit) as left:
        main(["index", str(tmp_path / name)])
    assert left.value.code == 2
    assert name in capsys.readouterr().err or name == "text.txt"
