"""In a forked child the core does not run: an old iterator with workers says so, others go on as torch's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Script = Callable[..., str]


@pytest.mark.slow
def test_a_child_gets_an_error_from_old_iterators_and_torch_s_from_new_ones(script: Script) -> None:
    text = """
    dataset = folder()
    loader = goloader.DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    plain = goloader.DataLoader(dataset, batch_size=8)
    numbers = goloader.NumpyLoader(sys.argv[1], [goloader.transforms.CenterCrop(48)], batch_size=8)
    old, inline, arrays = iter(loader), iter(plain), iter(numbers)
    kept = next(old), next(inline), next(arrays)
    total = float(kept[0][0].numpy().sum(dtype='float64'))

    def attempt(action):
        try:
            print(action(), flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)

    child = os.fork()
    if child == 0:
        attempt(lambda: next(old))
        attempt(lambda: len(next(inline)))
        attempt(lambda: next(arrays))
        attempt(lambda: iter(loader))
        attempt(lambda: next(iter(numbers)))
        attempt(lambda: float(kept[0][0].numpy().sum(dtype='float64')) == total)
        attempt(lambda: len(list(plain)))
        attempt(lambda: len(list(goloader.DataLoader(dataset, batch_size=8, num_workers=1))))
        attempt(lambda: len(list(goloader.DataLoader(dataset, batch_size=8))))
        attempt(lambda: plain.explain().native)
        attempt(lambda: "os.fork" in str(goloader.DataLoader(dataset).explain()))
        kept = old = inline = arrays = loader = plain = numbers = None
        gc.collect()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert float(kept[0][0].numpy().sum(dtype='float64')) == total
    print(len(list(old)), len(list(inline)), len(list(arrays)), len(list(loader)))
    """
    answers = "ForkedError\n2\n" + "ForkedError\n" * 3
    assert script(text) == answers + "True\n3\n3\n3\nFalse\nTrue\n" + "2 2 2 3\n"


@pytest.mark.slow
def test_a_child_has_the_batches_that_its_parent_held(script: Script) -> None:
    """Not the memory that was free: it would be copied here as it is written again."""
    text = """
    dataset = ImageFolder(sys.argv[1], T.Compose([T.Resize((96, 96)), T.ToTensor()]))
    loader = goloader.DataLoader(dataset, batch_size=8, num_workers=2)
    kept = [images for images, _ in loader]
    assert kept[0].untyped_storage().nbytes() > 256 << 10

    def total(images):  # by numpy: torch's threads are not in a child
        return float(images.numpy().sum(dtype='float64'))

    totals = list(map(total, kept))
    for _ in loader:  # its slots are free now
        pass
    child = os.fork()
    if child == 0:
        same = list(map(total, kept)) == totals
        for images in kept:
            images.numpy()[:] += 1
        del images
        kept.clear()
        gc.collect()
        print(same, flush=True)
        os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert list(map(total, kept)) == totals
    kept.clear()
    print([total(images) for images, _ in loader] == totals)
    """
    assert script(text) == "True\nTrue\n"


@pytest.mark.slow
def test_a_child_of_a_process_that_never_used_the_core_may_use_it(script: Script) -> None:
    text = """
    child = os.fork()
    if child == 0:
        loader = goloader.DataLoader(folder(), batch_size=8, num_workers=2)
        native = loader.explain().native
        print(native, len(list(loader)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    """
    assert script(text) == "True 3\n"


@pytest.mark.slow
def test_torch_s_own_workers_beside_a_busy_loader(script: Script) -> None:
    text = """
    from torch.utils.data import DataLoader
    dataset = folder()
    ours = goloader.DataLoader(dataset, batch_size=2, shuffle=True, num_workers=3, persistent_workers=True)
    stop = threading.Event()
    def work():
        while not stop.is_set():
            for batch in goloader.NumpyLoader(sys.argv[1], [goloader.transforms.CenterCrop(48)], batch_size=4):
                pass
    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(4):
        busy = iter(ours)
        next(busy)
        theirs = DataLoader(dataset, batch_size=5, num_workers=2, multiprocessing_context="fork")
        assert sum(len(labels) for _, labels in theirs) == 24
        assert len(list(busy)) == 11
    stop.set()
    thread.join()
    print("end")
    """
    assert script(text) == "end\n"


@pytest.mark.slow
def test_ours_inside_torch_s_worker_is_torch_s(script: Script) -> None:
    text = """
    from torch.utils.data import DataLoader, Dataset
    class Outer(Dataset):
        def __init__(self):
            self.inner = folder()
        def __len__(self):
            return 3
        def __getitem__(self, index):
            loader = goloader.DataLoader(self.inner, batch_size=8)
            assert not loader.explain().native
            return len(list(loader))
    next(iter(goloader.DataLoader(folder(), batch_size=8)))
    print([int(n) for n in goloader.DataLoader(Outer(), num_workers=1)])
    """
    assert script(text) == "[3, 3, 3]\n"
