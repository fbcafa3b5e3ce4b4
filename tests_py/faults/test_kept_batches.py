"""A batch stays as it is as long as anything of it is kept, whatever the loader does; then its memory goes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torchvision.datasets import ImageFolder

import goloader
from goloader import _lease, _native

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])


@pytest.fixture(params=["small batches are copied", "every batch is a lease"])
def leases(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "every batch is a lease":
        monkeypatch.setattr(_lease, "COPIED_BYTES_MAX", 0)


@pytest.fixture(params=["", "1"], ids=["as it is", "poisoned"])
def poison(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots that were returned are overwritten, so that a view that outlives its lease shows."""
    monkeypatch.setenv("GOLOADER_POISON", request.param)


def leased() -> int:
    return _native.live()["slots_bytes"]


@WORKERS
@pytest.mark.usefixtures("leases", "poison")
def test_all_batches_of_some_epochs_kept(dataset: ImageFolder, num_workers: int) -> None:
    for batch_size in 8, 3, None:
        loader = goloader.DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers)
        kept, copies = [], []
        for _ in range(3):
            for images, labels in loader:
                kept.append((images, labels))
                copies.append((images.clone(), labels if batch_size is None else labels.clone()))
        del loader
        for (images, labels), (want_images, want_labels) in zip(kept, copies, strict=True):
            assert torch.equal(images, want_images)
            assert labels == want_labels if batch_size is None else torch.equal(labels, want_labels)


@WORKERS
@pytest.mark.usefixtures("leases", "poison")
def test_slices_views_and_arrays_keep_their_batch(dataset: ImageFolder, num_workers: int) -> None:
    takers: list[Any] = [
        lambda images: images[2:5, :, 1],
        lambda images: images.numpy(),
        lambda images: images.numpy()[3].T,
        lambda images: images.permute(0, 2, 3, 1)[-1],
        lambda images: images.view(torch.int32),
        lambda images: torch.from_dlpack(images),
        lambda images: np.from_dlpack(images)[1],
        lambda images: images.detach().requires_grad_(),
        lambda images: {"x": [images.flatten(1)]}["x"][0],
        lambda images: memoryview(images.numpy()),
    ]
    loader = goloader.DataLoader(dataset, batch_size=8, shuffle=True, num_workers=num_workers)
    for take in takers:
        iterator = iter(loader)
        view = take(next(iterator)[0])
        array = view.detach().numpy() if isinstance(view, torch.Tensor) else np.asarray(view)
        want = array.copy()
        del array
        assert len(list(loader)) == 3
        del iterator
        array = view.detach().numpy() if isinstance(view, torch.Tensor) else np.asarray(view)
        assert np.array_equal(array, want)


@WORKERS
def test_batches_outlive_iterator_loader_and_dataset(dataset: ImageFolder, num_workers: int) -> None:
    loader = goloader.DataLoader(dataset, batch_size=8, num_workers=num_workers)
    batches = list(loader)
    sums = [float(images.double().sum()) for images, _ in batches]
    gone = weakref.ref(loader)
    del loader
    gc.collect()
    assert gone() is None
    assert [float(images.double().sum()) for images, _ in batches] == sums
    assert leased() >= sum(images.nbytes for images, _ in batches)
    del batches
    gc.collect()


@pytest.mark.usefixtures("poison")
def test_writing_into_a_batch_changes_no_other(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, batch_size=8)
    torch.manual_seed(0)
    want = [images.clone() for images, _ in loader]
    torch.manual_seed(0)
    kept = []
    for (images, labels), other in zip(loader, want, strict=True):
        assert torch.equal(images, other)
        images.fill_(-1)
        labels.fill_(-1)
        kept.append(images)
    assert all(bool((images == -1).all()) for images in kept)


@WORKERS
def test_a_loop_that_drops_its_batches_maps_no_more_and_more(dataset: ImageFolder, num_workers: int) -> None:
    loader = goloader.DataLoader(dataset, batch_size=8, shuffle=True, num_workers=num_workers)
    peaks = []
    for _ in range(12):
        peak = 0
        for _batch in loader:
            peak = max(peak, leased())
        peaks.append(peak)
    assert max(peaks[2:]) <= max(peaks[:2]) * 2
    assert max(peaks) <= 12 * 8 * 3 * 48 * 48 * 4


def test_numpy_batches_are_kept_too() -> None:
    array = np.arange(400_000, dtype=np.float32).reshape(1000, 400)
    loader = goloader.NumpyLoader([array], batch_size=100, num_workers=2)
    kept = [batch[0] for _ in range(3) for batch in loader]
    del loader
    gc.collect()
    for number, batch in enumerate(kept):
        assert np.array_equal(batch, array[number % 10 * 100 : number % 10 * 100 + 100])
