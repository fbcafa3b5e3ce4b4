"""Every place that refuses has a code of the table, every code has such a place, and docs/reasons.md lists them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import goloader
from goloader.plan.reasons import REASONS
from tests_py.pages import require_part

PACKAGE = Path(goloader.__file__).parent
# refusal.py makes a Refusal of what a RefusalError was given, and the reverse.
PASSED_ON = {"code", "answer.code"}
# Those that refuse, and their arguments before the code.
REFUSING = {"Refusal": 3, "RefusalError": 3, "SourceRefusal": 2, "TransformRefusal": 2}


def sites() -> Iterator[tuple[str, ast.Call]]:
    """Every call of what refuses, with its place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and name_of(node) in REFUSING:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def code_of(call: ast.Call) -> str:
    given = call.args[REFUSING[name_of(call)] :] + [each.value for each in call.keywords if each.arg == "code"]
    if not given:
        return ""
    (code,) = given
    return code.value if isinstance(code, ast.Constant) else ast.unparse(code)


def test_every_refusal_has_a_code_and_every_code_is_used() -> None:
    found = {place: code_of(call) for place, call in sites() if call.args}
    assert len(found) > 100
    assert not {place: code for place, code in found.items() if code not in REASONS and code not in PASSED_ON}
    texts = {
        node.value
        for path in PACKAGE.rglob("*.py")
        if path.name != "reasons.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not REASONS.keys() - texts


def test_docs_reasons_lists_every_code_with_what_to_change() -> None:
    lines = [f"| `{code}` | {reason.means} | {reason.change} |" for code, reason in sorted(REASONS.items())]
    require_part("docs/reasons.md", "reasons", "\n".join(["| code | means | change |", "|---|---|---|", *lines]) + "\n")
