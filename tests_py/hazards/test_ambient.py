"""What a program sets for the whole process or a block, around a loader: defaults, modes, limits and filters."""

from __future__ import annotations

import pytest
from programs import Outcome

_DATASETS = {
    "folder": "ImageFolder(ROOT, augment())",
    "tensors": "TensorDataset(torch.arange(24).float(), torch.arange(24))",
    "own": "Files(files(ROOT))",
    "numbers": "[0.5, 0.25, 1] * 4",
}

# Each runs a block in which an epoch is made.
_SETTINGS = {
    "float64 by default": "torch.set_default_dtype(torch.float64)\nrun()",
    "inference": "with torch.inference_mode():\n    run()\nrun()",
    "deterministic": "torch.use_deterministic_algorithms(True)\nrun()",
    "dispatched": """
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
with Mode():
    run()
run()
""",
    "numpy raises": "np.seterr(all='raise')\nrun()",
    "warnings are errors": "warnings.simplefilter('error')\nrun()",
    "few frames": "sys.setrecursionlimit(400)\nrun()",
    "other draws between": "run()\ntorch.manual_seed(5), dataset[0], np.random.rand(3)\nrun()",
}

_PROGRAM = """
dataset = DATASET
made = DataLoader(dataset, 4, shuffle=True, num_workers=WORKERS)
list(made)
def run():
    for batch in made:
        show(batch)
        say([each.is_inference() for each in batch if isinstance(batch, (list, tuple))])
"""

PROGRAMS = {
    f"{name}, {of}, {workers} workers": _PROGRAM.replace("DATASET", made).replace("WORKERS", workers) + text
    for name, text in _SETTINGS.items()
    for of, made in _DATASETS.items()
    for workers in ("0", "2")
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_are_those_of_torch(outcomes: dict[str, tuple[Outcome, Outcome]], name: str) -> None:
    theirs, ours = outcomes[name]
    assert theirs.out.count("\n") > 1 and theirs.code == 0, theirs.err
    assert (ours.out, ours.code) == (theirs.out, theirs.code)
