"""Reading a `__getitem__` gives the same answers in every Python whose bytecode is known; those found are tried."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from goloader.plan import bytecode

# Bodies of `def __getitem__(self, i)`, and what they give; None: not understood.
BODIES = {
    "return self.x[i]": "self.x[index]",
    "return self.x[i], self.y[i]": "tuple(self.x[index], self.y[index])",
    "return [self.x[i], (self.y[i],)]": "list(self.x[index], tuple(self.y[index]))",
    "return {'a': self.x[i]}": "{'a': self.x[index]}",
    "return {'a': self.x[i], 7: self.d['k'][-1][i]}": "{'a': self.x[index], 7: self.d['k'][-1][index]}",
    "return {'a': self.x[i], 'a': self.y[i]}": None,
    "return dict(a=self.x[i], b=i)": "{'a': self.x[index], 'b': index}",
    "a = self.x[i]; b = self.y[i]; return b, a": "tuple(self.y[index], self.x[index])",
    "a, b = self.x[i], self.y[i]; return {'b': b, 'a': a}": "{'b': self.y[index], 'a': self.x[index]}",
    "a, b, c = self.x, self.y, self.z; return c, b, a": "tuple(self.z, self.y, self.x)",
    "a = b = self.x[i]; return a, b": "tuple(self.x[index], self.x[index])",
    "me = self; k = i; return me.x[k]": "self.x[index]",
    "i = 0; return self.x[i]": "self.x[0]",
    "self = i; return self.x": "index.x",
    "return self.x[i, 0]": "self.x[tuple(index, 0)]",
    "return self.x[(0, 'a')]": "self.x[tuple(0, 'a')]",
    "return self.x[self.order[i]]": "self.x[self.order[index]]",
    "return self.x.take(i)": "self.x.take(index)",
    "return self.x.take(i, axis=1)": "self.x.take(index, axis=1)",
    "return torch.from_numpy(self.x[i].copy())": "torch.from_numpy(self.x[index].copy())",
    "return torch.tensor([self.x[i]], dtype=torch.long)": "torch.tensor(list(self.x[index]), dtype=torch.long)",
    "return os.path.join(self.root, 'a').strip('b')": "os.path.join(self.root, 'a').strip('b')",
    "return self.load(self, i, a=1, b=i)": "self.load(self, index, a=1, b=index)",
    "return x[i]": "x[index]",
    "return f'{self.root}/{i}.jpg'": "f'{f'{self.root}'}{'/'}{f'{index}'}{'.jpg'}'",
    "return f'{i:03}.jpg'": "f'{<built-in function format>(index, '03')}{'.jpg'}'",
    "return f'{i!r:>9}'": "<built-in function format>(<built-in function repr>(index), '>9')",
    "a = []; a.append(i); return a if a else 0, a[0] if len(a) == 1 else a, 3 if len(a) > 1 else 4": (
        "tuple(list(index), index, 4) and (1 > 1) and len and (1 == 1) and len"
    ),
    "return f'{i!r}'": "f'{<built-in function repr>(index)}'",
    "return f'{self.x!s}{i!a:3}'": (
        "f'{f'{<class 'str'>(self.x)}'}{<built-in function format>(<built-in function ascii>(index), '3')}'"
    ),
    "return self.root + '/' + self.x[i]": "((self.root + '/') + self.x[index])",
    "return self.x[i] - 1, self.y / i, self.z % 2": "tuple((self.x[index] - 1), (self.y / index), (self.z % 2))",
    "return self.x[i] < 1, self.x is self.y": "tuple((self.x[index] < 1), (self.x is self.y))",
    "return 1 in self.x, 1 not in self.x": "tuple((1 in self.x), (1 not in self.x))",
    "return 1, None, 'a', True": "tuple(1, None, 'a', True)",
    "return None": "None",
    "return ()": "tuple()",
    "return {}": "{}",
    "if self.on: return 1\n    return 2": "1",
    "if not self.on: return 1\n    return 2": "2",
    "if self.off: i = 2\n    elif self.on: i = 3\n    return i": "3",
    "if self.on and self.off: return 1\n    return 2": "2",
    "if self.off or self.on: return 1\n    return 2": "1",
    "if self.none is None: return 1\n    return 2": "1",
    "if self.none is not None: return 1\n    return 2": "2",
    "if self.kind == 'a': return 1\n    return 2": "1",
    "if isinstance(i, list): return 1\n    return 2": "2",
    "return self.x if self.on else self.y": "self.x",
    "return self.off or self.x": "self.x",
    "return self.on and self.x": "self.x",
    "assert self.on, 'a'; return i": "index",
    "if self.off: raise ValueError(i)\n    return i": "index",
    "if self.off:\n        while 1: pass\n    return i": "index",
    "if i: return 1\n    return 2": None,
    "return self.x[i] if i else self.y[i]": None,
    "assert i; return self.x[i]": "self.x[index]",
    "if i: raise IndexError(i)\n    return self.x[i]": "self.x[index]",
    "for _ in range(2):\n        assert i and self.y[i] > 2, i\n    return self.x[i]": "self.x[index]",
    "if i: raise IndexError(i)\n    raise ValueError": None,
    "while i: return self.x[i]": None,
    "while self.on: pass": None,
    "return self.x[i:], self.x[i][:-4], self.x[1:i:2]": (
        "tuple(self.x[index:], self.x[index][:-4], self.x[1:index:2])"
    ),
    "a, b = self.x[i]; return b, a": "tuple(self.x[index][1], self.x[index][0])",
    "a, (b, c) = self.x[i]; return c": "self.x[index][1][1]",
    "a, *b = self.x[i]; return a": None,
    "return (self.x[i],) + (self.y[i],)": "tuple(self.x[index], self.y[index])",
    "return helper(self.x[i], 2)": "tuple(self.x[index], 2)",
    "return helper(b=self.x[i], a=i)": "tuple(index, self.x[index])",
    "return helper(i)": "tuple(index, 'b')",
    "return helper(i, i, i)": None,
    "return helper(i, c=1)": None,
    "a, b = helper(i); return b": "'b'",
    "return deep(i)": "tuple(tuple(index, 'b'), 'b')",
    "return endless(i)": None,
    "return looped(i)": None,
    "with open(self.x[i], 'rb') as f: return Image.open(f).convert('RGB')": (
        "Image.open(open(self.x[index], 'rb')).convert('RGB')"
    ),
    "with open(self.x, 'rb') as f:\n        a = Image.open(f)\n        b = a.convert('L')\n    return b, self.y[i]": (
        "tuple(Image.open(open(self.x, 'rb')).convert('L'), self.y[index])"
    ),
    "with open(self.x[i], 'rb') as f: a = Image.open(f)\n    return a.convert('L')": (
        "Image.open(open(self.x[index], 'rb')), which is closed.convert('L')"
    ),
    "with Image.open(self.x[i]) as a: a = a.convert('RGB')\n    return a": "Image.open(self.x[index]).convert('RGB')",
    "with Image.open(self.x[i]) as a: pass\n    return a.convert('RGB')": (
        "Image.open(self.x[index]), which is closed.convert('RGB')"
    ),
    "with self.x as a, self.y as b: return a, b.c(i)": "tuple(self.x, which is closed, self.y.c(index))",
    "with self.x as a, self.y as b: return b.c(i)": "self.y.c(index) and self.x",
    "return -self.x[i]": "-self.x[index]",
    "a = self.x[i]; a += 1; return a": "(self.x[index] += 1)",
    "a = self.x[i]; a -= 1; a *= 2; a /= 3; return a": "(((self.x[index] -= 1) *= 2) /= 3)",
    "return self.x[i] ** 2, self.x[i] & 1 | 2 ^ self.y, self.x[i] // 2 << 1 >> 2, self.x[i] @ self.y": (
        "tuple((self.x[index] ** 2), ((self.x[index] & 1) | (2 ^ self.y)), (((self.x[index] // 2) << 1) >> 2), "
        "(self.x[index] @ self.y))"
    ),
    "a = torch.zeros(9); a[:3] = self.x[i]; return a": "torch.zeros(9) with [:3] = self.x[index]",
    "return {i: self.x[i]}": None,
    "return {**self.d}": None,
    "return [*self.x[i]]": None,
    "return (*helper(i), self.x[i], 1), [*helper(i)]": "tuple(tuple(index, 'b', self.x[index], 1), list(index, 'b'))",
    "return [1, 2, 3], (*self.x[i],)": None,
    "return torch.tensor([1, 2, 3, self.x[i]])": "torch.tensor(list(1, 2, 3, self.x[index]))",
    "return torch.tensor([1, 2, 3, 4])": "torch.tensor(list(1, 2, 3, 4))",
    "return self.load(*self.x)": None,
    "return [a[i] for a in self.arrays]": None,
    "a = [i]\n    for b in a:\n        if len(a) < 4: a.append(b)\n    return a": None,
    "self.seen = i; return self.x[i]": None,
    "self.x[i] = 0; return self.x[i]": None,
    "self.x[i]; return self.y[i]": "self.y[index] and self.x[index]",
    "a = self.y[i]; return self.x[i]": "self.x[index] and self.y[index]",
    "a = torch.tensor(self.x[i]); return self.y[i]": "self.y[index] and torch.tensor(self.x[index])",
    "a, b = self.y[i]; return self.x[i], a": "tuple(self.x[index], self.y[index][0])",
    "del self.x[i]; return self.x[i]": None,
    "a = self.x[i]; del a; return a": None,
    "yield self.x[i]": None,
    "return (yield self.x[i])": None,
    "return lambda: self.x[i]": "<lambda>",
    "global x; x = i; return self.x[i]": None,
    "import x; return x.y[i]": "x.y[index]",
    "import x.y.z; return x.w": "x.w",
    "from x.y import z as w; return w[i]": "x.y.z[index]",
    "return (lambda x, y=2: x[y])(self.x)": "self.x[2]",
    "f = lambda *x: x; return f(i)": None,
    "k = 1; f = lambda: k; k = 2; return f()": None,
    "k = self.x; f = lambda: [k[j] for j in (i, 1)]; return f()": "list(self.x[index], self.x[1])",
    "def f(x, *, y): return x, y\n    return f(i, y=self.y)": "tuple(index, self.y)",
    "return [i, self.x][-1]": "self.x",
    "return f(*[i, self.x])": "f(index, self.x)",
    "with self.x: return i": "index and self.x",
    "try: return i\n    finally: pass": None,
    "try: return self.x[i]\n    finally: self.y[i]": None,
    "try: return self.x[i]\n    except OSError: return 0": None,
    "try: a = self.x[i]\n    except: a = 0\n    return a": None,
}

# Bodies of `def collate(self, batch)`.
COLLATES = {
    "return [x for x in batch]": "list(*(batch[i] for batch))",
    "return [x[0] + self.n for x in batch]": "list(*((batch[i][0] + self.n) for batch))",
    "n = self.n; return [x[n] for x in batch]": "list(*(batch[i][self.n] for batch))",
    "return tuple(zip(*batch))": "tuple(zip(*(batch[i] for batch)))",
    "a, b = zip(*batch); return b": "zip(*(batch[i] for batch))[1]",
    "a, b = [], [0]\n    for x, y in batch:\n        a.append(x); b.append(len(y))\n    return a, b[:-1]": (
        "tuple(list(*(batch[i][0] for batch)), list(0, *(len(batch[i][1]) for batch))[:-1])"
    ),
    "a = []\n    for x in batch: a += [x]\n    return a": "list(*(batch[i] for batch))",
    "a = b = []\n    for x in batch: a.append(x)\n    b.append(1); return a": "list(*(batch[i] for batch), 1)",
    "a = [batch]; a.append(1); a.extend([2, 3]); return a": "list(batch, 1, 2, 3)",
    "return [batch[i] for i in range(len(batch))]": ("list(*(batch[range(len(batch))[i]] for range(len(batch))))"),
    "x = 1; a = [x for x in batch]; return x, a": "tuple(1, list(*(batch[i] for batch)))",
    "a = []\n    for x in batch: a.append(x); a.append(x)\n    return a": None,
    "a = []\n    for x in batch: a.append(len(a))\n    return a": None,
    "a = []\n    for x in batch:\n        a.append(x); b = a\n    return a": "list(*(batch[i] for batch))",
    "a = []; b = (a, 1)\n    for x in batch: a.append(x)\n    return b": None,
    "a = []\n    for x in batch: a = [x]\n    return a": None,
    "a = 0\n    for x in batch: a += x\n    return a": None,
    "a = 0\n    for x in batch: a, b = x, a\n    return b": None,
    "for x in batch: pass\n    return x": None,
    "for x in batch: break\n    return 1": None,
    "for x in batch: return x": None,
    "a = []\n    for x in batch:\n        if x: a.append(x)\n    return a": None,
    "return [x for x in batch if x]": None,
    "return [y for x in batch for y in x]": None,
    "return {x: 1 for x in batch}": None,
    "return max(len(x) for x in batch)": "max(list(*(len(batch[i]) for batch)))",
    "return [(lambda: x) for x in batch]": None,
    "f = lambda x: len(x); return [f(x) for x in batch], list(map(f, batch))": (
        "tuple(list(*(len(batch[i]) for batch)), list(list(*(len(batch[i]) for batch))))"
    ),
    "return map(len, batch)": "map(len, batch)",
    "batch.sort(key=lambda x: x[0], reverse=True); return [x for x in batch]": (
        "list(*(sorted(batch, key=batch[i][0])[i] for sorted(batch, key=batch[i][0])))"
    ),
    "return sorted(batch, key=len)": "sorted(batch, key=len(batch[i]))",
    "return [sorted(batch, key=len) for x in batch]": "list(*(sorted(batch, key=len) for batch))",
    "return {k: 1 for k in batch[0]}": None,
    "return batch if 'a' in ('a', 'b') and 'a' != 'b' and 'a' not in {'b', 'c'} else 2": "batch",
    "while batch: return 1": None,
    "self.n.append(batch); return 1": "1 and self.n.append(batch)",
    "a = [batch]; helper(a); a.append(1); return a": "list(batch, 1) and helper(list(batch))",
}

# Loops over what is known: self.names is {"a": ..., "b": ...}, self.pair a tuple of two.
LOOPS = {
    "return {k: v[i] for k, v in self.names.items()}": "{'a': self.names['a'][index], 'b': self.names['b'][index]}",
    "item = {k: self.names[k][i] for k in self.names}; item['y'] = self.y[i]; return item": (
        "{'a': self.names['a'][index], 'b': self.names['b'][index], 'y': self.y[index]}"
    ),
    "return [x[i] for x in self.pair]": "list(self.pair[0][index], self.pair[1][index])",
    "return tuple(x[i] for x in self.pair)": "tuple(self.pair[0][index], self.pair[1][index])",
    "return [self.x[i] for _ in range(2)]": "list(self.x[index], self.x[index])",
    "return [n * self.x[i] for n, x in enumerate(self.pair)]": "list((0 * self.x[index]), (1 * self.x[index]))",
    "return dict(zip(('u', 'v'), [x[i] for x in self.pair]))": (
        "dict(zip(tuple('u', 'v'), list(self.pair[0][index], self.pair[1][index])))"
    ),
    "a = []\n    for x in self.pair:\n        a.append(x[i])\n    return a": (
        "list(self.pair[0][index], self.pair[1][index])"
    ),
    "a = [x[i] for x in self.pair]; a.append(self.y[i]); a += [i]; return a": (
        "list(self.pair[0][index], self.pair[1][index], self.y[index], index)"
    ),
    "a = {}\n    for k, v in self.names.items():\n        a[k] = v[i]\n    a.update(c=i); return a": (
        "{'a': self.names['a'][index], 'b': self.names['b'][index], 'c': index}"
    ),
    "a = {'c': i}; return {**a, 'd': self.x[i]}": "{'c': index, 'd': self.x[index]}",
    "b = self.y; return [x[i] + b for x in self.pair]": (
        "list((self.pair[0][index] + self.y), (self.pair[1][index] + self.y))"
    ),
    "return [x[i] * scale for x in self.pair]": "list((self.pair[0][index] * scale), (self.pair[1][index] * scale))",
    "return [[x[i] for x in self.pair] for k in range(1)]": "list(list(self.pair[0][index], self.pair[1][index]))",
    "for x in self.pair: pass\n    return x[i]": "self.pair[1][index]",
    "for x in self.pair: return x[i]": "self.pair[0][index]",
    "a = [1]; b = (a, 2); a.append(3); return b": None,
    "return [x for x in self.x[i]]": None,
    "return [lambda: x for x in self.pair]": None,
    "return [x for x in range(1000)]": None,
    "return {v: 1 for v in self.pair}": None,
}

SCRIPT = """
import builtins, importlib.util, json, sys
spec = importlib.util.spec_from_file_location("bytecode", sys.argv[1])
sys.modules["bytecode"] = bytecode = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bytecode)

