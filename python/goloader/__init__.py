"""goloader: torch's DataLoader, with the work done in Go.

    from goloader import DataLoader  # in place of torch.utils.data's

The names here are what goloader promises. Those of torch.utils.data are here too: ours where ours differ, torch's own
otherwise. They need torch; NumpyLoader, the transforms and the exceptions need numpy only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

    from . import transforms
    from ._errors import BugError, CoreError, ForkedError, LibraryError, PlanError, StateError
    from ._install import install, uninstall
    from ._loader import DataLoader
    from ._numpy import NumpyLoader
    from ._stateful import StatefulDataLoader
    from .arrays import ArrayDataset, FileArray, RaggedArray, TokenDataset, open_arrays
    from .plan.explain import Explanation, Row
    from .seek_index import SeekIndex
    from .state.protocol import Stateful

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
    "RaggedArray",
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


# Imported by those who use them: some need torch, and each worker process that is started afresh imports this package.
_HOME = {
    "ArrayDataset": ".arrays",
    "BugError": "._errors",
    "CoreError": "._errors",
    "DataLoader": "._loader",
    "Explanation": ".plan.explain",
    "FileArray": ".arrays",
    "ForkedError": "._errors",
    "LibraryError": "._errors",
    "NumpyLoader": "._numpy",
    "PlanError": "._errors",
    "RaggedArray": ".arrays",
    "Row": ".plan.explain",
    "SeekIndex": ".seek_index",
    "StateError": "._errors",
    "Stateful": ".state.protocol",
    "StatefulDataLoader": "._stateful",
    "TokenDataset": ".arrays",
    "install": "._install",
    "open_arrays": ".arrays",
    "uninstall": "._install",
}


def __getattr__(name: str) -> Any:
    if name == "transforms":
        return import_module(".transforms", __name__)
    if name in _HOME:
        try:
            return getattr(import_module(_HOME[name], __name__), name)
        except AttributeError as error:  # `from goloader import` would say no more than that there is no such name
            raise ImportError(f"goloader.{name} cannot be imported: {error}") from error
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
