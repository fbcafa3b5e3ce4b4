"""goloader: torch's DataLoader, with the work done in Go.

    from goloader import DataLoader  # in place of torch.utils.data's

The names here are what goloader promises. Those of torch.utils.data are here too: ours where ours differ, torch's own
otherwise. They need torch; NumpyLoader, the transforms and the exceptions need numpy only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import transforms
from ._errors import BugError, CoreError, ForkedError, LibraryError, PlanError, StateError
from ._install import install, uninstall
from ._numpy import NumpyLoader
from .arrays import FileArray, open_arrays
from .plan.explain import Explanation, Row
from .seek_index import SeekIndex
from .state.protocol import Stateful

if TYPE_CHECKING:
    from torch.utils.data import (
        BatchSampler,
        ChainDataset,
        ConcatDataset,
        DataChunk,
        Dataset,
        DFIterDataPipe,
        DistributedSampler,
        IterableDataset,
        IterDataPipe,
        MapDataPipe,
        RandomSampler,
        Sampler,
        SequentialSampler,
        StackDataset,
        Subset,
        SubsetRandomSampler,
        TensorDataset,
        WeightedRandomSampler,
        _DatasetKind,
        argument_validation,
        default_collate,
        default_convert,
        functional_datapipe,
        get_worker_info,
        guaranteed_datapipes_determinism,
        non_deterministic,
        random_split,
        runtime_validation,
        runtime_validation_disabled,
    )

    from ._loader import DataLoader
    from ._stateful import StatefulDataLoader
    from .arrays import ArrayDataset, TokenDataset

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "BugError",
    "ChainDataset",
    "ConcatDataset",
    "CoreError",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "Explanation",
    "FileArray",
    "ForkedError",
    "IterDataPipe",
    "IterableDataset",
    "LibraryError",
    "MapDataPipe",
    "NumpyLoader",
    "PlanError",
    "RandomSampler",
    "Row",
    "Sampler",
    "SeekIndex",
    "SequentialSampler",
    "StackDataset",
    "StateError",
    "Stateful",
    "StatefulDataLoader",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "TokenDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "argument_validation",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "install",
    "non_deterministic",
    "open_arrays",
    "random_split",
    "runtime_validation",
    "runtime_validation_disabled",
    "transforms",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    # torch is imported by those who use it.
    if name == "DataLoader":
        from ._loader import DataLoader

        return DataLoader
    if name == "StatefulDataLoader":
        from ._stateful import StatefulDataLoader

        return StatefulDataLoader
    if name == "ArrayDataset":
        from .arrays import ArrayDataset

        return ArrayDataset
    if name == "TokenDataset":
        from .arrays import TokenDataset

        return TokenDataset
    if name in __all__ or _newly_in_torch(name):
        from torch.utils import data

        return getattr(data, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _newly_in_torch(name: str) -> bool:
    """True for a public name of torch.utils.data that this package does not know yet."""
    if name.startswith("_"):
        return False
    try:
        from torch.utils import data
    except ModuleNotFoundError:
        return False
    return hasattr(data, name)
