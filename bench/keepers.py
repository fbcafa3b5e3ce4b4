"""Libraries that read shards of a format of their own from a bucket, and keep them on a disk: for bench.remote.

Each is imported where it is used: it has an environment of its own (python -m bench.setup_peers streaming litdata).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from torch.utils.data import DataLoader

from bench.peers import Peer

KEEPERS = {
    peer.name: peer
    for peer in (
        Peer("streaming", "MosaicML streaming, kept on a disk", needs=("streaming",), shares_torch=True),
        Peer("litdata", "LitData, kept on a disk", needs=("litdata",), shares_torch=True),
    )
}


def write(name: str, samples: Sequence[tuple[str, int]], folder: str, each: int) -> None:
    """Shards of so many images, with their files as they are."""
    files: list[Any] = [{"jpg": Path(path).read_bytes(), "cls": label} for path, label in samples]
    if name == "streaming":
        from streaming import MDSWriter

        size = sum(len(file["jpg"]) for file in files) * each // len(files)
        with MDSWriter(out=folder, columns={"jpg": "bytes", "cls": "int"}, size_limit=size) as shards:
            for file in files:
                shards.write(file)
        return
    from litdata.streaming.cache import Cache

    chunks = Cache(folder, chunk_size=each)
    for number, file in enumerate(files):
        chunks[number] = file
    chunks.done()
    chunks.merge()


def made(sample: Any, transform: Callable[[Any], Any]) -> Any:
    """A sample as all contenders have it."""
    return transform(Image.open(io.BytesIO(sample["jpg"])).convert("RGB")), sample["cls"]


def loader(name: str, root: str, kept: str, transform: Callable[[Any], Any], workers: int) -> Any:
    """A loader of shuffled batches of 64 as the library's documentation has it, which keeps shards in a folder."""
    arguments: dict[str, Any] = {"batch_size": 64, "num_workers": workers, "persistent_workers": True}
    if name == "streaming":
        from streaming import StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        clean_stale_shared_memory()  # of one that was killed, which would be taken for this one's

        class Images(StreamingDataset):  # type: ignore[misc]
            def __getitem__(self, at: Any) -> Any:
                return made(super().__getitem__(at), transform)

        return DataLoader(Images(remote=root, local=kept, shuffle=True, batch_size=64), **arguments)
    from litdata import StreamingDataLoader
    from litdata import StreamingDataset as LitDataset
    from litdata.streaming import downloader

    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # it has no argument for a server without TLS

    dataset = LitDataset(root, cache_dir=kept, shuffle=True, transform=partial(made, transform=transform))
    return StreamingDataLoader(dataset, **arguments)
