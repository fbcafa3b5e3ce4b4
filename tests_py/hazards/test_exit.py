"""Whatever is alive when an interpreter ends, it ends as quietly as with torch's loader."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import alone

_PROGRAM = """
class Own(Dataset):
    def __len__(self): return 16
    def __getitem__(self, index): return torch.full((60, 60), float(index)), random.random()
alive = []
for dataset in ImageFolder(ROOT, augment()), Own():
    for options in {}, {"num_workers": 1}, {"num_workers": 1, "persistent_workers": True}:
        loader = DataLoader(dataset, 4, **options)
        iterator = iter(loader)
        alive.append((loader, iterator, next(iterator)))
# A fork while batches are held is guarded.
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
alive.append(iter(DataLoader(Own(), 4, num_workers=1)))
say("end")
"""

_ENDS = {
    "by itself": "",
    "modules cleared": "for name in list(sys.modules):\n    if name.startswith(('goloader', 'torch.utils')):\n"
    "        del sys.modules[name]\n",
    "an error": "raise SystemExit(3)",
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("end", _ENDS)
def test_an_exit_is_as_quiet_as_torch_s(root: Path, end: str) -> None:
    theirs, ours = alone(_PROGRAM + _ENDS[end], root, "-X", "dev", "-W", "ignore")
    assert theirs.out, theirs.err
    assert ours == theirs
