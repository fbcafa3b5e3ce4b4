"""The table of steps is the same in Python and in Go, that of passes the same in the tests and in C. Go and C compare
theirs when they are compiled (core/op/pass.go)."""

from __future__ import annotations

import re
from pathlib import Path

from goloader import _steps

CORE = Path(__file__).resolve().parents[2] / "core"


def test_python_knows_each_step_by_its_number_and_size() -> None:
    text = (CORE / "recipe" / "steps.go").read_text()
    constants = re.search(r"^const \(\n(.*?)^\)", text, re.DOTALL | re.MULTILINE)
    assert constants is not None
    kinds = re.findall(r"^\t(\w+)", constants[1], re.MULTILINE)
    words = ["_" + kind.replace("OpenCV", "Opencv_").replace("YCbCr", "Ycbcr") for kind in kinds]
    names = [re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", word).upper() for word in words]
    # From ToNumbers on none has a wire form.
    names = [name.replace("__", "_") for name in names[: kinds.index("ToNumbers")]]
    assert [getattr(_steps, name) for name in names] == list(range(len(names)))
    rows = re.findall(r"^\t(\w+): +\{bytes: ([^,}]*)", text, re.MULTILINE)
    sizes = {
        kinds.index(kind): eval(size, {"TapsMax": _steps.TAPS_MAX, "SmoothMax": _steps.SMOOTH_MAX})
        for kind, size in rows
    }
    assert sizes == _steps._MORE


def test_tests_know_each_pass_by_its_number() -> None:
    kinds = re.findall(r"^    ROW\((\w+), ", (CORE / "op" / "passes.h").read_text(), re.MULTILINE)
    library = (Path(__file__).resolve().parents[1] / "kernels" / "op_library.py").read_text()
    named = re.search(r"passes\.h.*?\n\((.*?)\n\) = range\((\d+)\)", library, re.DOTALL)
    assert named is not None
    assert re.findall(r"\w+", named[1]) == kinds
    assert int(named[2]) == len(kinds)
