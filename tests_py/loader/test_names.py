"""Every public name of torch.utils.data can be imported from goloader, for programs and for type checkers."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from torch.utils import data

import goloader

OURS_DIFFER = {"DataLoader"}
PUBLIC = sorted({*data.__all__, *(name for name in dir(data) if not name.startswith("_"))})


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_of_torch_is_here(name: str) -> None:
    ours, theirs = getattr(goloader, name), getattr(data, name)
    assert issubclass(ours, theirs) if name in OURS_DIFFER else ours is theirs


# Of torch's __all__: a private name, and tools of data pipes, which a program that uses them imports by name.
NOT_OURS = {
    "DFIterDataPipe", "DataChunk", "_DatasetKind", "argument_validation", "functional_datapipe",
    "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation", "runtime_validation_disabled",
}  # fmt: skip


def test_what_torch_exports_we_export() -> None:
    assert set(data.__all__) - NOT_OURS <= set(goloader.__all__) <= set(dir(goloader))
    assert not NOT_OURS & set(goloader.__all__)
    assert not [name for name in goloader.__all__ if name.startswith("_")]
    assert goloader._DatasetKind is data._DatasetKind
    everything: dict[str, object] = {}
    exec("from goloader import *", everything)
    assert set(goloader.__all__) <= everything.keys()
    assert everything["DataLoader"] is goloader.DataLoader


def test_the_version_is_that_of_the_package() -> None:
    assert goloader.__version__ == metadata.version("goloader")
    assert "__version__" in dir(goloader)
    code = """if True:
        from importlib import metadata
        def unknown(name): raise metadata.PackageNotFoundError(name)
        metadata.version = unknown
        import goloader
        print(goloader.__version__)
    """
    assert run(code) == "0+unknown"


@pytest.mark.slow
def test_an_import_that_fails_says_why() -> None:
    code = """if True:
        import torch
        del torch.utils.data.DataLoader  # something that goloader needs, and another version of torch does not have
        try:
            from goloader import DataLoader
        except ImportError as error:
            print(error)
    """
    assert run(code).startswith("cannot import name 'DataLoader' from 'torch.utils.data'")


def test_names_that_nobody_has_are_refused() -> None:
    for name in ("no_such_name", "_private", "_utils", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'goloader' has no attribute '{name}'"):
            getattr(goloader, name)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_without_torch_the_rest_works_and_its_names_say_what_is_missing() -> None:
    code = """if True:
        import sys
        sys.modules["torch"] = None  # an import of it fails
        import goloader
        print(hasattr(goloader, "no_such_name"), goloader.NumpyLoader.__name__, "Subset" in dir(goloader))
        for name in "DataLoader", "Subset":
            try:
                getattr(goloader, name)
            except ModuleNotFoundError as error:
                print(error.name.split('.')[0])
    """
    assert run(code).split() == ["False", "NumpyLoader", "True", "torch", "torch"]


def test_an_import_that_fails_within_says_why() -> None:
    """`from package import name` hides an AttributeError: it says only that there is no such name."""
    code = """if True:
        import sys, types
        import goloader
        sys.modules["goloader._loader"] = types.ModuleType("goloader._loader")  # it lacks what is asked for
        try:
            from goloader import DataLoader
        except ImportError as error:
            print(type(error.__cause__).__name__, error)
    """
    told = "goloader.DataLoader cannot be imported: module 'goloader._loader' has no attribute 'DataLoader'"
    assert run(code) == f"AttributeError {told}"


@pytest.mark.slow
def test_torch_is_imported_by_those_who_use_it() -> None:
    code = "import sys, goloader; dir(goloader); {}; print('torch' in sys.modules)"
    assert run(code.format("goloader.NumpyLoader")) == "False"
    assert run(code.format("goloader.Subset")) == "True"


@pytest.mark.slow
def test_pillow_is_imported_by_programs_that_do() -> None:
    assert run("import sys; from goloader import DataLoader; print('PIL' in sys.modules)") == "False"


@pytest.mark.slow
def test_type_checkers_see_them(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        f"from goloader import {', '.join(data.__all__)}\n"
        "class Ten(Dataset[int]):\n"
        "    def __getitem__(self, index: int) -> int:\n"
        "        return index\n"
        "loader: DataLoader[int] = DataLoader(Ten(), batch_size=2)\n"
        "reveal_type(loader.explain())\n"
        "reveal_type(Subset(Ten(), [1]))\n"
    )
    out, errors, status = api.run(["--strict", "--no-incremental", str(program)])
    assert status == 0, out + errors
    assert 'Revealed type is "goloader.plan.explain.Explanation"' in out
    assert 'Revealed type is "torch.utils.data.dataset.Subset[' in out