CONDITIONS = {
    "self.on": True, "self.off": False, "(self.none is None)": True, "(self.none is not None)": False,
    "(self.kind == 'a')": True, "isinstance(index, list)": False,
}

def decide(condition):
    if str(condition) not in CONDITIONS:
        raise bytecode.UnreadableError(str(condition))
    return CONDITIONS[str(condition)]


def helper(a, b="b"):
    return a, b

def deep(a):
    return helper(helper(a))

def endless(a):
    return endless(a)

def looped(a):
    for each in a:
        return each

def callee(expression):
    if isinstance(expression, bytecode.Call) and isinstance(expression.function, bytecode.Name):
        function = globals().get(expression.function.name)
        return function and bytecode.Callee(
            function, expression.function, expression.arguments, expression.options
        )

def value(expression):
    if isinstance(expression, bytecode.Constant):
        return expression.value
    if isinstance(expression, bytecode.Name):
        return vars(builtins)[expression.name]
    return {"self.names": {"a": 0, "b": 0}, "self.pair": (0, 0)}[str(expression)]

def made(source, scale):
    space = {}
    exec("def around(scale):\\n  " + source.replace("\\n", "\\n  ") + "\\n  return __getitem__", space)
    return space["around"](scale)

answers = {}
for body in json.load(sys.stdin):
    given = set()
    batch = "batch" in body
    arguments = bytecode.Itself(), bytecode.Batch() if batch else bytecode.Index()
    for head in "", "if 0:\\n    import torch, os, Image\\n":  # imported names are called by other instructions
        function = made(head + "def __getitem__(self, " + ("batch" if batch else "i") + "):\\n    " + body, 2)
        try:
            reading = bytecode.Reader(decide, (lambda _: None) if batch else callee, value).read(function, arguments)
            given.add(" and ".join(map(str, (reading.result, *reading.loose))))
            assert all(CONDITIONS[str(condition)] is outcome for condition, outcome in reading.conditions)
        except (bytecode.UnreadableError, KeyError):
            given.add(None)
    (answers[body],) = given
