"""Threads that draw from torch's generator beside a loader without workers: no number is lost, and none is drawn twice.

Each transform here draws one word a sample, as the thread does: so the words of the generator, from its seed on, are
the thread's and the loader's, in some order, and the loader's say which images were flipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import alone

_SHARED = """
class Thread(threading.Thread):
    def __init__(self):
        super().__init__()
        self.words, self.stopped = [], False
    def run(self):
        while not self.stopped:
            self.words.append(int(torch.empty((), dtype=torch.int32).random_()))
            time.sleep(0.0001)

def stream(count, seed=7):
    generator = torch.Generator().manual_seed(seed)
    words = [int(torch.empty((), dtype=torch.int32).random_(generator=generator)) for _ in range(count)]
    return words, generator.get_state()

def left_over(words, taken):
    "What is left of the words when those taken are; they are in their order."
    taken, left = list(taken), []
    for word in words:
        if taken and taken[0] == word:
            taken.pop(0)
        else:
            left.append(word)
    assert not taken, "numbers that the generator never gave, or gave before"
    return left

crop = [T.CenterCrop(24), T.ToTensor()]
def run(dataset):
    "The words that a thread drew beside an epoch, and the batches of that, or their errors."
    iterator, batches = iter(in_go(DataLoader(dataset, 4))), []
    seed(7)
    thread = Thread()
    thread.start()
    while len(thread.words) < 3:
        pass
    while True:
        try:
            batches.append(next(iterator))
        except StopIteration:
            break
        except Exception as error:
            batches.append(error)
    thread.stopped = True
    thread.join()
    return thread.words, batches
"""

_SOUND = """
plain = [image for image, _ in ImageFolder(ROOT, T.Compose(crop))]
for epoch in range(5):
    words, batches = run(ImageFolder(ROOT, T.Compose([crop[0], T.RandomHorizontalFlip(), crop[1]])))
    count = len(words) + len(plain)
    given, state = stream(count)
    assert torch.equal(torch.get_rng_state(), state), "another number of words"
    left = left_over(given, words)
    for image, was, word in zip(torch.cat([images for images, _ in batches]), plain, left, strict=True):
        flipped = (word & 0xFFFFFF) / 2**24 < 0.5
        assert torch.equal(image, was.flip(-1) if flipped else was), "flipped by another number"
say("right")
"""

# What the core drew for samples behind one in error is only taken back if nobody drew since: else it is skipped.
_DAMAGED = """
import shutil
shutil.rmtree("damaged", ignore_errors=True)
shutil.copytree(ROOT, "damaged")
for path in files("damaged")[2::5]:
    pathlib.Path(path).write_bytes(b"")
for path in files("damaged")[3::7]:
    pathlib.Path(path).write_bytes(pathlib.Path(path).read_bytes()[:700])
words, batches = run(ImageFolder("damaged", T.Compose([crop[0], T.RandomHorizontalFlip(), crop[1]])))
left_over(stream(len(words) + 24)[0], words)
say([type(batch).__name__ for batch in batches])
"""


@pytest.mark.parametrize("text", [_SOUND, _DAMAGED], ids=["sound files", "damaged files"])
def test_every_number_is_drawn_once(root: Path, text: str) -> None:
    theirs, ours = alone(_SHARED + text, root)
    assert theirs.out, theirs.err
    assert ours == theirs
