"""Random generators by name, their states as text, and the process's own left as they were found."""

from __future__ import annotations

import base64
import ctypes
import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.random  # it seeds its generator as it is imported: here, not in a child
import torch
from numpy.typing import NDArray

from ..adapters.python import memory_of_random
from ..adapters.torch import worker

# The process's own generators: torch's for the CPU, the random module's, and numpy's old one.
PROCESS = ("torch", "random", "numpy")


def capture(names: Sequence[str]) -> dict[str, Any]:
    """The states of some of the process's generators."""
    return {name: _GET[name]() for name in names}


def left(before: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the states that capture gave which the process's generators have left since."""
    return {name: state for name, state in before.items() if not same(state, _GET[name]())}


def put(states: Mapping[str, Any]) -> None:
    """Puts the process's generators into states that capture gave."""
    for name, state in states.items():
        _PUT[name](state)


def of_worker(base_seed: int, number: int) -> dict[str, Any]:
    """The states with which torch's worker begins, as capture gives them."""
    seed = base_seed + number
    return {
        "torch": torch.Generator().manual_seed(seed).get_state(),
        "random": random.Random(seed).getstate(),
        "numpy": np.random.RandomState(worker._generate_state(base_seed, number)).get_state(),
    }


@contextmanager
def untouched(
    names: Sequence[str] = PROCESS, generators: Sequence[torch.Generator] = (), objects: Sequence[random.Random] = ()
) -> Iterator[None]:
    """Whatever is drawn inside, these generators afterwards stand where they stood before."""
    process, own = capture(names), [generator.get_state() for generator in generators]
    held = [each.getstate() for each in objects]
    try:
        yield
    finally:
        put(process)
        for each, was in zip(objects, held, strict=True):
            each.setstate(was)
        for generator, state in zip(generators, own, strict=True):
            generator.set_state(state)


def same(one: Any, other: Any) -> bool:
    """Whether two states of one generator are equal."""
    if one is other:
        return True
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple) and one[0] == "MT19937":
        return all(map(same, one, other))
    return bool(one == other)


# How many words another thread may have drawn meanwhile.
_DRAWN_MAX = 1 << 20
_COMPARED = 16


class Twin:
    """Draws words from a generator, one of the process's or an object's, that were worked out beside it.

    Each time is one draw, which is made before or after those of other threads: where a state is set, they would draw
    some numbers once more.
    """

    def __init__(self, of: str | random.Random = "torch") -> None:
        self._of = of
        # Says which numbers follow a state.
        self._generator = torch.Generator()

    def take(self, state: torch.Tensor, count: int, words: bytes | None = None) -> torch.Tensor:
        """Draws words; gives the state that they follow: the one given, if no other thread drew since.

        state  in the form of torch's (Processes)
        words  int32 each as random_() gives them, that follow the state, if they are known
        """
        taken = _DRAW[self._of](count) if isinstance(self._of, str) else _words_by(self._of, count)
        if words is not None and taken.numpy().tobytes() == words:
            return state
        generator = self._generator
        generator.set_state(state)
        # All are one draw: if another thread drew before it, the first words differ.
        first = taken[:_COMPARED]
        if torch.equal(torch.empty_like(first).random_(generator=generator), first):
            return state
        generator.set_state(state)
        ahead = taken.new_empty(_DRAWN_MAX + count).random_(generator=generator)
        for place in (ahead[:_DRAWN_MAX] == taken[0]).nonzero().flatten().tolist():
            if torch.equal(ahead[place : place + count], taken):
                generator.set_state(state)
                taken.new_empty(place).random_(generator=generator)
                return generator.get_state()
        now = Processes((self._of,)) if isinstance(self._of, str) else Processes((), objects=(self._of,))
        return self.take(torch.from_numpy(now.data[0]), count)


