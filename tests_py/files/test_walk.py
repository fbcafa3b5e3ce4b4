"""Files of an image folder listed in the core: torchvision's list, from disk and from an index that cannot lie."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from torchvision.datasets.folder import IMG_EXTENSIONS, find_classes, make_dataset

from goloader import _native
from goloader.storage.files import Files, walk

# Characters that sort otherwise as bytes, as code points and as UTF-16; \udce9 is a byte that is not UTF-8.
LETTERS = ["a", "b", "B", "-", ".", "_", "é", "\udce9", "中", "\uf8ff", "\U0001f600"]
ENDS = [".jpg", ".JPG", ".txt", ".TiF", "jpg", ".webp", ".jpeg", ".jpg.part", ""]


def grow(root: Path, seed: int) -> None:
    """A random tree: nested folders, odd names, links to folders and to nowhere, other files."""
    chosen = random.Random(seed)

    def name() -> str:
        return "x" + "".join(chosen.choices(LETTERS, k=chosen.randint(0, 4)))

    elsewhere = root.parent / f"{root.name}.elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far.png").touch()
    folders = []
    for _ in range(chosen.randint(1, 4)):
        folder = root / name()
        folder.mkdir(parents=True, exist_ok=True)
        folders.append(folder)
    for _ in range(chosen.randint(0, 40)):
        folder, kind = chosen.choice(folders), chosen.random()
        new = folder / (name() + chosen.choice(ENDS))
        if new.is_symlink() or new.exists():
            continue
        if kind < 0.3:
            new.mkdir()
            folders.append(new)
        elif kind < 0.4:
            new.symlink_to(elsewhere)
        elif kind < 0.5:
            new.symlink_to("nowhere")
        else:
            new.touch()


def torchvisions(root: Path) -> list[tuple[str, int]]:
    return make_dataset(str(root), find_classes(str(root))[1], IMG_EXTENSIONS, allow_empty=True)


def ours(root: Path, index: Path | None = None) -> Files:
    return walk(str(root), find_classes(str(root))[0], IMG_EXTENSIONS, index=index)


def settle(root: Path) -> None:
    """Makes all directories as old as an index wants them, those behind links too."""
    for directory, _, _ in os.walk(root.parent):
        os.utime(directory, (time.time() - 60, time.time() - 60))


@pytest.mark.parametrize("seed", range(60))
def test_files_are_those_of_torchvision_in_its_order(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "root"
    grow(root, seed)
    want = torchvisions(root)
    got = ours(root)
    assert list(got) == want
    assert got == want
    assert [got[i] for i in range(-len(want), 0)] == want
    assert got[1::2] == want[1::2]
    assert pickle.loads(pickle.dumps(got)) == want


def test_a_loop_of_links_ends_where_it_ends_for_python(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up.jpg").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "0.jpg").touch()
    want = torchvisions(tmp_path)
    assert len(want) > 30
    assert list(ours(tmp_path)) == want


def test_no_index_reaches_beyond_the_list(tmp_path: Path) -> None:
    grow(tmp_path / "root", 3)
    files = ours(tmp_path / "root")
    for index in (len(files), -len(files) - 1):
        with pytest.raises(IndexError):
            files[index]


def test_an_index_file_gives_the_list_and_notices_changes(tmp_path: Path) -> None:
    root, index = tmp_path / "root", tmp_path / "list"
    grow(root, 5)
    settle(root)
    first = ours(root, index)
    written = index.read_bytes()  # the time of listing is in it
    assert ours(root, index) == first == torchvisions(root)
    assert index.read_bytes() == written
    folder = next(path for path in root.rglob("*") if path.is_dir())
    (folder / "new.jpg").touch()
    assert ours(root, index) == torchvisions(root) != first
    assert index.read_bytes() != written


def test_an_index_of_a_folder_changed_just_now_is_not_trusted(tmp_path: Path) -> None:
    root, index = tmp_path / "root", tmp_path / "list"
    grow(root, 6)
    ours(root, index)
    folder = next(path for path in root.rglob("*") if path.is_dir())
    times = folder.stat()
    (folder / "new.jpg").touch()
    # As if the clock of the file system had not moved on.
    os.utime(folder, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert ours(root, index) == torchvisions(root)


def test_the_index_of_another_folder_is_not_trusted(tmp_path: Path) -> None:
    index = tmp_path / "list"
    for seed in (7, 8):
        root = tmp_path / str(seed)
        grow(root, seed)
        settle(root)
        assert ours(root, index) == torchvisions(root)
        assert walk(str(root), find_classes(str(root))[0], (".txt",), index=index) == make_dataset(
            str(root), find_classes(str(root))[1], (".txt",), allow_empty=True
        )


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_index_is_a_warning_and_not_a_wrong_list(tmp_path: Path, seed: int) -> None:
    root, index = tmp_path / "root", tmp_path / "list"
    grow(root, 9)
    settle(root)
    want = list(ours(root, index))
    sound = index.read_bytes()
    chosen = random.Random(seed)
    damaged = bytearray(sound)
    if seed % 3 == 0:
        del damaged[chosen.randrange(len(damaged)) :]
    elif seed % 3 == 1:
        damaged[chosen.randrange(len(damaged))] ^= 1 << chosen.randrange(8)
    else:
        damaged += bytes(chosen.randrange(1, 100))
    index.write_bytes(damaged)
    with pytest.warns(UserWarning, match="index .*list: the index is damaged"):
        assert list(ours(root, index)) == want
    assert ours(root, index) == want


def test_an_index_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(root, 10)
    with pytest.warns(UserWarning, match="next start will list all again"):
        assert list(ours(root, tmp_path / "nowhere" / "list")) == torchvisions(root)


def test_a_full_disk_leaves_no_half_index(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(root, 11)
    text = """
    import os, resource, signal, sys, warnings
    from goloader.storage.files import walk
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        files = walk(sys.argv[1], sorted(os.listdir(sys.argv[1])), (".jpg",), index=sys.argv[2])
    print(len(seen))
    """
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), str(root), str(tmp_path / "list")],
        capture_output=True, text=True, check=True, timeout=280,
    ).stdout  # fmt: skip
    assert out == "1\n"
    assert not list(tmp_path.glob("list*"))


def test_lists_go_when_their_last_view_goes(tmp_path: Path) -> None:
    grow(tmp_path / "root", 12)
    before = _native.live()
    files = ours(tmp_path / "root")
    labels = files.labels
    del files
    assert _native.live()["indexes_blocks"] == before["indexes_blocks"] + 1
    del labels
    assert _native.live() == before


def test_ctrl_c_ends_a_walk(tmp_path: Path) -> None:
    # Two links in a loop: a tree of 2^40 directories.
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("up", "too"):
        (tmp_path / "a" / "b" / name).symlink_to(tmp_path / "a")
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = _native.live()
    try:
        with pytest.raises(KeyboardInterrupt):
            walk(str(tmp_path), ["a"], (".jpg",), progress=lambda _: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, previous)
    assert _native.live() == before
