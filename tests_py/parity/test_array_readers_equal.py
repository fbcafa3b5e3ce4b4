"""Classes of one's own that read a file of numbers for each sample, by np.fromfile, np.loadtxt, np.genfromtxt, np.load
of .npz files, pickle.load or torch.load: batches, errors, warnings and what is seen of changes are torch's."""

from __future__ import annotations

import gzip
import os
import pickle
import zipfile
from collections.abc import Callable
from functools import partial
from inspect import getsource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset
from twins import Program, batches, check, errors, loader_of

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])
COUNT = 19


class Files(Dataset[Any]):
    def __init__(self, root: Path, **attributes: Any) -> None:
        self.root = str(root)
        self.paths = [str(root / f"{number}.data") for number in range(COUNT)]
        vars(self).update(attributes)

    def __len__(self) -> int:
        return len(self.paths)


class Items(Files):
    def __getitem__(self, i: int) -> Any:
        return np.fromfile(self.paths[i], dtype=np.float32).reshape(-1, 4), i


class Doubles(Files):
    def __getitem__(self, i: int) -> Any:
        return torch.from_numpy(np.fromfile(f"{self.root}/{i}.data", count=-1))[2:]


class Shorts(Files):
    def __getitem__(self, i: int) -> Any:
        return np.fromfile(self.paths[i], "int16").astype(np.float32) / 32768.0


class Lines(Files):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor(np.loadtxt(os.path.join(self.root, f"{i}.data")), dtype=torch.float32), i


class Centred(Files):
    def __getitem__(self, i: int) -> Any:
        points = np.loadtxt(self.paths[i], delimiter=",", skiprows=1, dtype=np.float32)[:, :3]
        return points - np.array([1, 2, 3], np.float32)


class Generated(Files):
    def __getitem__(self, i: int) -> Any:
        return torch.from_numpy(np.genfromtxt(self.paths[i], delimiter=";", skip_header=2))


class Saved(Files):
    def __getitem__(self, i: int) -> Any:
        return torch.load(self.paths[i], weights_only=True), torch.tensor(i)


class SavedOnCpu(Files):
    def __getitem__(self, i: int) -> Any:
        return torch.load(self.paths[i], map_location="cpu", weights_only=True).float() * 2


class SavedByDevice(Files):
    device = torch.device("cpu")

    def __getitem__(self, i: int) -> Any:
        return {"x": torch.load(self.paths[i], self.device, weights_only=False)}


class Archived(Files):
    def __getitem__(self, i: int) -> Any:
        return np.load(self.paths[i])["x"]


class ArchivedBoth(Files):
    def __getitem__(self, i: int) -> Any:
        with np.load(self.paths[i]) as data:
            x, y = data["x"].astype(np.float32), data["y"]
        return torch.from_numpy(x).unsqueeze(0) / 255, torch.tensor(y)


class ArchivedAsked(Files):
    def __getitem__(self, i: int) -> Any:
        data = np.load(os.path.join(self.root, f"{i}.data"), allow_pickle=True)
        return {"image": data["x"][..., 0], "label": data["y"], "index": i}


class Named(Files):
    def __getitem__(self, i: int) -> Any:
        sample = torch.load(self.paths[i], weights_only=True)
        return sample["x"], sample["y"]


class Unpacked2(Files):
    def __getitem__(self, i: int) -> Any:
        x, y = torch.load(self.paths[i], weights_only=True)
        return x.float(), y


class Placed(Files):
    def __getitem__(self, i: int) -> Any:
        data = torch.load(self.paths[i], weights_only=True)
        return {"x": data[0], "y": data[1]}


class Pickled(Files):
    def __getitem__(self, i: int) -> Any:
        with open(self.paths[i], "rb") as file:
            return pickle.load(file), i


class PickledNamed(Files):
    def __getitem__(self, i: int) -> Any:
        with open(os.path.join(self.root, f"{i}.data"), "rb") as file:
            sample = pickle.load(file, encoding="latin1")
        return torch.from_numpy(sample["x"]).float(), torch.tensor(sample["y"])


class PickledUnpacked(Files):
    def __getitem__(self, i: int) -> Any:
        x, y = pickle.load(open(self.paths[i], "rb"))  # noqa: SIM115
        return {"x": x[1:], "y": y}


