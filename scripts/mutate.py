"""Breaks one rule of the compiler at a time, and says which breaks no test sees.

    python -m scripts.mutate python/goloader/plan/datasets/computed/reductions.py -- tests_py/parity/test_reduced*.py

What comes after `--` is pytest's: name few tests, that are meant to see it. A mutant changes one expression or leaves
out one statement. It is put in place of the module's code in a forked child, where those tests run that reach its line,
the short ones first. No file is changed. A mutant that is left is a rule without a test, code that does nothing, or the
same as what it was made of: `--only` and more tests tell.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

_PAIRS = (
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn),
    (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.Div, ast.Mod), (ast.BitOr, ast.BitAnd), (ast.And, ast.Or),
)  # fmt: skip
_OPPOSITES: dict[type, Any] = dict(_PAIRS) | {other: one for one, other in _PAIRS}
_NAMES = {
    "float32": "float64", "float64": "float32", "int64": "int32", "int32": "int64", "uint8": "int8",
    "any": "all", "all": "any", "min": "max", "max": "min",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A module in whose tree one node is another, or none: a field's, or one of a field that is a list."""

    path: Path
    tree: ast.Module
    owner: Any
    field: str
    place: int | None
    old: Any
    new: Any
    line: int

    @property
    def statement(self) -> ast.stmt:
        """The module's that it is in."""
        return next(each for each in self.tree.body if each.lineno <= self.line <= (each.end_lineno or 0))

    @property
    def is_of_table(self) -> bool:
        return _assigns(self.statement)

    def put(self) -> None:
        """Has the functions of this process be the mutant's, or a table, wherever it was imported."""
        if self.place is None:
            setattr(self.owner, self.field, self.new)
        else:
            getattr(self.owner, self.field)[self.place : self.place + 1] = [] if self.new is None else [self.new]
        name, tree = str(self.path), ast.fix_missing_locations(self.tree)
        if self.is_of_table:
            module = next(each for each in sys.modules.values() if getattr(each, "__file__", None) == name)
            before = dict(vars(module))
            exec(compile(ast.Module([self.statement], []), name, "exec"), vars(module))
            others = {id(old): vars(module)[key] for key, old in before.items() if vars(module)[key] is not old}
            for module in [each for each in sys.modules.values() if each.__name__.startswith("goloader.")]:
                vars(module).update({key: others[id(old)] for key, old in vars(module).items() if id(old) in others})
            return
        made = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compile(tree, name, "exec"))}
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename == name:
                each.__code__ = made[each.__code__.co_qualname, each.__code__.co_firstlineno]

    def __str__(self) -> str:
        old, new = (ast.unparse(each) or type(each).__name__ if each else "nothing" for each in (self.old, self.new))
        return f"{os.path.relpath(self.path)}:{self.line}: {old}  ->  {new}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _assigns(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign)


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a module, but for those of what only readers see: texts, annotations, errors' messages."""
    tree = ast.parse(path.read_bytes())
    found = []

    def walk(owner: Any, line: int) -> None:
        for field, value in ast.iter_fields(owner):
            if field in ("annotation", "returns", "decorator_list", "bases", "args") and not isinstance(
                owner, ast.Call
            ):
                continue
            for place, old in enumerate(value) if isinstance(value, list) else [(None, value)]:
                at = getattr(old, "lineno", line)
                if isinstance(old, ast.JoinedStr | ast.Raise) or (isinstance(owner, ast.ClassDef) and _assigns(old)):
                    continue
                found.extend(
                    Mutant(path, tree, owner, field, place, old, new, at) for new in _others(owner, field, old)
                )
                if isinstance(old, ast.AST):
                    walk(old, at)

    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) or _assigns(statement):
            walk(statement, statement.lineno)
    return found


def _others(owner: ast.AST, field: str, old: Any) -> Iterator[ast.AST | None]:
    """What may be in place of a node; None for nothing."""
    match owner, field:
        case ast.If(body=[ast.Raise() | ast.Return() | ast.Continue()], orelse=[]), "test":
            yield ast.Constant(False)
        case ((ast.If() | ast.IfExp() | ast.While()), "test"):
            yield ast.UnaryOp(ast.Not(), old)
        case ast.comprehension(), "ifs":
            yield ast.Constant(True)
        case ast.match_case(pattern=pattern), "guard":
            yield ast.Constant(False)
            if not isinstance(pattern, ast.MatchAs):
                yield None
        case ast.BoolOp(values=[_, _, *_]), "values":
            yield ast.Constant(isinstance(owner.op, ast.And))  # type: ignore[attr-defined]
        case ((ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()) | ast.Set()), "elts"):
            yield None
        case ast.Call(), "keywords":
            yield None
    match old:
        case ast.cmpop() | ast.operator() | ast.boolop() if type(old) in _OPPOSITES:
            yield _OPPOSITES[type(old)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=int(value)):
            yield ast.Constant(not value if type(value) is bool else value + 1)
        case ast.Constant(value=str(value)) if value in _NAMES:
            yield ast.Constant(_NAMES[value])
        case ast.Attribute(value=library, attr=name) if name in _NAMES:
            yield ast.Attribute(library, _NAMES[name], old.ctx)
        case ast.Name(id=name) if name in _NAMES:
            yield ast.Name(_NAMES[name], old.ctx)
        case ast.Call(args=[first, second, *rest]):
            yield ast.Call(old.func, [second, first, *rest], old.keywords)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()