class Twins:
    """The same of several generators."""

    def __init__(self) -> None:
        self._twins: dict[int, Twin] = {}

    def settle(self, states: Processes, places: NDArray[np.int64]) -> None:
        """The second normal deviates of the random module's and of numpy's generator become what they are at a place
        (core/rng/gauss.go) behind these."""
        for name, state, place in zip(states.names, states.data, places.tolist(), strict=False):
            since = place >> _PLACE_BITS
            if name == "torch" or since == _GAUSS_BEFORE or (since == 0 and not state[_GAUSS_AT + 8]):
                continue
            before = words_of(place) - (since - 1) - _GAUSS_WORDS
            gauss = _SECOND[name](state, before) if since else None
            if name == "random":
                random._inst.gauss_next = gauss  # type: ignore[attr-defined]
            else:
                np.random.set_state((*np.random.get_state()[:3], *_in_numpys_state(gauss)))  # type: ignore[index]

    def take(self, states: Processes, counts: NDArray[np.int64]) -> Processes:
        """Draws so many words of each; gives the states that they follow: `states`, if no other thread drew since."""
        follow: Processes | None = None
        generators: tuple[str | random.Random, ...] = (*states.names, *states.objects)
        for number, (of, count) in enumerate(zip(generators, counts.tolist(), strict=True)):
            if count:
                state = torch.from_numpy(states.data[number])
                if number not in self._twins:
                    self._twins[number] = Twin(of)
                found = self._twins[number].take(state, count)
                if found is not state:
                    follow = follow or states.copied()
                    follow.data[number] = found.numpy()
        return follow or states


_STATE_BYTES = 5056  # of torch.get_rng_state(): Processes.WORDS

# Of a generator's place (core/rng/gauss.go): words that were drawn, and above them what is known of a normal deviate.
_PLACE_BITS = 40
_GAUSS_BEFORE = (1 << 22) - 1
_GAUSS_WORDS = 4


def words_of(place: Any) -> Any:
    """How many words were drawn, of a place or of an array of some."""
    return place & ((1 << _PLACE_BITS) - 1)


class Processes:
    """States of a process's generators, Mersenne Twisters all of them, each in the form of torch.get_rng_state().

    objects  generators of the user's own objects, behind those of the process
    data     [generators, 5056] uint8; the second normal deviates of the random module's and of numpy's are in them
             (core/rng/gauss.go)
    """

    WORDS = 632  # of 8 bytes, of a state

    def __init__(
        self,
        names: Sequence[str] = PROCESS,
        data: NDArray[np.uint8] | None = None,
        objects: Sequence[random.Random] = (),
    ) -> None:
        """Those of this process and moment, if no `data` are given."""
        self.names, self.objects = tuple(names), tuple(objects)
        count = len(self.names) + len(self.objects)
        self.data = np.empty((count, _STATE_BYTES), np.uint8) if data is None else data
        if data is None:
            self.capture()

    @classmethod
    def empty(cls, objects: Sequence[random.Random] = ()) -> Processes:
        """Room for them."""
        return cls(data=np.empty((len(PROCESS) + len(objects), _STATE_BYTES), np.uint8), objects=objects)

    @classmethod
    def of_worker(cls, base_seed: int, number: int, seed: int | None = None) -> Processes:
        """Those with which torch's worker begins; torch's generator seeded otherwise if `seed` is given."""
        made = cls.of(of_worker(base_seed, number))
        if seed is not None:
            made.data[0] = torch.Generator().manual_seed(seed).get_state().numpy()
        return made

    @classmethod
    def of(cls, states: Mapping[str, Any]) -> Processes:
        """Those that capture(PROCESS) gave."""
        made = cls.empty()
        for number, name in enumerate(PROCESS):
            made.data[number] = _AS_TORCH[name](states[name])
        return made

    @property
    def address(self) -> int:
        return self.data.ctypes.data

    @property
    def size(self) -> int:
        return self.data.nbytes

    def copied(self) -> Processes:
        return Processes(self.names, self.data.copy(), self.objects)

    def with_objects(self, own: Processes) -> Processes:
        """The same, and behind them those of objects."""
        return Processes(self.names, np.concatenate((self.data, own.data)), own.objects)

    def capture(self) -> None:
        """Takes over those of this process."""
        for number, name in enumerate(self.names):
            self.data[number] = _AS_TORCH[name](_GET[name]())
        for number, each in enumerate(self.objects, len(self.names)):
            self.data[number] = _of_python(each.getstate())

    def put(self) -> None:
        """Puts this process's generators into them."""
        for of, state in zip((*self.names, *self.objects), self.data, strict=True):
            if of == "torch":
                torch.set_rng_state(torch.from_numpy(state))
                continue
            words, at, gauss = _words_in(state), _place_in(state), _gauss_of(state)
            if of == "numpy":
                if type(_numpy_generator()) is not np.random.MT19937:
                    continue
                np.random.set_state(("MT19937", words, at, *_in_numpys_state(gauss)))
            else:
                generator: Any = random if of == "random" else of
                generator.setstate((3, (*words.tolist(), at), gauss))


