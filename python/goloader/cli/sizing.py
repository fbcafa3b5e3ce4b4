"""A model of an epoch on many nodes: what it needs, and how long the GPUs wait.

All GPUs step together. A node makes a step's batches with its cores, from images that it reads with so many requests in
flight. It is as fast as the slowest of these: cores, bandwidth, requests. A batch also waits for its last read, whose
time has a long tail; batches that are made ahead hide it, and second requests make it shorter (core/source/http).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# As many reads as the core has in flight (core/pipeline/reading.go: readersMax).
READS_MAX = 256

_STEPS = 1000
# For so many times it is computed how many reads take longer.
_TIMES = 500
# A store is asked again where an answer takes so many times as long as 95% of them, and so long at least.
_AGAIN, _AGAIN_MIN_S = 1.5, 0.02
# Of the normal distribution, below which 95% and 99% lie.
_P95, _P99 = 1.6448536269514722, 2.3263478740408408


@dataclass(frozen=True)
class Store:
    """What reads take: a log-normal distribution by its median and what 99% stay below.

    bytes_per_s             that a node reads
    remote                  it is asked again where an answer takes long
    cost_per_1000_requests  in dollars
    cost_per_gb             of what is read
    """

    latency_s: float
    latency_p99_s: float
    bytes_per_s: float
    remote: bool = False
    cost_per_1000_requests: float = 0.0
    cost_per_gb: float = 0.0

    @property
    def spread(self) -> float:
        """The standard deviation of the logarithm of a read's time."""
        return math.log(self.latency_p99_s / self.latency_s) / _P99

    @property
    def mean_s(self) -> float:
        return self.latency_s * math.exp(self.spread**2 / 2)

    @property
    def deviation_s(self) -> float:
        return self.mean_s * math.sqrt(math.exp(self.spread**2) - 1)

    def slowest_s(self, chance: NDArray[np.float64], reads: float) -> NDArray[np.float64]:
        """What the slowest of so many reads takes, with this chance that it is no more."""
        times = np.geomspace(self.latency_s, self.latency_s * math.exp(7 * self.spread), _TIMES)
        longer = self._longer(times)
        if self.remote:
            again = max(_AGAIN * self.latency_s * math.exp(_P95 * self.spread), _AGAIN_MIN_S)
            longer *= np.where(times > again, self._longer(np.maximum(times - again, 1e-9)), 1)
        wanted = -np.log(chance) / reads  # of so many, one takes longer
        return np.interp(-np.log(wanted), -np.log(longer), times)

    def _longer(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of reads that take longer."""
        place = np.log(times / self.latency_s) / max(self.spread, 1e-9)
        return np.array([math.erfc(each / math.sqrt(2)) / 2 for each in place.tolist()])


# What such stores usually do, and the list price of a GET within a region; what was measured is better.
STORES = {
    "disk": Store(0.0001, 0.001, 3e9),
    "nfs": Store(0.001, 0.02, 1e9),
    "s3": Store(0.03, 0.2, 3e9, True, 0.0004),
    "gs": Store(0.05, 0.3, 3e9, True, 0.0004),
    "az": Store(0.03, 0.2, 2e9, True, 0.0004),
    "http": Store(0.05, 0.5, 1e9, True),
}


@dataclass(frozen=True)
class Job:
    """A training, and the machines that it runs on.

    rate             images a second that a GPU trains on without waiting
    images           in an epoch
    batch            images in a GPU's batch
    ahead            batches made ahead for a GPU
    cores            of a node, that load
    decode           images a second that a core makes
    images_per_read  more than 1 where several lie together and are read at once
    cache_bytes      of a node, or of all nodes together on a file system that they share
    reads_max        reads that a node has in flight, all its GPUs' loaders together
    """

    nodes: int
    gpus: int
    rate: float
    images: int
    image_bytes: float
    batch: int
    ahead: int
    cores: int
    decode: float
    store: Store
    images_per_read: float = 1.0
    cache_bytes: float = 0.0

    @property
    def reads_max(self) -> int:
        return READS_MAX * self.gpus

    @property
    def cached(self) -> float:
        """The share of the set that a node finds in caches: each epoch deals its images anew to all nodes."""
        return min(1.0, self.cache_bytes / (self.images * self.image_bytes))

    @property
    def batches_bytes(self) -> float:
        """Of float32 images of 224 pixels, made ahead and in use."""
        return (self.ahead + 1.0) * self.gpus * self.batch * 3 * 224 * 224 * 4


@dataclass(frozen=True)
class Needs:
    """What one epoch needs of each node for its GPUs not to wait; and, with what there is, what comes of it.

    cores, bytes_per_s, reads_in_flight  of a node, on average
    requests, cost   of all nodes: to the store, in dollars
    seconds          of the epoch
    waiting          the share of them that all GPUs wait for data
    bound            by "the GPUs", "cores", "bandwidth", "reads in flight", or "slow reads": the tail of their times
    """

    cores: float
    bytes_per_s: float
    reads_in_flight: float
    requests: float
    cost: float
    seconds: float
    waiting: float
    bound: str


def needs(job: Job, epoch: int = 0, steps: int = _STEPS) -> Needs:
    """Of the first epoch (0), or of later ones, which find in caches what the one before has put there."""
    missed = 1.0 if epoch == 0 else 1 - job.cached
    rate = job.gpus * job.rate  # of a node
    reads = rate * missed / job.images_per_read
    requests = job.images * missed / job.images_per_read
    cost = requests / 1000 * job.store.cost_per_1000_requests
    cost += job.images * missed * job.image_bytes / 1e9 * job.store.cost_per_gb
    step_s = job.batch / job.rate
    took_s = {
        "cores": job.gpus * job.batch / (job.cores * job.decode),
        "bandwidth": job.gpus * job.batch * missed * job.image_bytes / job.store.bytes_per_s,
        "reads in flight": job.gpus * job.batch * missed / job.images_per_read * job.store.mean_s / job.reads_max,
    }
    waited = _waited(job, missed, max(took_s.values()), step_s, steps)
    bound = max(took_s, key=lambda name: took_s[name])
    if took_s[bound] <= step_s:
        bound = "slow reads" if waited >= 0.005 else "the GPUs"
    seconds = job.images / (job.nodes * rate) / (1 - waited)
    return Needs(
        cores=rate / job.decode,
        bytes_per_s=rate * missed * job.image_bytes,
        reads_in_flight=reads * job.store.mean_s,
        requests=requests,
        cost=cost,
        seconds=seconds,
        waiting=waited,
        bound=bound,
    )


def _waited(job: Job, missed: float, service_s: float, step_s: float, steps: int) -> float:
    """The share of its time that a job waits for data, once it runs: simulated, step by step, on all nodes."""
    chance = np.random.default_rng(0)
    reads = job.gpus * job.batch * missed / job.images_per_read
    sigma = math.sqrt(reads) * job.store.deviation_s / job.reads_max  # of the time that all reads of a step take
    begun: deque[float] = deque([0.0] * (job.ahead + 1), maxlen=job.ahead + 1)
    made = np.zeros(job.nodes)  # when a node's batches of the latest step were
    begin, start, early = 0.0, 0.0, steps // 10
    for step in range(steps + early):
        asked = begun[0]  # then the batches before these were handed out
        service = np.maximum(service_s + sigma * chance.standard_normal(job.nodes), 0)
        made = np.maximum(made, asked) + service
        ready = made
        if reads >= 1:  # the last read of a step comes no earlier than the slowest of so many
            ready = np.maximum(made, asked + job.store.slowest_s(chance.random(job.nodes), reads))
        begin = max(begin + step_s, float(ready.max()))
        begun.append(begin)
        if step == early:
            start = begin
    passed = begin - start
    return max(0.0, 1 - (steps - 1) * step_s / passed)
