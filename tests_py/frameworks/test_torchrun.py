"""torchrun: the ranks that it starts find our loaders, with samplers that torch's DDP recipe gives them."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.slow
def test_two_ranks(torchrun: Any) -> None:
    first, second = torchrun("two_ranks_torch.py")
    for name in first:
        for case in first[name], second[name]:
            assert case["ours"]["steps"] == case["theirs"]["steps"] != [], name
            assert case["ours"]["native"], name
            assert case["theirs"]["kind"] == "torch.utils.data.dataloader"
        batches = {digest for digest, _ in first[name]["ours"]["steps"]}
        assert batches.isdisjoint(digest for digest, _ in second[name]["ours"]["steps"]), "the ranks saw the same"