def numbers(seed: int, *shape: int) -> Any:
    """Of all sizes, some of them 0, and some with few digits."""
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape) * 10.0 ** rng.integers(-30, 30, shape)
    return np.where(rng.random(shape) < 0.3, np.round(rng.standard_normal(shape), 2), made)


def to_items(dtype: Any) -> Any:
    return lambda path, seed: (numbers(seed, 6, 4) * 0.01).clip(-9000, 9000).astype(dtype).tofile(path)


def to_lines(**options: Any) -> Any:
    return lambda path, seed: np.savetxt(path, numbers(seed, 5, 4), **options)


def to_tensor(dtype: Any, *shape: int) -> Any:
    return lambda path, seed: torch.save(torch.from_numpy(numbers(seed, *shape)).clamp(-99, 99).to(dtype), path)


def to_arrays(save: Any, *shape: int, dtype: Any = np.float32) -> Any:
    return lambda path, seed: save(
        path.open("wb"), x=numbers(seed, *shape).clip(-99, 99).astype(dtype), y=np.int64(seed)
    )


def to_both(make: Callable[[Any, Any], Any], label: Callable[[int], Any] = int) -> Any:
    return lambda path, seed: torch.save(make(torch.from_numpy(numbers(seed, 3, 4)), label(seed)), path)


def to_pickle(make: Callable[[Any, Any], Any], protocol: int, dtype: Any = np.float32) -> Any:
    return lambda path, seed: path.write_bytes(
        pickle.dumps(make(numbers(seed, 3, 4).clip(0, 99).astype(dtype), seed), protocol)
    )


