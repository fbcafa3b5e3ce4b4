"""With a GPU: batches in page-locked memory, copies that run beside the loader, and datasets that live on the GPU.

Everything else of a loader is the same with and without a GPU; these tests are skipped where there is none.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from photos import picture
from PIL import Image
from torch.utils import data
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.data import TensorDataset, default_collate
from torchvision.datasets import ImageFolder

import goloader

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA here")

TRAIN = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])

# Cycles of the GPU's clock: some 20 ms, much longer than a batch of these takes.
_BUSY = 40_000_000


class Named(data.Dataset[Any]):
    """A class that is compiled: each sample a dict of an image, a label and a text."""

    def __init__(self, samples: list[tuple[str, int]], transform: Callable[..., Any]) -> None:
        self.samples, self.transform = samples, transform

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        return {"image": self.transform(Image.open(path).convert("RGB")), "label": label, "name": path}


class Bordered(Named):
    """A class that is recorded: its branch is of a random number, and it goes on with the tensor."""

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        image = self.transform(Image.open(path).convert("RGB"))
        if random.random() < 0.5:
            image = torch.nn.functional.pad(image[:, 2:-2, 2:-2], (2, 2, 2, 2))
        return image, label


class InPython(Named):
    """A class that Python runs, since it looks at the pixels."""

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        pixels = np.asarray(self.transform.transforms[0](Image.open(path).convert("RGB")))
        return torch.from_numpy(np.sort(pixels, axis=0).copy()), label, float(pixels.mean())


class OnGpu(data.Dataset[Any]):
    """A set that is kept on the GPU whole."""

    def __init__(self) -> None:
        self.rows = torch.arange(600.0, device="cuda").reshape(100, 6)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index] * 2, index


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ImageFolder:
    root = tmp_path_factory.mktemp("images")
    for number in range(70):
        file = root / f"class{number % 3}" / f"{number}.jpg"
        file.parent.mkdir(exist_ok=True)
        picture(60 + number % 7, 50, number).save(file)
    return ImageFolder(str(root), TRAIN)


def datasets(folder: ImageFolder) -> dict[str, data.Dataset[Any]]:
    rows = torch.randn(500, 33, generator=torch.Generator().manual_seed(1))
    return {
        "folder": folder,
        "compiled": Named(folder.samples, TRAIN),
        "recorded": Bordered(folder.samples, TRAIN),
        "python": InPython(folder.samples, TRAIN),
        "rows": TensorDataset(rows, torch.arange(500)),
    }


KINDS = ["folder", "compiled", "recorded", "python", "rows"]


def epochs(kind: type[data.DataLoader[Any]], dataset: Any, take: Callable[[Any], Any], **arguments: Any) -> list[Any]:
    """What `take` makes of each batch of two epochs."""
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    loader = kind(dataset, batch_size=8, shuffle=True, **arguments)
    return [take(batch) for _ in range(2) for batch in loader]


def same(ours: list[Any], torchs: list[Any]) -> None:
    assert len(ours) == len(torchs)
    for mine, other in zip(ours, torchs, strict=True):
        for one, two in zip(tree_leaves(mine), tree_leaves(other), strict=True):
            if isinstance(two, torch.Tensor):
                assert one.device == two.device
                assert one.dtype is two.dtype
                assert one.cpu().numpy().tobytes() == two.cpu().numpy().tobytes()
            else:
                assert one == two


def pinned(batch: Any) -> Any:
    """Keeps the batch; its tensors must be page-locked."""
    assert all(leaf.is_pinned() for leaf in tree_leaves(batch) if isinstance(leaf, torch.Tensor))
    return batch


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", KINDS)
def test_pinned_batches_are_torchs(folder: ImageFolder, name: str, workers: int) -> None:
    dataset = datasets(folder)[name]
    arguments = {"num_workers": workers, "pin_memory": True}
    same(
        epochs(goloader.DataLoader, dataset, pinned, **arguments),
        epochs(data.DataLoader, dataset, pinned, **arguments),
    )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", KINDS)
def test_copies_run_beside_the_loader(folder: ImageFolder, name: str, workers: int) -> None:
    """The GPU is busy when each copy is asked for, so that the copy begins long after the batch was let go of."""

    def later(batch: Any) -> Any:
        torch.cuda._sleep(_BUSY)
        return tree_map(lambda leaf: leaf.cuda(non_blocking=True) if isinstance(leaf, torch.Tensor) else leaf, batch)

    dataset = datasets(folder)[name]
    arguments = {"num_workers": workers, "pin_memory": True}
    ours = epochs(goloader.DataLoader, dataset, later, **arguments)
    torch.cuda.synchronize()
    torchs = epochs(data.DataLoader, dataset, lambda batch: batch, **arguments)
    same(tree_map(lambda leaf: leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf, ours), torchs)


@pytest.mark.parametrize("name", ["folder", "rows"])
def test_copies_of_a_stream_of_their_own(folder: ImageFolder, name: str) -> None:
    """As programs prefetch: the next batch is copied on a side stream while this one is used."""
    dataset = datasets(folder)[name]
    side = torch.cuda.Stream()

    def prefetched(batch: Any) -> Any:
        with torch.cuda.stream(side):
            torch.cuda._sleep(_BUSY)
            moved = tree_map(lambda leaf: leaf.cuda(non_blocking=True), batch)
        torch.cuda.current_stream().wait_stream(side)
        for leaf in tree_leaves(moved):
            leaf.record_stream(torch.cuda.current_stream())
        return tree_map(lambda leaf: leaf + 0, moved)

    arguments = {"num_workers": 2, "pin_memory": True}
    ours = epochs(goloader.DataLoader, dataset, prefetched, **arguments)
    torchs = epochs(data.DataLoader, dataset, lambda batch: tree_map(lambda leaf: leaf.cuda(), batch), **arguments)
    same(ours, torchs)


def test_page_locked_memory_is_used_again(folder: ImageFolder) -> None:
    """An epoch locks no more memory than the one before: locking costs a call into the driver."""
    loader = goloader.DataLoader(folder, batch_size=8, shuffle=True, num_workers=2, pin_memory=True)

    def locked() -> int:
        for images, _ in loader:
            images.cuda(non_blocking=True)
        torch.cuda.synchronize()
        return int(torch.cuda.host_memory_stats()["num_host_alloc"])

    locked()
    before = locked()
    assert locked() - before <= 2  # the ends of copies are seen late


@pytest.mark.parametrize("kind", ["tensors", "class"])
def test_a_set_on_the_gpu(kind: str, recwarn: pytest.WarningsRecorder) -> None:
    rows = torch.arange(600.0, device="cuda").reshape(100, 6)
    dataset: Any = TensorDataset(rows, torch.arange(100, device="cuda")) if kind == "tensors" else OnGpu()
    same(
        epochs(goloader.DataLoader, dataset, lambda batch: batch),
        epochs(data.DataLoader, dataset, lambda batch: batch),
    )
    assert not recwarn.list


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["compiled", "recorded", "python"])
def test_a_collate_fn_that_copies_to_the_gpu(folder: ImageFolder, name: str, workers: int) -> None:
    """Only where the samples are made in this process: CUDA cannot be begun again in a fork."""

    def collated(samples: list[Any]) -> Any:
        return tree_map(lambda leaf: leaf.cuda() if isinstance(leaf, torch.Tensor) else leaf, default_collate(samples))

    def outcome(kind: type[data.DataLoader[Any]]) -> Any:
        torch.cuda.init()
        try:
            return epochs(kind, datasets(folder)[name], lambda batch: batch, collate_fn=collated, num_workers=workers)
        except RuntimeError as error:
            return type(error).__name__

    ours, torchs = outcome(goloader.DataLoader), outcome(data.DataLoader)
    if isinstance(torchs, str):
        assert isinstance(ours, str) or workers  # ours may go on where torch's workers cannot
    else:
        same(ours, torchs)


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_gpu_as_default_device(folder: ImageFolder, shuffle: bool) -> None:
    dataset = Named(folder.samples, T.Compose([T.Resize((20, 20)), T.ToTensor()]))

    def outcome(kind: type[data.DataLoader[Any]]) -> Any:
        torch.manual_seed(1)
        try:
            return list(kind(dataset, batch_size=8, shuffle=shuffle))
        except RuntimeError as error:
            return str(error)

    torch.set_default_device("cuda")
    try:
        ours, torchs = outcome(goloader.DataLoader), outcome(data.DataLoader)
    finally:
        torch.set_default_device(None)
    if isinstance(torchs, str):
        assert ours == torchs
    else:
        same(ours, torchs)


def test_shuffled_by_a_generator_of_the_gpu() -> None:
    def outcome(kind: type[data.DataLoader[Any]]) -> Any:
        generator = torch.Generator("cuda").manual_seed(5)
        try:
            return list(kind(TensorDataset(torch.arange(40)), batch_size=4, shuffle=True, generator=generator))
        except RuntimeError as error:
            return str(error)

    ours, torchs = outcome(goloader.DataLoader), outcome(data.DataLoader)
    if isinstance(torchs, str):
        assert ours == torchs
    else:
        same(ours, torchs)


def test_ranges_stand_beside_the_gpus_work(folder: ImageFolder) -> None:
    """torch.profiler shows next() of Go's batches in the same timeline as the copies that follow; NVTX can be on."""
    loader = goloader.DataLoader(folder, batch_size=8, num_workers=2, pin_memory=True)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for images, _ in loader:
            images.cuda(non_blocking=True)
        torch.cuda.synchronize()
    names = [event.key for event in profile.key_averages()]
    assert any("DataLoader" in name and "__next__" in name for name in names), names
    assert any("Memcpy HtoD (Pinned" in name for name in names), names
    with torch.autograd.profiler.emit_nvtx():
        assert sum(len(labels) for _, labels in loader) == len(folder)


