"""Objects that count, raise or lie whatever they are asked: what a loader looks at, it looks at without asking.

How often each is asked is the same under torch's loader, and so are the batches.
"""

from __future__ import annotations

import pytest
from programs import Outcome

_HOSTILE = """
COUNTS = collections.Counter()

def counted(name):
    def method(self, *arguments, **options):
        COUNTS[name] += 1
        raise RuntimeError(f"{name} was asked for")
    return method

NAMES = (
    "__getattr__ __eq__ __ne__ __hash__ __bool__ __len__ __iter__ __contains__ __call__ __repr__ __str__ __index__ "
    "__int__ __float__ __getitem__ __array__ __fspath__ __instancecheck__ __subclasscheck__ __lt__ __format__"
).split()
METHODS = {name: counted(name) for name in NAMES}

class Meta(type):
    def __getattr__(cls, name):
        COUNTS["class." + name] += 1
        raise RuntimeError(name)

class Asked(metaclass=Meta):
    "Raises at whatever it is asked."
    locals().update(METHODS)

class Liar:
    "Says that it is a tensor, and a dataset, and a module."
    def __init__(self, kind): object.__setattr__(self, "kind", kind)
    @property
    def __class__(self):
        COUNTS["__class__"] += 1
        return object.__getattribute__(self, "kind")
    __getattr__ = METHODS["__getattr__"]

class Endless:
    "Is found below itself, however deep one goes."
    def __getattr__(self, name):
        COUNTS["endless"] += 1
        return Endless()
    def __iter__(self): return iter([Endless()])
    def __len__(self): return 3
    def __getitem__(self, at): return Endless()

class Described:
    "Its attributes are computed, and there is a slot that was never set."
    __slots__ = ("unset", "__dict__")
    @property
    def shape(self):
        COUNTS["shape"] += 1
        raise ImportError("a library that is not installed")
    transform = __getattr__ = state_dict = property(lambda self: COUNTS.update(["property"]) or 1 / 0)

def cycle():
    made = []
    made.append(made)
    return {"self": made, "deep": functools.reduce(lambda inner, _: [inner], range(5000), made)}

from unittest import mock
import types
class Lazy(types.ModuleType):
    def __getattr__(self, name):
        COUNTS["module." + name] += 1
        raise ImportError("OptionalImportError")

THINGS = {
    "asked": Asked(), "a class": Asked, "a tensor?": Liar(torch.Tensor), "a dataset?": Liar(Dataset),
    "a str?": Liar(str), "a module?": Liar(torch.nn.Module), "endless": Endless(),
    "described": Described(), "a mock": mock.MagicMock(),
    "a lazy module": Lazy("lazy"), "cyclic": cycle(), "C": memoryview(b"abc"), "a generator": (i for i in range(3)),
    "a lock": threading.Lock(),
}

def compare(make):
    "What a loader with each of these gives, and how often they were asked."
    for name, thing in THINGS.items():
        COUNTS.clear()
        try:
            loader = make(thing)
            for _ in range(2):
                for batch in loader:
                    show(None if isinstance(batch, mock.MagicMock) else batch)
            said = "end"
        except Exception as error:
            said = type(error).__name__
        say(name, said, sorted(COUNTS.items()))
"""

_PLACES = {
    "an attribute": """
class Holds(Dataset):
    def __init__(self, thing): self.thing, self.x = thing, torch.arange(6.)
    def __len__(self): return 6
    def __getitem__(self, i): return self.x[i]
compare(lambda thing: DataLoader(Holds(thing), 3))
""",
    "what rows are taken of": """
class Holds(Dataset):
    def __init__(self, thing): self.thing = thing
    def __len__(self): return 6
    def __getitem__(self, i): return self.thing[i]
compare(lambda thing: DataLoader(Holds(thing), 3))
""",
    "a condition": """
class Holds(Dataset):
    def __init__(self, thing): self.thing, self.x = thing, torch.arange(6.)
    def __len__(self): return 6
    def __getitem__(self, i):
        if self.thing is None: return 0
        if isinstance(i, slice): return 1
        return self.x[i] if self.thing else self.x[-i]
compare(lambda thing: DataLoader(Holds(thing), 3))
""",
    "a global": """
THING = None
class Uses(Dataset):
    def __init__(self): self.x = torch.arange(6.)
    def __len__(self): return 6
    def __getitem__(self, i): return THING.function(self.x[i]) if i > 4 else self.x[i]
def make(thing):
    global THING
    THING = thing
    return DataLoader(Uses(), 3)
compare(make)
""",
    "a transform": "compare(lambda thing: DataLoader(ImageFolder(ROOT, thing), 3))",
    "one of several": "compare(lambda thing: DataLoader(ImageFolder(ROOT, T.Compose([T.CenterCrop(8), thing])), 3))",
    "a function that opens images": "compare(lambda thing: DataLoader(ImageFolder(ROOT, augment(), loader=thing), 3))",
    "a path": "compare(lambda thing: DataLoader(Files([thing] * 4), 2))",
    "a transform of one's own": "compare(lambda thing: DataLoader(Files(files(ROOT), thing), 2))",
    "a collate_fn": "compare(lambda thing: DataLoader(TensorDataset(torch.arange(6.)), 2, collate_fn=thing))",
    "a sampler": "compare(lambda thing: DataLoader(TensorDataset(torch.arange(6.)), 2, sampler=thing))",
    "a batch_sampler": "compare(lambda thing: DataLoader(TensorDataset(torch.arange(6.)), batch_sampler=thing))",
    "indices of a Subset": """
compare(lambda thing: DataLoader(Subset(TensorDataset(torch.arange(6.)), thing), 2, sampler=[0]))
""",
    "a dataset": "compare(lambda thing: DataLoader(thing, 2, sampler=[0, 1]))",
    "in a Concat": """
def make(thing):
    made = ConcatDataset([TensorDataset(torch.arange(6.)), TensorDataset(torch.arange(2.))])
    made.datasets[1] = thing
    return DataLoader(made, 2)
compare(make)
""",
    "a class attribute": """
def make(thing):
    class Has(Dataset):
        other = thing
        x = list(range(6))
        def __len__(self): return 6
        def __getitem__(self, i): return self.x[i]
    return DataLoader(Has(), 3)
compare(make)
""",
    "attributes of known datasets": """
def make(thing):
    made = ImageFolder(ROOT, augment())
    made.other = made.root = thing
    return DataLoader(made, 3)
compare(make)
""",
}

PROGRAMS = {name: _HOSTILE + text for name, text in _PLACES.items()}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_asked_as_often_as_by_torch(outcomes: dict[str, tuple[Outcome, Outcome]], name: str) -> None:
    theirs, ours = outcomes[name]
    assert theirs.out and ours == theirs
