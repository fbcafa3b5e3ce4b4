"""What Python runs when it starts below `python -m goloader run`: once torch is imported, goloader is installed.

A program that never imports torch never imports goloader. Any Python may be started there, one without numpy or torch
as well: this file needs nothing, and in no case keeps a program from running.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


class _WatchingForTorch:
    """Finds torch as the other finders do, and has goloader installed when it has been imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Installing(spec.loader, self)  # type: ignore[assignment]
                return spec
        return None


class _Installing:
    """torch's own loader, and what comes after it."""

    def __init__(self, loader: Any, watch: Any) -> None:
        self._loader = loader
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        sys.meta_path.remove(self._watch)
        try:
            _goloader().install(explain=os.environ.get("GOLOADER_RUN") == "explain")
            if os.environ.get("GOLOADER_PROFILE"):
                from goloader.profile import until_exit

                until_exit(os.environ["GOLOADER_PROFILE"], chart=bool(os.environ.get("GOLOADER_PROFILE_CHART")))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            sys.stderr.write(f"goloader: this program goes on with torch's own DataLoader: {why}\n")


def _goloader() -> Any:
    """The package that this file belongs to, also where sys.path has another one or none."""
    if "goloader" not in sys.modules:
        package = os.path.dirname(os.path.dirname(_HERE))
        _load(PathFinder.find_spec("goloader", [os.path.dirname(package)]))
    return sys.modules["goloader"]


def _load(spec: ModuleSpec | None) -> None:
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        module: ModuleType = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)


if os.environ.get("GOLOADER_RUN"):
    sys.meta_path.insert(0, _WatchingForTorch())
# sys.path is as without us, and so is the sitecustomize that this one stands in front of.
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
_load(PathFinder.find_spec("sitecustomize"))
