"""Draws from a replay buffer, Lightning's example of deep Q-learning"""

from collections import deque, namedtuple

import numpy as np
from torch.utils.data import DataLoader
from torch.utils.data.dataset import IterableDataset

DATA = "episodes"

Experience = namedtuple("Experience", field_names=["state", "action", "reward", "done", "new_state"])


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def __len__(self):
        return len(self.buffer)

    def append(self, experience):
        self.buffer.append(experience)

    def sample(self, batch_size):
        indices = np.random.choice(len(self.buffer), batch_size, replace=False)
        states, actions, rewards, dones, next_states = zip(*(self.buffer[idx] for idx in indices))
        return (
            np.array(states),
            np.array(actions),
            np.array(rewards, dtype=np.float32),
            np.array(dones, dtype=bool),
            np.array(next_states),
        )


class RLDataset(IterableDataset):
    def __init__(self, buffer, sample_size=200):
        self.buffer = buffer
        self.sample_size = sample_size

    def __iter__(self):
        states, actions, rewards, dones, new_states = self.buffer.sample(self.sample_size)
        for i in range(len(dones)):
            yield states[i], actions[i], rewards[i], dones[i], new_states[i]


def train_loader(root):
    steps = np.load(root / "halfcheetah.npz")
    buffer = ReplayBuffer(10000)
    fields = ("observations", "actions", "rewards", "terminals", "next_observations")
    for step in zip(*(steps[name] for name in fields)):
        buffer.append(Experience(*step))
    return DataLoader(dataset=RLDataset(buffer, len(buffer)), batch_size=16)