@pytest.mark.parametrize("end", ["", "del iterator", "del iterator, loader", "raise SystemExit(0)", "os._exit(0)"])
def test_a_program_that_ends_in_mid_epoch(folder: ImageFolder, end: str) -> None:
    """Memory that is lent to readers outlives neither torch nor CUDA in a way that is seen."""
    program = f"""
        import os, torch, goloader
        import torchvision.transforms as T
        from torchvision.datasets import ImageFolder

        dataset = ImageFolder({str(Path(folder.root))!r}, T.Compose([T.Resize((64, 64)), T.ToTensor()]))
        loader = goloader.DataLoader(dataset, batch_size=4, num_workers=2, pin_memory=True)
        iterator = iter(loader)
        images, _ = next(iterator)
        images = images.cuda(non_blocking=True)
        print(images.shape[0], flush=True)
        {end}
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


def test_a_training_loop_learns_the_same(folder: ImageFolder) -> None:
    """Losses of a small network, trained on the GPU with both loaders, are equal to the bit."""

    def losses(kind: type[data.DataLoader[Any]]) -> list[float]:
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 24 * 24, 3)).cuda()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        found = []
        for images, labels in kind(folder, batch_size=8, shuffle=True, num_workers=2, pin_memory=True):
            loss = torch.nn.functional.cross_entropy(network(images.cuda(non_blocking=True)), labels.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    torch.use_deterministic_algorithms(True)
    try:
        ours, torchs = losses(goloader.DataLoader), losses(data.DataLoader)
    finally:
        torch.use_deterministic_algorithms(False)
    assert json.dumps(ours) == json.dumps(torchs)
