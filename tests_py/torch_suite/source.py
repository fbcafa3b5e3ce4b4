"""PyTorch's test file for its loader, from Debian's source package and adapted to newer releases of torch; torchdata's
for its StatefulDataLoader, from its repository.

The files are theirs and stay out of this repository: they live in build/conformance, which git ignores.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path

# Debian's source package pytorch 2.6.0+dfsg-7: the last release that is packaged, and all of the file that Debian's
# mirrors keep. The sum is that of its .dsc.
_ARCHIVE = "pytorch_2.6.0+dfsg.orig.tar.xz"
_SHA256 = "099a9601bc40d67656e75735c44abedb0fbe92d08817852ab7472eebb7e6ddff"
_MIRRORS = (
    "http://deb.debian.org/debian/pool/main/p/pytorch/",
    "http://ftp.debian.org/debian/pool/main/p/pytorch/",
    "https://snapshot.debian.org/archive/debian/20250601T000000Z/pool/main/p/pytorch/",
)
_MEMBER = "test/test_dataloader.py"

# torchdata's of release 0.11 (the tests of its internals, and of what needs more packages, left out), by their sums.
_TORCHDATA = "https://raw.githubusercontent.com/meta-pytorch/data/088e43477c1c750c26ea6c1466b708c45cc8ba30/test/stateful_dataloader/"
_TORCHDATA_FILES = {
    "test_state_dict.py": "8bdc8e83cb30e184ea8a024b8b5932643fb50607f7eca9373da6ec8cb4d495d7",
    "test_sampler.py": "b61db594c45ac861b5d3cb741e9606a9d6175aa5f2318dcd3a700bebc81bb255",
}

# WorkerInfo is a frozen dataclass since, whose errors are AttributeError and TypeError with texts of their own.
_ALLOWANCES = (
    (
        r'except RuntimeError as e:\n( +)assert str\(e\) == "Cannot assign attributes to WorkerInfo objects"',
        r"except (RuntimeError, AttributeError, TypeError):\n\1pass",
        2,
    ),
)


def test_file(folder: Path) -> Path:
    """The file in `folder`, fetched if it is not there. Raises OSError if no mirror has it, ValueError for another."""
    path = folder / "test_dataloader.py"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = folder / _ARCHIVE
        if not archive.exists() or _sum(archive) != _SHA256:
            _fetch(archive, [mirror + _ARCHIVE for mirror in _MIRRORS], _SHA256)
        text = _adapt(_extract(archive))
        partial = path.with_suffix(".partial")
        partial.write_text(text)
        partial.rename(path)
    return path


def stateful_files(folder: Path) -> list[Path]:
    """torchdata's, in a folder of their own. Raises OSError for one that cannot be had."""
    folder = folder / "torchdata"
    folder.mkdir(parents=True, exist_ok=True)
    for name, sha256 in _TORCHDATA_FILES.items():
        file = folder / name
        if not file.exists() or _sum(file) != sha256:
            _fetch(file, [_TORCHDATA + name], sha256)
    return [folder / name for name in _TORCHDATA_FILES]


def _fetch(file: Path, urls: Sequence[str], sha256: str) -> None:
    failures = []
    for url in urls:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                file.write_bytes(answer.read())
        except OSError as error:
            failures.append(f"{url}: {error}")
            continue
        if (found := _sum(file)) == sha256:
            return
        failures.append(f"{url}: SHA-256 is {found}, not {sha256}")
        file.unlink()
    raise OSError(f"{file.name} cannot be had:\n" + "\n".join(failures))


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _extract(archive: Path) -> str:
    with tarfile.open(archive) as members:
        for member in members:
            if member.name.partition("/")[2] == _MEMBER:
                file = members.extractfile(member)
                assert file is not None
                return file.read().decode()
    raise ValueError(f"{archive} has no {_MEMBER}")


def _adapt(text: str) -> str:
    for pattern, replacement, count in _ALLOWANCES:
        text, found = re.subn(pattern, replacement, text)
        if found != count:
            raise ValueError(f"{_MEMBER} has {found} places, not {count}, like {pattern}")
    return text
