"""PyTorch's test file for its loader, from Debian's source package and adapted to newer releases of torch; torchdata's
for its StatefulDataLoader, from a copy of its repository.

The files are theirs and stay out of this repository: what is fetched lives in build/conformance, which git ignores.
Where a copy of a repository is at hand, it is named by a variable of the environment and nothing is fetched:

    GOLOADER_PYTORCH=FOLDER      of PyTorch 2.6
    GOLOADER_TORCHDATA=FOLDER    of torchdata 0.11
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

_ROOT = Path(__file__).parents[2]
# The last release that Debian packages, and the release of Debian that has it.
_PACKAGE, _DEBIAN = "pytorch=2.6.0+dfsg-7", "trixie"
_ARCHIVE = "pytorch_2.6.0+dfsg.orig.tar.xz"
_MEMBER = "test/test_dataloader.py"

# The tests of torchdata's internals, and of what needs more packages, are left out.
_TORCHDATA = "test/stateful_dataloader"
_TORCHDATA_FILES = ("test_state_dict.py", "test_sampler.py")

# WorkerInfo is a frozen dataclass since, whose errors are AttributeError and TypeError with texts of their own.
_ALLOWANCES = (
    (
        r'except RuntimeError as e:\n( +)assert str\(e\) == "Cannot assign attributes to WorkerInfo objects"',
        r"except (RuntimeError, AttributeError, TypeError):\n\1pass",
        2,
    ),
)


class Unavailable(Exception):
    """A suite's files cannot be had here; the text says why, and what would help."""


def test_file(folder: Path) -> Path:
    """PyTorch's, adapted, in `folder`. Raises Unavailable, or ValueError if it is not the file that is known."""
    folder.mkdir(parents=True, exist_ok=True)
    given = os.environ.get("GOLOADER_PYTORCH")
    text = _given(given, _MEMBER).read_text() if given else _extract(_archive(folder))
    path = folder / "test_dataloader.py"
    path.write_text(_adapt(text))
    return path


def stateful_files() -> list[Path]:
    """torchdata's. Raises Unavailable."""
    given = os.environ.get("GOLOADER_TORCHDATA")
    if not given:
        raise Unavailable("no package holds them: clone torchdata 0.11 and name its folder, GOLOADER_TORCHDATA=FOLDER")
    return [_given(given, f"{_TORCHDATA}/{name}") for name in _TORCHDATA_FILES]


def _given(folder: str, name: str) -> Path:
    path = Path(folder).resolve() / name
    if not path.exists():
        raise Unavailable(f"there is no {path}")
    return path


def _archive(folder: Path) -> Path:
    """The source package's, fetched by apt, which checks its signature."""
    archive = folder / _ARCHIVE
    if not archive.exists():
        script = '. scripts/apt.sh; apt_source "$1" "$2" --download-only "$3"'
        command = ["sh", "-ec", script, "sh", str(folder.resolve()), _DEBIAN, _PACKAGE]
        run = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
        if run.returncode or not archive.exists():
            said = (run.stdout + run.stderr).strip()
            raise Unavailable(f"apt does not bring {_PACKAGE} (or name a copy, GOLOADER_PYTORCH=FOLDER):\n{said}")
    return archive


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
