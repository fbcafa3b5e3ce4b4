"""goloader: PyTorch's DataLoader with the work done in Go.

    from goloader import DataLoader  # in place of torch.utils.data's

This package promises the names below. All names of torch.utils.data can be imported from it too: goloader's where they
differ, torch's own otherwise. Those need torch; NumpyLoader, the transforms and the exceptions need only numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.utils.data import (
        BatchSampler,
        ChainDataset,
        ConcatDataset,
        Dataset,
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
        default_collate,
        default_convert,
        get_worker_info,
        random_split,
    )

    # torch's tools for its data pipes: importable, but no names of ours.
    from torch.utils.data import DataChunk as DataChunk
    from torch.utils.data import DFIterDataPipe as DFIterDataPipe
    from torch.utils.data import _DatasetKind as _DatasetKind
    from torch.utils.data import argument_validation as argument_validation
    from torch.utils.data import functional_datapipe as functional_datapipe
    from torch.utils.data import guaranteed_datapipes_determinism as guaranteed_datapipes_determinism
    from torch.utils.data import non_deterministic as non_deterministic
    from torch.utils.data import runtime_validation as runtime_validation
    from torch.utils.data import runtime_validation_disabled as runtime_validation_disabled

    from . import transforms
    from ._errors import (
        BadSamplesError,
        BugError,
        CoreError,
        FallbackError,
        ForkedError,
        GoloaderWarning,
        LibraryError,
        PlanError,
        StateError,
    )
    from ._install import install, uninstall
    from ._loader import DataLoader
    from ._numpy import NumpyLoader
    from ._stateful import StatefulDataLoader
    from ._told import strict
    from .arrays import ArrayDataset, FileArray, RaggedArray, TokenDataset, open_arrays
    from .formats import open as open  # not in __all__: `import *` would put it in place of Python's
    from .on_error import OnError
    from .plan.explain import Explanation, Row
    from .seek_index import SeekIndex
    from .state.protocol import Stateful
    from .stats import Stage, Stats
    from .webdataset import WebDataset

__all__ = [
    "ArrayDataset", "BadSamplesError", "BatchSampler", "BugError", "ChainDataset", "ConcatDataset", "CoreError",
    "DataLoader", "Dataset", "DistributedSampler", "Explanation", "FallbackError", "FileArray", "ForkedError",
    "GoloaderWarning", "IterDataPipe", "IterableDataset", "LibraryError", "MapDataPipe", "NumpyLoader", "OnError",
    "PlanError", "RaggedArray", "RandomSampler", "Row", "Sampler", "SeekIndex", "SequentialSampler", "StackDataset",
    "Stage", "StateError", "Stateful", "StatefulDataLoader", "Stats", "Subset", "SubsetRandomSampler",
    "TensorDataset", "TokenDataset", "WebDataset", "WeightedRandomSampler", "default_collate", "default_convert",
    "get_worker_info", "install", "open_arrays", "random_split", "strict", "transforms", "uninstall",
]  # fmt: skip


# Imported by those who use them: some need torch, and each worker process that is started afresh imports this package.
_HOME = {
    name: home
    for home, names in {
        "._errors": "BadSamplesError BugError CoreError FallbackError ForkedError GoloaderWarning LibraryError "
        "PlanError StateError",
        "._install": "install uninstall",
        "._loader": "DataLoader",
        "._numpy": "NumpyLoader",
        "._stateful": "StatefulDataLoader",
        "._told": "strict",
        ".arrays": "ArrayDataset FileArray RaggedArray TokenDataset open_arrays",
        ".formats": "open",
        ".on_error": "OnError",
        ".plan.explain": "Explanation Row",
        ".seek_index": "SeekIndex",
        ".state.protocol": "Stateful",
        ".stats": "Stage Stats",
        ".webdataset": "WebDataset",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name == "transforms" or name in _HOME:
        try:
            home = import_module(_HOME.get(name, ".transforms"), __name__)
            return home if name == "transforms" else getattr(home, name)
        except AttributeError as error:
            # Of an import that failed, Python would only say "cannot import name".
            raise ImportError(f"goloader.{name} cannot be imported: {error}", name=__name__) from error
    if name in __all__ or name == "_DatasetKind" or _newly_in_torch(name):
        from torch.utils import data

        return getattr(data, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    """The version of the installed package; "0+unknown" of a copy that was not installed."""
    from importlib import metadata

    try:
        return metadata.version(__name__)
    except metadata.PackageNotFoundError:
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOME, "__version__"})


def _newly_in_torch(name: str) -> bool:
    """True for a public name of torch.utils.data that is none of ours."""
    if name.startswith("_"):
        return False
    try:
        from torch.utils import data
    except ModuleNotFoundError:
        return False
    return hasattr(data, name)
