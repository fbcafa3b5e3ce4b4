"""No module of goloader imports, directly or through others, one that imports it; imports for type checkers aside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import goloader

_PACKAGE = Path(goloader.__file__).parent


def _modules() -> dict[str, Path]:
    found = {}
    for path in _PACKAGE.rglob("*.py"):
        parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports wherever they stand, those of functions included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        yield from _statements(child)


def _imported(name: str, path: Path, modules: dict[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for statement in _statements(ast.parse(path.read_bytes())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
            continue
        base = statement.module or ""
        if statement.level:
            above = package.split(".")[: len(package.split(".")) - statement.level + 1]
            base = ".".join([*above, *filter(None, [statement.module])])
        for alias in statement.names:
            # A package is imported by all of its own, so it counts only where something else of it is wanted.
            yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base


def test_no_circle_of_imports() -> None:
    modules = _modules()
    graph = {name: set(_imported(name, path, modules)) & set(modules) for name, path in modules.items()}
    assert len(graph) > 200 and "goloader.plan" in graph["goloader._core"]
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle
