"""Datasets of s3torchconnector: S3MapDataset, which gives objects as files to a function of the user's. Nothing here
imports the library.

    def load(object):
        return transform(Image.open(object).convert("RGB")), CLASSES[object.key.split("/")[-2]]

    S3MapDataset.from_prefix("s3://bucket/train", region="eu-west-1", transform=load)

The code of the dataset's class is read as the user's own is. What it reads by, an S3Client, is a client as those in
../reads/clients.py are: the core asks at its endpoint, in its region, with the credentials that the environment names.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ....storage import stores
from ...bytecode import UnreadableError
from ...trust.look import in_class, is_a
from ...trust.originals import is_original
from ..reads.clients import Client

_NAME = "s3torchconnector"


def _known(module: str, name: str) -> Any:
    return getattr(sys.modules.get(f"{_NAME}.{module}"), name, None)


def is_dataset(dataset: Any) -> bool:
    """Whether it is an S3MapDataset, perhaps of a class of the user's."""
    kind = _known("s3map_dataset", "S3MapDataset")
    return kind is not None and is_a(dataset, kind)


def list_objects(dataset: Any) -> None:
    """Has an S3MapDataset list its objects and make its client, as it does when torch's samplers ask for its length.

    Raises UnreadableError.
    """
    kind = _known("s3map_dataset", "S3MapDataset")
    pairs = in_class(kind, "_dataset_bucket_key_pairs")
    called = (in_class(kind, "__len__"), in_class(kind, "_get_client"), getattr(pairs, "fget", None))
    if not all(is_original(each, _NAME) for each in called):
        raise UnreadableError("has a length by s3torchconnector, parts of which were replaced")
    try:
        kind.__len__(dataset)
        client = kind._get_client(dataset)
    except Exception as error:  # which the samplers raise
        raise UnreadableError(f"has no length: {error}") from None
    _place(client)  # whose refusal says more than that of the code that reads by it


def is_info(kind: type) -> bool:
    """Whether it is the class of what its lists say of an object, which nobody can change."""
    return kind is getattr(sys.modules.get(f"{_NAME}client._mountpoint_s3_client"), "ObjectInfo", None)


def is_reader(value: Any) -> bool:
    """Whether it is an S3Client of that library."""
    return type(value) is _known("_s3client", "S3Client")


class Connector(Client):
    """An S3Client, whose get_object gives a file.

    Raises UnreadableError for one that reads in another way than by plain requests.
    """

    __slots__ = ("_who",)

    def __init__(self, value: Any) -> None:
        self._value, self.bucket, self.takes = value, None, "reader"
        self._seal = self._sealed()
        self._at = _place(value)
        self._who = value._s3client_config.profile, value._s3client_config.unsigned
        self.name = stores.register(self)

    def _sealed(self) -> Any:
        own = vars(self._value)
        at = repr([own.get(each) for each in ("_region", "_endpoint", "_s3client_config")])
        return "get_object" in own, at, "" if own.get("_endpoint") else os.environ.get("AWS_ENDPOINT_URL", "")

    def settings(self) -> dict[str, str]:
        """As Config of core/source/s3 has them: with a profile's credentials, or those that the environment names."""
        profile, unsigned = self._who
        if unsigned:
            return self._at | {"no_role": "true"}
        return stores.of_aws(profile) | self._at


def _place(client: Any) -> dict[str, str]:
    """Where an S3Client asks. Raises UnreadableError for one that reads in another way."""
    if not is_original(in_class(type(client), "get_object"), _NAME) or "get_object" in vars(client):
        raise UnreadableError("reads by a client whose get_object was replaced")
    endpoint = client._endpoint or os.environ.get("AWS_ENDPOINT_URL", "")
    if urlsplit(endpoint).hostname in ("s3.amazonaws.com", f"s3.{client._region}.amazonaws.com"):
        endpoint = ""
    if endpoint and not (client._s3client_config.force_path_style or _is_address(endpoint)):
        raise UnreadableError(f"reads by a client without force_path_style at {endpoint}")
    return {"endpoint": endpoint, "region": client._region}


def _is_address(endpoint: str) -> bool:
    """Whether a host is named by its number, in front of which there can be no bucket's name."""
    try:
        ipaddress.ip_address(urlsplit(endpoint).hostname or "")
    except ValueError:
        return False
    return True


def gives_whole(constructor: Any) -> bool:
    """Whether a reader_constructor makes files of which all bytes can be read."""
    kinds = (_known("s3reader", "SequentialS3Reader"), _known("s3reader", "RangedS3Reader"))
    if constructor is None:
        return True
    if type(constructor) is not partial or constructor.args or not {*constructor.keywords} <= {"buffer_size"}:
        return False
    return any(constructor.func is each for each in kinds if each is not None)