# By a test's name, how long it takes and which lines of which modules it reaches.
_Reached = dict[str, tuple[float, dict[str, list[int]]]]


class Mutation:
    """A plugin of pytest: runs the tests for each mutant, in place of once."""

    def __init__(self, mutants: list[Mutant], budget_s: float, reached: Path) -> None:
        self.mutants, self.budget_s, self.reached = mutants, budget_s, reached

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not self.reached.exists():
            self._forked(partial(self._watched, session), 3600)
        reached: _Reached = json.loads(self.reached.read_text())
        left = defaultdict(list)
        for mutant in self.mutants:
            items, spent_s = self._reaching(mutant, session.items, reached)
            begun = time.monotonic()
            run = partial(self._tested, session, mutant, items)
            status = self._forked(run, 60 + 5 * spent_s) if items else None
            what = {0: "left", 1: "killed", None: "ended late"}.get(status, "broken") if items else "not reached"
            left[what].append(mutant)
            print(f"{what} ({len(items)} tests, {time.monotonic() - begun:.1f} s): {mutant}", flush=True)
        print(*(f"{len(mutants)} {what}" for what, mutants in left.items()), sep=", ")
        return True

    def _reaching(self, mutant: Mutant, items: list[pytest.Item], reached: _Reached) -> tuple[list[pytest.Item], float]:
        """The tests that are run for a mutant, and how long they take."""
        found, spent_s = [], 0.0
        known = [(*reached[each.nodeid], each) for each in items if each.nodeid in reached]
        for took_s, lines, item in sorted(known, key=lambda each: each[0]):
            at = lines.get(str(mutant.path), [])
            if spent_s < self.budget_s and (mutant.line in at or (at and mutant.is_of_table)):
                found.append(item)
                spent_s += took_s
        return found, spent_s

    @staticmethod
    def _forked(run: Callable[[], bool], limit_s: float) -> int | None:
        """How a child ends that runs this: None if it has to be told."""
        child = os.fork()
        if not child:
            os.setsid()
            for number in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            status = 2
            try:
                status = int(run())
            finally:
                os._exit(status)
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def _watched(self, session: pytest.Session) -> bool:
        """Writes to a file how long each test that passes takes and which lines it reaches."""
        reached: _Reached = {}
        for item, after in zip(session.items, [*session.items[1:], None], strict=True):
            found: dict[str, set[int]] = defaultdict(set)

            def traced(frame: FrameType, _: str, __: Any, found: Any = found) -> Any:
                name = frame.f_code.co_filename
                if "/goloader/plan/" not in name:
                    return None
                found[name].add(frame.f_lineno)
                return traced

            begun, failed = time.perf_counter(), session.testsfailed
            sys.settrace(traced)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            sys.settrace(None)
            if session.testsfailed == failed:
                lines = {name: sorted(each) for name, each in found.items()}
                reached[item.nodeid] = time.perf_counter() - begun, lines
        self.reached.write_text(json.dumps(reached))
        return False

    @staticmethod
    def _tested(session: pytest.Session, mutant: Mutant, items: list[pytest.Item]) -> bool:
        """Whether a test fails."""
        mutant.put()
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.testsfailed:
                return True
        return False


def main() -> int:
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, metavar="N", help="this many mutants of each module; all, if not given")
    parser.add_argument("--seed", type=int, default=0, help="another sample")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants that say this, as crops.py:31:")
    parser.add_argument("--budget", type=float, default=60, metavar="S", help="seconds of tests that see one mutant")
    parser.add_argument("--reached", type=Path, metavar="FILE", help="which test reaches which lines: kept there")
    given = parser.parse_args(sys.argv[1:at])
    mutants = []
    for module in given.modules:
        found = [mutant for mutant in mutants_of(module.resolve()) if given.only in str(mutant)]
        taken = random.Random(given.seed).sample(range(len(found)), min(given.sample or len(found), len(found)))
        mutants += [found[n] for n in sorted(taken)]
    with tempfile.TemporaryDirectory() as scratch:
        plugin = Mutation(mutants, given.budget, given.reached or Path(scratch) / "reached.json")
        return int(pytest.main(["-s", "-p", "no:cacheprovider", *sys.argv[at + 1 :]], plugins=[plugin]))


if __name__ == "__main__":
    sys.exit(main())
