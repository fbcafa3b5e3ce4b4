"""A blur of a user's own, by torch's convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torchvision.transforms as T
from torch import nn


class Blur:
    """SimCLR's (sthalles), each line of which a subclass may have otherwise."""

    requires_grad = True

    def __init__(self, kernel_size: int) -> None:
        radius = kernel_size // 2
        size = radius * 2 + 1
        self.down = nn.Conv2d(3, 3, kernel_size=(size, 1), stride=1, padding=0, bias=False, groups=3)
        self.across = nn.Conv2d(3, 3, kernel_size=(1, size), stride=1, padding=0, bias=False, groups=3)
        self.k, self.r = size, radius
        self.blur = nn.Sequential(nn.ReflectionPad2d(radius), *self.convolutions())
        self.to_tensor, self.to_pil = T.ToTensor(), T.ToPILImage()
        for each in (self.down, self.across):
            each.weight.requires_grad_(self.requires_grad)

    def convolutions(self) -> list[nn.Module]:
        return [self.down, self.across]

    def tensor(self, img: Any) -> Any:
        return self.to_tensor(img).unsqueeze(0)

    def weights(self) -> Any:
        sigma = np.random.uniform(0.1, 2.0)
        x = np.arange(-self.r, self.r + 1)
        x = np.exp(-np.power(x, 2) / (2 * sigma * sigma))
        return x / x.sum()

    def set(self, x: Any) -> None:
        x = torch.from_numpy(x).view(1, -1).repeat(3, 1)
        self.down.weight.data.copy_(x.view(3, 1, self.k, 1))
        self.across.weight.data.copy_(x.view(3, 1, 1, self.k))

    def blurred(self, img: Any) -> Any:
        with torch.no_grad():
            img = self.blur(img)
            return img.squeeze()

    def __call__(self, img: Any) -> Any:
        img = self.tensor(img)
        self.set(self.weights())
        img = self.blurred(img)
        return self.to_pil(img)