_GAUSS_AT = 24 + 8 * 624  # behind the words: the deviate, and a byte that says whether there is one


def _of_python(state: Any) -> NDArray[np.uint8]:
    """random.getstate() in the form of torch's."""
    _, words, gauss = state
    return _as_torch(np.array(words[:-1], np.uint32), words[-1], gauss)


def _of_numpy(state: Any) -> NDArray[np.uint8]:
    """numpy.random.get_state() in the form of torch's; of another kind of generator, from which the core does not draw,
    what put() leaves alone."""
    if isinstance(state, dict):
        return _as_torch(np.zeros(624, np.uint32), 624, None)
    _, words, at, has_gauss, gauss = state
    return _as_torch(words, at, gauss if has_gauss else None)


def _words_in(state: NDArray[np.uint8]) -> NDArray[np.uint32]:
    return state[24:_GAUSS_AT].view(np.uint64).astype(np.uint32)


def _place_in(state: NDArray[np.uint8]) -> int:
    # By what is left: torch's own number for it is 0 in a generator that was just seeded.
    return 625 - int(state[8:12].view(np.int32)[0])


def _gauss_of(state: NDArray[np.uint8]) -> float | None:
    """The second normal deviate of the random module's generator, or of numpy's."""
    return float(state[_GAUSS_AT : _GAUSS_AT + 8].view(np.float64)[0]) if state[_GAUSS_AT + 8] else None


def _in_numpys_state(gauss: float | None) -> tuple[int, float]:
    """A deviate, or none, as numpy.random.get_state() ends."""
    return (0, 0.0) if gauss is None else (1, gauss)


def _second_of_python(state: NDArray[np.uint8], before: int) -> float:
    """The second of two deviates that are drawn so many words behind a state, which has none itself."""
    twin: Any = random.Random()
    twin.setstate((3, (*_words_in(state).tolist(), _place_in(state)), None))
    twin.getrandbits(32 * before)
    twin.gauss(0.0, 1.0)
    return float(twin.gauss_next)


def _second_of_numpy(state: NDArray[np.uint8], before: int) -> float:
    """The same of numpy's generator."""
    twin = np.random.RandomState()
    twin.set_state(("MT19937", _words_in(state), _place_in(state), *_in_numpys_state(None)))
    if before:  # bytes(0) draws a word
        twin.bytes(4 * before)
    return float(twin.standard_normal(2)[1])


_SECOND = {"random": _second_of_python, "numpy": _second_of_numpy}


def _as_torch(words: NDArray[np.uint32], at: int, gauss: float | None) -> NDArray[np.uint8]:
    """The state of a Mersenne Twister that draws words[at] next, in the form of torch's."""
    state = np.zeros(_STATE_BYTES, np.uint8)
    state[8:16].view(np.int32)[:] = len(words) + 1 - at, 1
    state[16:24].view(np.uint64)[:] = at
    state[24 : 24 + 8 * len(words)].view(np.uint64)[:] = words
    if gauss is not None:
        state[_GAUSS_AT : _GAUSS_AT + 8].view(np.float64)[:] = gauss
        state[_GAUSS_AT + 8] = 1
    return state


def _words(content: bytes) -> torch.Tensor:
    words = np.frombuffer(bytearray(content), np.int32)
    words &= _NO_SIGN
    return torch.from_numpy(words)


def _words_by(generator: Any, count: int) -> torch.Tensor:
    """Of a random.Random, or of the random module."""
    return _words(generator.getrandbits(32 * count).to_bytes(4 * count, "little"))


# So many words of 32 bits of each, as an int32 tensor whose items are as random_() gives them: without the sign.
_DRAW: dict[str, Callable[[int], torch.Tensor]] = {
    "torch": lambda count: torch.empty(count, dtype=torch.int32, device="cpu").random_(),
    "random": lambda count: _words_by(random, count),
    "numpy": lambda count: _words(np.random.bytes(4 * count)),
}
_NO_SIGN = 0x7FFFFFFF