READ: dict[str, tuple[type[Files], Callable[[Path, int], Any]]] = {
    "items": (Items, to_items(np.float32)),
    "doubles": (Doubles, to_items(np.float64)),
    "items and a rest": (Shorts, lambda path, seed: path.write_bytes(bytes(range(seed, seed + 19)))),
    "lines": (Lines, to_lines()),
    "one column": (Lines, lambda path, seed: np.savetxt(path, numbers(seed, 7), fmt="%.6g")),
    "blanks": (Lines, lambda path, seed: path.write_text(f" 1\t 2.5  \n\t-{seed}.  +.5e-3\r\n0 -0")),
    "columns": (Centred, to_lines(delimiter=",", header="x,y,z,w", comments="", fmt="%.9g")),
    "generated": (Generated, to_lines(delimiter=";", header="a\nb", fmt="%10.4f")),
    "integers": (Generated, lambda path, seed: path.write_text(f"a\nb\n1;{seed}\n-7;9007199254740993\n")),
    "tensor": (Saved, to_tensor(torch.float32, 3, 1, 5)),
    "number": (Saved, to_tensor(torch.float64)),
    "many dimensions": (Saved, to_tensor(torch.int64, 1, 2, 1, 3, 300)),
    "bools": (Saved, to_tensor(torch.bool, 70)),
    "halves": (Saved, to_tensor(torch.float16, 40, 40)),
    "shorts": (SavedOnCpu, to_tensor(torch.int16, 40, 40)),
    "bytes": (SavedByDevice, to_tensor(torch.uint8, 3, 200, 100)),
    "archive": (Archived, to_arrays(np.savez, 3, 5)),
    "compressed": (Archived, to_arrays(np.savez_compressed, 30, 50, dtype=np.uint8)),
    "archive of two": (ArchivedBoth, to_arrays(np.savez, 70, 80, dtype=np.int16)),
    "compressed, of two": (ArchivedBoth, to_arrays(np.savez_compressed, 200, 100)),
    "archive by names": (ArchivedAsked, to_arrays(np.savez, 9, 8, 3, dtype=np.uint8)),
    "dict": (Named, to_both(lambda x, y: {"x": x, "y": y})),
    "dict of tensors": (Named, to_both(lambda x, y: {"other": [None, "a", 1.5, (x,)], "y": y, "x": x}, torch.tensor)),
    "dict with a float": (Named, to_both(lambda x, y: {"x": x, "y": y}, lambda seed: seed / 7)),
    "tuple": (Unpacked2, to_both(lambda x, y: (x, y))),
    "list": (Unpacked2, to_both(lambda x, y: [x, y], torch.tensor)),
    "items of a tuple": (Placed, to_both(lambda x, y: (x, y, "more"))),
    **{f"pickled {np.dtype(dtype)}": (Pickled, to_pickle(lambda x, y: x, 3 + number % 3, dtype)) for number, dtype in
       enumerate(["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "?"])},
    "pickled numbers": (Pickled, to_pickle(lambda x, y: x[1, 2], 4)),
    "pickled ints": (Pickled, to_pickle(lambda x, y: y, 4)),
    "large and pickled": (Pickled, to_pickle(lambda x, y: np.tile(x, (300, 200)), 4)),
    "large and pickled by protocol 5": (Pickled, to_pickle(lambda x, y: np.tile(x, (300, 200)), 5)),
    "pickled dict": (PickledNamed, to_pickle(lambda x, y: {"y": y, "x": x, "z": ["a", None, x]}, 4)),
    "pickled dict of numpy's": (PickledNamed, to_pickle(lambda x, y: {"x": x, "y": np.int64(y)}, 5)),
    "pickled tuple": (PickledUnpacked, to_pickle(lambda x, y: (x, np.float32(y / 7)), 4, np.uint8)),
    "pickled list": (PickledUnpacked, to_pickle(lambda x, y: [x, y / 7], 3)),
}  # fmt: skip


def written(root: Path, write: Callable[[Path, int], Any], number: int | None = None) -> None:
    for each in range(COUNT) if number is None else [number]:
        write(root / f"{each}.data", each)


def program(dataset: Any, num_workers: int, **arguments: Any) -> Program:
    return Program(loader_of(dataset, **{"batch_size": 4, "shuffle": True, "num_workers": num_workers, **arguments}))


@WORKERS
@pytest.mark.parametrize("name", READ)
def test_files_are_read_as_their_library_does(name: str, num_workers: int, tmp_path: Path) -> None:
    kind, write = READ[name]
    written(tmp_path, write)
    assert batches(check(program(kind(tmp_path), num_workers)))


def first(batch: Any) -> Any:
    return [each[0] if isinstance(each, tuple) else each for each in batch]


@WORKERS
@pytest.mark.parametrize("kind", [Lines, Saved, Shorts, Archived, Named, Pickled])
def test_files_that_differ_in_length(kind: type[Files], num_workers: int, tmp_path: Path) -> None:
    writes: dict[Any, Any] = {
        Lines: lambda path, seed: np.savetxt(path, numbers(seed, 2 + seed % 5, 3)),
        Archived: lambda path, seed: np.savez(path.open("wb"), x=numbers(seed, 3 + seed % 7)),
        Named: lambda path, seed: torch.save({"x": torch.arange(float(3 + seed % 7)), "y": seed}, path),
        Pickled: lambda path, seed: path.write_bytes(pickle.dumps(numbers(seed, 3 + seed % 7, 2))),
        Saved: lambda path, seed: torch.save(torch.arange(float(3 + seed % 7)), path),
        Shorts: lambda path, seed: np.arange(300 + seed, dtype=np.int16).tofile(path),
    }
    written(tmp_path, writes[kind])
    check(program(kind(tmp_path), num_workers, collate_fn=lambda: first), native=kind is not Lines or None)


OTHER: dict[str, Callable[[Path, int], Any]] = {
    # Of lines.
    "a comment": lambda path, seed: path.write_text("# x\n1 2\n3 4\n"),
    "a comment behind": lambda path, seed: path.write_text("1 2 # x\n3 4\n"),
    "blank lines": lambda path, seed: path.write_text("1 2\n\n3 4\n\n"),
    "not a number": lambda path, seed: path.write_text("1 nan\ninf 4\n"),
    "a word": lambda path, seed: path.write_text("1 2\n3 x\n"),
    "other counts": lambda path, seed: path.write_text("1 2\n3 4 5\n"),
    "one line": lambda path, seed: path.write_text("1 2\n"),
    "too large": lambda path, seed: path.write_text("1 2\n3 1e400\n"),
    "an underscore": lambda path, seed: path.write_text("1 2\n3 1_0\n"),
    "hexadecimal": lambda path, seed: path.write_text("1 2\n3 0x10\n"),
    "old Macs": lambda path, seed: path.write_bytes(b"1 2\r3 4\r"),
    "no ASCII": lambda path, seed: path.write_bytes("1 2\n3\u00a04\n".encode()),
    "empty": lambda path, seed: path.write_bytes(b""),
    "compressed": lambda path, seed: path.write_bytes(gzip.compress(b"1 2\n3 4\n")),
    # Of tensors.
    "transposed": lambda path, seed: torch.save(torch.ones(2, 3).t(), path),
    "a part": lambda path, seed: torch.save(torch.ones(9)[2:5], path),
    "a parameter": lambda path, seed: torch.save(torch.nn.Parameter(torch.ones(3)), path),
    "with grad": lambda path, seed: torch.save(torch.ones(3, requires_grad=True), path),
    "a list": lambda path, seed: torch.save([1, 2], path),
    "a dict": lambda path, seed: torch.save({"x": torch.ones(2)}, path),
    "old format": lambda path, seed: torch.save(torch.ones(2), path, _use_new_zipfile_serialization=False),
    "bfloat16": lambda path, seed: torch.save(torch.ones(2, dtype=torch.bfloat16), path),
    "sparse": lambda path, seed: torch.save(torch.eye(3).to_sparse(), path),
    "another protocol": lambda path, seed: torch.save(torch.ones(2, 2), path, pickle_protocol=4),
    "no archive": lambda path, seed: path.write_bytes(b"PK\3\4" + bytes(60)),
}
# Of archives and of dicts.
OTHER_ARCHIVES: dict[str, Callable[[Path, int], Any]] = {
    "without it": lambda path, seed: np.savez(path.open("wb"), z=np.ones(3)),
    "of objects": lambda path, seed: np.savez(path.open("wb"), x=np.array([None, {}], object), y=1),
    "in Fortran's order": lambda path, seed: np.savez(path.open("wb"), x=np.asfortranarray(np.ones((30, 50))), y=1),
    "another shape": lambda path, seed: np.savez(path.open("wb"), x=np.ones((3, seed + 1)), y=1),
    "an array": lambda path, seed: np.save(path.open("wb"), np.ones((3, 5), np.float32)),
    "text": lambda path, seed: path.write_text("1 2"),
    "empty": lambda path, seed: path.write_bytes(b""),
    "nothing": lambda path, seed: np.savez(path.open("wb")),
    "in the whole": lambda path, seed: archived(path, "x", b"not an array"),
    "a member of bytes": lambda path, seed: archived(path, "x.npy", b"not an array"),
    "a checksum": lambda path, seed: spoiled(path, seed),
}
OTHER_DICTS: dict[str, Callable[[Path, int], Any]] = {
    "without it": lambda path, seed: torch.save({"z": torch.ones(3)}, path),
    "a tensor": lambda path, seed: torch.save(torch.ones(3, 4), path),
    "something else inside": lambda path, seed: torch.save({"x": torch.ones(3, 4), "y": 1, "z": {1, 2}}, path),
    "an object inside": lambda path, seed: torch.save({"x": torch.ones(3, 4), "y": 1, "z": Path("a")}, path),
    "a part": lambda path, seed: torch.save({"x": torch.ones(5, 4)[1:4], "y": 1}, path),
    "a bool": lambda path, seed: torch.save({"x": torch.ones(3, 4), "y": seed % 2 == 0}, path),
    "a large number": lambda path, seed: torch.save({"x": torch.ones(3, 4), "y": 1 << 70}, path),
    "a list": lambda path, seed: torch.save([torch.ones(3, 4), 1], path),
    "three": lambda path, seed: torch.save((torch.ones(3, 4), 1, 2), path),
    "no archive": lambda path, seed: path.write_bytes(b"PK\3\4" + bytes(60)),
}
OTHER_PICKLES: dict[str, Callable[[Path, int], Any]] = {
    "without it": to_pickle(lambda x, y: {"z": x}, 4),
    "an array": to_pickle(lambda x, y: x, 4),
    "another dtype": to_pickle(lambda x, y: {"x": x.astype(np.int16), "y": y}, 4),
    "another byte order": to_pickle(lambda x, y: {"x": x.astype(">f4"), "y": y}, 4),
    "complex": to_pickle(lambda x, y: {"x": x.astype(complex), "y": y}, 4),
    "fields": to_pickle(lambda x, y: {"x": np.zeros(3, [("a", int)]), "y": y}, 4),
    "in Fortran's order": to_pickle(lambda x, y: {"x": x.T, "y": y}, 4),
    "in Fortran's order, by protocol 5": to_pickle(lambda x, y: {"x": x.T, "y": y}, 5),
    "not to be written to": to_pickle(lambda x, y: {"x": np.broadcast_to(x, x.shape), "y": y}, 4),
    "of bytes": to_pickle(lambda x, y: {"x": np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape), "y": y}, 5),
    "by protocol 2": to_pickle(lambda x, y: {"x": x, "y": y}, 2),
    "a subclass": to_pickle(lambda x, y: {"x": np.asmatrix(x), "y": y}, 4),
    "masked": to_pickle(lambda x, y: {"x": np.ma.array(x), "y": y}, 4),
    "empty": to_pickle(lambda x, y: {"x": x[:0], "y": y}, 4),
    "objects": to_pickle(lambda x, y: {"x": np.array([[1, 2]], object), "y": y}, 4),
    "an object inside": to_pickle(lambda x, y: {"x": x, "y": y, "z": Path("a")}, 4),
    "a tensor": to_pickle(lambda x, y: {"x": torch.from_numpy(x), "y": y}, 4),
    "a bool": to_pickle(lambda x, y: {"x": x, "y": y % 2 == 0}, 4),
    "what comes from numpy 1": lambda path, seed: path.write_bytes(of_other_numpy(seed)),
    "a frame that is longer": lambda path, seed: path.write_bytes(of_long_frame(seed)),
    "nothing": lambda path, seed: path.write_bytes(b""),
}


def of_other_numpy(seed: int) -> bytes:
    content = pickle.dumps({"x": numbers(seed, 3, 4).astype(np.float32), "y": seed}, 3)
    names = [b"numpy._core.multiarray", b"numpy.core.multiarray"]
    return content.replace(*(names if names[0] in content else names[::-1]))


def of_long_frame(seed: int) -> bytes:
    content = bytearray(pickle.dumps({"x": np.ones((3, 4), np.float32), "y": seed}, 4))
    content[4] += 1  # behind the protocol, the opcode and the first byte of its length
    return bytes(content)


def archived(path: Path, name: str, content: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
        archive.writestr("y.npy", b"")


def spoiled(path: Path, seed: int) -> None:
    """One item of x is another one than was written."""
    to_arrays(np.savez, 3, 5)(path, seed)
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"NUMPY") + 130] ^= 1
    path.write_bytes(whole)


# Beside tensors of another kind these are errors, of which torch's workers have words about their shared memory.
UNLIKE = {"a parameter", "with grad", "a list", "a dict"}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def of_tensors(name: str) -> bool:
    return [*OTHER].index(name) >= [*OTHER].index("transposed") or name == "empty"


@WORKERS
@pytest.mark.parametrize("name", OTHER)
def test_other_files_are_the_librarys_own_matter(name: str, num_workers: int, tmp_path: Path) -> None:
    """All files are such, or one of them comes up in the second epoch."""
    kind, write = READ["tensor" if of_tensors(name) else "blanks"]
    written(tmp_path, OTHER[name])
    check(program(kind(tmp_path), num_workers), native=None)

    def change(epoch: int, loader: Any) -> None:
        written(tmp_path, write)
        if epoch == 1 and not (num_workers and name in UNLIKE):
            written(tmp_path, OTHER[name], 7)

    change(0, None)
    arguments = loader_of(kind(tmp_path), batch_size=4, num_workers=num_workers)
    check(Program(arguments, epochs=3, before=change))


@WORKERS
@pytest.mark.parametrize(
    ("kind", "name", "other"),
    [
        *((each, "archive of two", other) for each in (Archived, ArchivedBoth) for other in OTHER_ARCHIVES),
        *((each, "dict" if each is Named else "tuple", other) for each in (Named, Unpacked2) for other in OTHER_DICTS),
        *((PickledNamed, "pickled dict", other) for other in OTHER_PICKLES),
    ],
)
def test_other_containers_are_the_librarys_own_matter(
    kind: type[Files], name: str, other: str, num_workers: int, tmp_path: Path
) -> None:
    """All files are such, or one of them comes up in the second epoch."""
    write = READ[name][1]
    dicts = OTHER_DICTS if issubclass(kind, Named | Unpacked2) else OTHER_ARCHIVES
    others = OTHER_PICKLES if kind is PickledNamed else dicts
    written(tmp_path, others[other])
    check(program(kind(tmp_path), num_workers), native=None)

    def change(epoch: int, loader: Any) -> None:
        written(tmp_path, write)
        if epoch == 1:
            written(tmp_path, others[other], 7)

    change(0, None)
    check(Program(loader_of(kind(tmp_path), batch_size=4, num_workers=num_workers), epochs=3, before=change))


@WORKERS
@pytest.mark.parametrize(
    "name", ["items", "lines", "columns", "tensor", "archive", "compressed", "dict", "pickled dict"]
)
@pytest.mark.parametrize("damage", [Path.unlink, cut, lambda path: path.write_bytes(b"\0" * 400)])
def test_damaged_files(name: str, damage: Callable[[Path], Any], num_workers: int, tmp_path: Path) -> None:
    kind, write = READ[name]
    written(tmp_path, write)
    dataset = kind(tmp_path)
    loader = loader_of(dataset, batch_size=4, num_workers=num_workers)

    def change(epoch: int, loader: Any) -> None:
        written(tmp_path, write)
        if epoch == 1:
            damage(tmp_path / "7.data")

    assert errors(check(Program(loader, epochs=3, before=change))) or damage is not Path.unlink


class Unpacked(Files):
    def __getitem__(self, i: int) -> Any:
        return np.loadtxt(self.paths[i], unpack=True)


class OfColumns(Files):
    def __getitem__(self, i: int) -> Any:
        return np.loadtxt(self.paths[i], usecols=(0, 1))


class ByName(Files):
    def __getitem__(self, i: int) -> Any:
        return np.loadtxt(self.paths[i], dtype=self.dtype)


class OneByOne(Files):
    def __getitem__(self, i: int) -> Any:
        return np.fromfile(self.paths[i], count=2)


class Told(Files):
    """torch warns of it, before 2.6."""

    def __getitem__(self, i: int) -> Any:
        return torch.load(self.paths[i])


@WORKERS
@pytest.mark.parametrize(
    ("kind", "name", "attributes", "native"),
    [
        (Unpacked, "lines", {}, False),
        (OfColumns, "lines", {}, False),
        (ByName, "integers", {"dtype": int}, False),
        (ByName, "lines", {"dtype": ">f8"}, False),
        (ByName, "lines", {"dtype": "float32"}, True),
        (OneByOne, "doubles", {}, False),
        (Told, "tensor", {}, tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6)),
    ],
)
def test_arguments(
    kind: type[Files], name: str, attributes: Any, native: Any, num_workers: int, tmp_path: Path
) -> None:
    written(tmp_path, READ[name][1])
    check(program(kind(tmp_path, **attributes), num_workers), native=native)


