"""An older torch than the one installed, as far as it can be played: what it lacks is taken away before goloader comes.

`make test-matrix` runs the real ones.
"""

from __future__ import annotations

import pytest

from tests_py import fresh

# torch 2.6: does not say whose batch it has. torch 2.5: no in_order, and counts a batch as received later.
OLDER = r"""
import inspect, re, textwrap
import torch
from torch.utils import data
from torch.utils.data import dataloader

kind = dataloader._MultiProcessingDataLoaderIter

def rewrite(name, *changes):
    source = textwrap.dedent(inspect.getsource(getattr(kind, name)))
    for old, new in changes:
        source, count = re.subn(old, new, source)
        assert count, (name, old)
    space = dict(vars(dataloader))
    exec(source, space)
    setattr(kind, name, space[name])

def torch_2_6():
    rewrite("_next_data", ("data, worker_id\)", "data)"))
    rewrite("_process_data", ("data, worker_idx\)", "data)"), ("self._workers_num_tasks.*", "pass"))

def torch_2_5():
    rewrite("_next_data", ("data, worker_id\)", "data)"), ("self._rcvd_idx \+= 1\s+return", "return"))
    rewrite("_process_data", ("data, worker_idx\)", "data)"), ("self._workers_num_tasks.*", "self._rcvd_idx += 1"))
    newer = data.DataLoader.__init__
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device=""):
        newer(self, dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory,
              drop_last, timeout, worker_init_fn, multiprocessing_context, generator, prefetch_factor=prefetch_factor,
              persistent_workers=persistent_workers, pin_memory_device=pin_memory_device)
    data.DataLoader.__init__ = __init__
"""

PROGRAM = """
from goloader import DataLoader

class Own(data.Dataset):
    def __init__(self):
        self.asked = 0
    def __len__(self):
        return 23
    def __getitem__(self, index):
        self.asked += 1
        if index == 13:
            raise KeyError("thirteen")
        return torch.rand(3) + index, self.asked

class Stream(data.IterableDataset):
    def __iter__(self):
        first = data.get_worker_info().id
        return iter(range(first, first + 7 + 3 * first))

def told(loader):
    torch.manual_seed(3)
    for _ in range(2):
        iterator = iter(loader)
        while True:
            try:
                yield str(next(iterator))
            except StopIteration:
                break
            except KeyError as error:
                yield str(error).splitlines()[0]
    yield torch.rand(1).item()

for dataset in (Own, Stream, lambda: data.TensorDataset(torch.arange(50).reshape(25, 2))):
    for workers in (1, 2):
        for persistent in (False, True):
            given = dict(batch_size=4, num_workers=workers, persistent_workers=persistent)
            ours, theirs = (list(told(each(dataset(), **given))) for each in (DataLoader, data.DataLoader))
            assert ours == theirs, (given, ours, theirs)

# A state says which worker made what: going on gives the batches that are left.
torch.manual_seed(5)
whole = [str(batch) for batch in DataLoader(range(40), 3, shuffle=True, num_workers=2)]
torch.manual_seed(5)
loader = DataLoader(range(40), 3, shuffle=True, num_workers=2, trace=False)
iterator = iter(loader)
begun = [str(next(iterator)) for _ in range(4)]
state = loader.state_dict()
del iterator
again = DataLoader(range(40), 3, shuffle=True, num_workers=2, trace=False)
again.load_state_dict(state)
assert begun + [str(batch) for batch in again] == whole
print("the same")
"""


def run(program: str) -> str:
    done = fresh.run(program, libraries="torch")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["torch_2_6", "torch_2_5"])
def test_batches_errors_and_states_are_the_same_with_an_older_torch(version: str) -> None:
    assert run(f"{OLDER}\n{version}()\n{PROGRAM}") == "the same"


@pytest.mark.slow
def test_dtypes_that_torch_lacks_are_not_asked_for() -> None:
    program = """
import torch
for name in ("float8_e8m0fnu", "float4_e2m1fn_x2"):  # of torch 2.7 and 2.8
    if hasattr(torch, name):
        delattr(torch, name)
from goloader import DataLoader
print(DataLoader(torch.utils.data.TensorDataset(torch.arange(9.0).to(torch.float8_e5m2))).explain().native)
"""
    assert run(program) == "True"


@pytest.mark.slow
def test_in_order_false_is_refused_in_torch_s_words_where_torch_has_no_such_argument() -> None:
    program = """
torch_2_5()
from goloader import DataLoader
assert DataLoader([1], in_order=True).in_order is True
for kind in (data.DataLoader, DataLoader):
    try:
        kind([1], in_order=False)
    except TypeError as error:
        print("unexpected keyword argument 'in_order'" in str(error))
"""
    assert run(OLDER + program).split() == ["True", "True"]
