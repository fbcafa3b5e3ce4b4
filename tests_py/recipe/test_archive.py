"""Archives that webdataset reads: their members are those that tarfile gives, whatever is in them."""

from __future__ import annotations

import io
import random
import tarfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from goloader.doors.recipe.files.archive import Archive

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
ATTRIBUTES = ("name", "size", "type", "mtime", "mode", "uid", "gid", "uname", "gname", "linkname")


def told(stream: Any) -> list[Any]:
    """All that a reader of a stream sees, and how it ends."""
    seen: list[Any] = []
    try:
        for member in stream:
            seen.append([getattr(member, name) for name in ATTRIBUTES])
            if member.isreg():
                seen.append(stream.extractfile(member).read())
            stream.members = []
    except Exception as error:
        seen.append((type(error), str(error)))
    return seen


def both(path: Path) -> tuple[list[Any], list[Any], Archive | None]:
    with open(path, "rb") as file, open(path, "rb") as other:
        archive = Archive.of(file, partial(tarfile.open, fileobj=file, mode="r|*"))
        try:
            with tarfile.open(fileobj=other, mode="r|*") as whole:
                theirs = told(whole)
        except tarfile.ReadError:
            assert archive is None
            return [], [], None
        return theirs, [] if archive is None else told(archive), archive


def write(path: Path, kind: int, draws: random.Random, odd: bool) -> None:
    with tarfile.open(path, "w", format=kind) as archive:
        for number in range(draws.randrange(1, 12)):
            name = (
                draws.choice(("a", "b/c", "\u00fc", "long" * draws.randrange(1, 60), "folder/" * 8)) + f"{number}.jpg"
            )
            member = tarfile.TarInfo(name[-90:] if kind == tarfile.USTAR_FORMAT else name)
            member.size = draws.choice((0, 1, 511, 512, 513, 5000))
            member.mtime, member.uname = draws.choice((0, 7, 1700000000.25)), draws.choice(("", "root"))
            if kind != tarfile.PAX_FORMAT:
                member.mtime = int(member.mtime)
            if odd and draws.random() < 0.3:
                member.type = draws.choice((tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.AREGTYPE))
                member.linkname = "a" if member.type in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            if not member.isreg():
                member.size = 0
            archive.addfile(member, io.BytesIO(draws.randbytes(member.size)))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("odd", [False, True])
def test_members_are_tarfiles(kind: str, odd: bool, tmp_path: Path) -> None:
    read = 0
    for number in range(60):
        path = tmp_path / "archive.tar"
        write(path, FORMATS[kind], random.Random(number), odd)
        theirs, ours, archive = both(path)
        if archive is not None:
            assert ours == theirs, number
            read += archive._tarfile is None
    assert read >= (10 if odd else 30)


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_archives_end_as_with_tarfile(kind: str, tmp_path: Path) -> None:
    draws = random.Random(3)
    told_errors, handed_over = 0, 0
    for _ in range(150):
        path = tmp_path / "archive.tar"
        write(path, FORMATS[kind], draws, False)
        content = bytearray(path.read_bytes())
        if draws.random() < 0.5:
            del content[draws.randrange(600, len(content)) :]
        else:
            for _ in range(draws.randrange(1, 4)):
                block = draws.randrange(1, len(content) // 512)
                content[512 * block + draws.choice((0, 120, 130, 150, 156, 345, 400))] = draws.randrange(256)
        path.write_bytes(content)
        theirs, ours, archive = both(path)
        if archive is not None:
            assert ours == theirs
            told_errors += isinstance(ours[-1], tuple)
            handed_over += archive._tarfile is not None
    assert told_errors >= 10
    assert handed_over >= 20


def test_what_is_no_plain_file_is_left_to_tarfile(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    with open(path, "rb") as file:
        assert Archive.of(file, partial(tarfile.open, fileobj=file, mode="r|*")) is None
    assert Archive.of(io.BytesIO(path.read_bytes()), tarfile.open) is None
    assert Archive.of(file, tarfile.open) is None  # closed