@pytest.mark.parametrize(
    ("library", "name"), [(np, "fromfile"), (np, "loadtxt"), (np, "genfromtxt"), (torch, "load"), (pickle, "load")]
)
def test_a_function_that_was_replaced_is_the_users(
    library: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, write = next(
        READ[each] for each in READ if f"{library.__name__.replace('numpy', 'np')}.{name}(" in getsource(READ[each][0])
    )
    written(tmp_path, write)
    library_s = getattr(library, name)
    for replaced in (lambda *given, **options: library_s(*given, **options) * 2, partial(library_s)):
        monkeypatch.setattr(library, name, replaced)
        check(program(kind(tmp_path), 2), native=False)
    monkeypatch.setattr(library, name, library_s)
    check(program(kind(tmp_path), 2))


@pytest.mark.parametrize("seed", range(40))
def test_numbers_are_rounded_as_python_does(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)

    def number() -> str:
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 25))))
        at = int(rng.integers(0, len(digits) + 1))
        exponent = f"{rng.choice(['e', 'E'])}{rng.choice(['', '+', '-'])}{rng.integers(0, 300)}"
        point = rng.choice(["", "."])
        made = f"{rng.choice(['', '-', '+'])}{digits[:at]}{point}{digits[at:]}"
        return made + (exponent if rng.random() < 0.5 else "")

    def write(path: Path, of: int) -> None:
        lines = [[number() for _ in range(3)] for _ in range(30)]
        lines = [[each if abs(float(each)) < 1e300 else "1" for each in line] for line in lines]
        path.write_text("\n".join(map(" ".join, lines)))

    class Read(Files):
        def __getitem__(self, i: int) -> Any:
            return np.loadtxt(self.paths[i])

    written(tmp_path, write)
    check(program(Read(tmp_path), 2))