class Watch:
    """Notices what is drawn from the process's generators.

    moved  states of those that have moved since the watch began
    """

    def __init__(self) -> None:
        self.moved: dict[str, Any] = {}
        self._last = capture(PROCESS)

    def look(self) -> bool:
        """Whether one of them has moved since the last look."""
        states = capture(PROCESS)
        moved = {name: state for name, state in states.items() if not same(self._last[name], state)}
        self._last = states
        self.moved.update(moved)
        return bool(moved)


def plain(state: Any) -> Any:
    """A state as something that pickles quickly: torch's as an array."""
    return state.numpy() if isinstance(state, torch.Tensor) else state


def to_text(state: Any) -> str:
    """A state as text: of torch (plain or not), of the random module, or of numpy."""
    state = plain(state)
    if isinstance(state, np.ndarray):
        return _pack(state.tobytes())
    if state[0] == "MT19937":
        _, words, at, has_gauss, gauss = state
        return f"{at},{has_gauss},{float(gauss).hex()},{_pack(np.asarray(words, np.uint32).tobytes())}"
    version, words, gauss = state
    return f"{version},{'' if gauss is None else float(gauss).hex()},{_pack(np.array(words, np.uint32).tobytes())}"


def from_text(text: str) -> Any:
    """What to_text was given. Raises ValueError if it cannot be that."""
    *head, words = text.split(",")
    content = _unpack(words)
    if not head:
        return torch.frombuffer(bytearray(content), dtype=torch.uint8)
    numbers = np.frombuffer(content, np.uint32)
    if len(head) == 3:
        return "MT19937", numbers, int(head[0]), int(head[1]), float.fromhex(head[2])
    return int(head[0]), tuple(numbers.tolist()), float.fromhex(head[1]) if head[1] else None


def _pack(content: bytes) -> str:
    # torch keeps 32-bit words in 64 bits.
    return base64.b64encode(zlib.compress(content)).decode()


def _unpack(text: str) -> bytes:
    try:
        return zlib.decompress(base64.b64decode(text, validate=True))
    except zlib.error as error:
        raise ValueError(f"not the state of a random generator: {error}") from None


class _Kept:
    """A state that is slow to ask for, kept as long as the generator's memory shows that nothing was drawn.

    ask   gives the state
    look  gives that memory; None where it cannot be seen, or where a normal deviate can be taken without a trace in it
    """

    def __init__(self, ask: Callable[[], Any], look: Callable[[], bytes | None]) -> None:
        self._ask, self._look = ask, look
        self._held: tuple[bytes, Any] | None = None

    def __call__(self) -> Any:
        memory, held = self._look(), self._held
        if memory is None:
            return self._ask()
        if held is not None and held[0] == memory:
            return held[1]
        state = self._ask()
        # Another thread may have drawn meanwhile, or numpy's may hold a deviate.
        keeps = memory == self._look() and not (type(state) is tuple and state[0] == "MT19937" and state[3])
        self._held = (memory, state) if keeps else None
        return state


def _numpy_generator() -> Any:
    return np.random.get_bit_generator()  # type: ignore[attr-defined]


def _numpy_words() -> bytes | None:
    """The words of numpy's generator and its place among them; None if it is none of numpy's own kind."""
    generator = _numpy_generator()
    if type(generator) is not np.random.MT19937:
        return None
    return ctypes.string_at(generator.ctypes.state_address, 4 * (624 + 1))


def _get_numpy() -> Any:
    """numpy's state as its tuple, or as a dict where somebody has put another kind of generator there."""
    if type(_numpy_generator()) is np.random.MT19937:
        return np.random.get_state()
    return np.random.get_state(legacy=False)


_AS_TORCH: dict[str, Callable[[Any], Any]] = {
    "torch": plain,
    "random": _of_python,
    "numpy": _of_numpy,
}


def _python_words() -> bytes | None:
    """The words of the random module's generator and its place; None if it keeps a deviate."""
    generator = getattr(random.getstate, "__self__", None)
    return None if getattr(generator, "gauss_next", 0.0) is not None else memory_of_random(generator)


# numpy takes 100 us, the random module 25.
_GET: dict[str, Callable[[], Any]] = {
    "torch": torch.get_rng_state,
    "random": _Kept(lambda: random.getstate(), _python_words),
    "numpy": _Kept(_get_numpy, _numpy_words),
}
_PUT: dict[str, Callable[[Any], None]] = {
    "torch": torch.set_rng_state,
    "random": random.setstate,
    "numpy": lambda state: np.random.set_state(state),
}
