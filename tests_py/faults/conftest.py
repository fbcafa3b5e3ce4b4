"""Programs that run in a process of their own: a hang there is a failure here, and what they print is seen."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import photos
import pytest
import torchvision.transforms as T
from torchvision.datasets import ImageFolder

from tests_py import fresh

_PROLOGUE = """
import gc, os, signal, sys, threading, time, warnings
import goloader, torch
import torchvision.transforms as T
from goloader import _native
from torchvision.datasets import ImageFolder
warnings.filterwarnings("ignore", message="This DataLoader will create")

def folder(root=sys.argv[1]):
    return ImageFolder(root, T.Compose([T.RandomResizedCrop(48), T.RandomHorizontalFlip(), T.ToTensor()]))
"""


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))


@pytest.fixture
def dataset(root: Path) -> ImageFolder:
    """Batches of 8 are larger than what is copied out of its slot."""
    return ImageFolder(str(root), T.Compose([T.RandomResizedCrop(48), T.RandomHorizontalFlip(), T.ToTensor()]))


Script = Callable[..., str]


@pytest.fixture
def script(root: Path) -> Script:
    """Runs a program behind the prologue above and returns what it prints; it must end by itself, and in peace."""

    def run(text: str, *arguments: str, timeout: float = 280, code: int = 0, **environment: str) -> str:
        program = _PROLOGUE + textwrap.dedent(text)
        done = fresh.run(program, root, *arguments, timeout=timeout, **environment)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        return done.stdout

    return run
