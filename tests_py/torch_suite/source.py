"""PyTorch's test file for its loader: fetched from Debian's source package, adapted to newer releases of torch.

The file is PyTorch's and stays out of this repository: it lives in build/conformance, which git ignores.
"""

from __future__ import annotations

import hashlib
import re
import tarfile
import urllib.request
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
            _fetch(archive)
        text = _adapt(_extract(archive))
        partial = path.with_suffix(".partial")
        partial.write_text(text)
        partial.rename(path)
    return path


def _fetch(archive: Path) -> None:
    failures = []
    for mirror in _MIRRORS:
        url = mirror + _ARCHIVE
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                archive.write_bytes(answer.read())
        except OSError as error:
            failures.append(f"{url}: {error}")
            continue
        if (found := _sum(archive)) == _SHA256:
            return
        failures.append(f"{url}: SHA-256 is {found}, not {_SHA256}")
        archive.unlink()
    raise OSError("PyTorch's source package cannot be had:\n" + "\n".join(failures))


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