print(json.dumps(answers))
"""


@pytest.mark.parametrize("version", ["here", "3.10", "3.11", "3.12", "3.13", "3.14"])
def test_what_is_understood(version: str) -> None:
    interpreter = sys.executable if version == "here" else shutil.which(f"python{version}")
    if interpreter is None or subprocess.run([interpreter, "-c", ""], capture_output=True).returncode != 0:
        pytest.skip(f"no Python {version} here")
    done = subprocess.run(
        [interpreter, "-c", SCRIPT, str(Path(bytecode.__file__))],
        input=json.dumps([*BODIES, *COLLATES, *LOOPS]), capture_output=True, text=True, check=True, timeout=280,
    )  # fmt: skip
    answers = json.loads(done.stdout)
    # That a name is given twice is gone in some versions' bytecode; what is left means the same.
    assert answers.pop("return {'a': self.x[i], 'a': self.y[i]}") in (None, "{'a': self.y[index]}")
    assert answers == {body: (BODIES | COLLATES | LOOPS)[body] for body in answers}


def test_conditions_that_an_error_depends_on_are_told() -> None:
    def plain(self: object, i: int) -> object:
        if i > 3:
            raise IndexError(i)
        if not self.x[i] < self.y[i]:  # type: ignore[attr-defined]
            raise ValueError(i)
        return self.x[i]  # type: ignore[attr-defined]

    def decide(condition: object) -> bool:
        raise bytecode.UnreadableError("depends on the index")

    reading = bytecode.Reader(decide).read(plain)
    told = [(str(condition), outcome) for condition, outcome in reading.asserted]
    assert told == [("(index > 3)", False), ("(self.x[index] < self.y[index])", True)]
    assert not reading.loose and not reading.conditions


def test_other_pythons_are_not_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(self: object, i: int) -> object:
        return self.x[i]  # type: ignore[attr-defined]

    assert bytecode.Reader(bool).read(plain).result == bytecode.Item(
        bytecode.Attribute(bytecode.Itself(), "x"), bytecode.Index()
    )
    monkeypatch.setattr(sys, "version_info", (3, 15, 0, "final", 0))
    with pytest.raises(bytecode.UnreadableError, match="has bytecode of cpython"):
        bytecode.Reader(bool).read(plain)


def test_equal_expressions_are_compared_part_by_part() -> None:
    """And not way by way: of these, which hold a part twice in each of a hundred depths, there are 2**100."""

    def made() -> bytecode.Expression:
        value: bytecode.Expression = bytecode.Index()
        for _ in range(100):
            value = bytecode.Binary("+", value, value)
        return value

    one, other, third = made(), made(), bytecode.Binary("+", made(), made())
    assert one == other and third.left == other and third.right == one
    assert third != bytecode.Binary("-", one, other)
