"""Clients of S3 that a user's class has: clients and resources of boto3, and file systems of s3fs. Nothing here imports
these.

The core asks for objects as such a client does: at its endpoint, in its region, with its credentials, which are read
from it without a call of the user's code. What a client does beyond that is the user's (hooks, a signer of its own,
requests that others pay for): such a client is refused, and Python goes on asking by it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

from ....storage import stores
from ...bytecode import UnreadableError
from ...trust.look import in_class
from ...trust.originals import is_original

# Whose handlers of a client's events sign, send and read a request as every client of theirs does.
_BOTO = {"botocore", "boto3", "aiobotocore", "s3transfer", "s3fs"}
# What changes nothing of which bytes an object has: options of a Config for S3.
_HARMLESS = {"us_east_1_regional_endpoint", "payload_signing_enabled"}
# Where Go finds certificates, if it is not told; Debian's file, which many set for botocore, too.
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Attributes of a file system of s3fs's that its client is made of, and that read an object.
_S3FS = (
    "anon", "endpoint_url", "key", "secret", "token", "kwargs", "client_kwargs", "config_kwargs", "use_ssl",
    "requester_pays", "s3_additional_kwargs", "version_aware", "asynchronous", "_session_is_owned",
)  # fmt: skip


class Client:
    """Who somebody is to a store, and where that is.

    name    among all, in URLs of objects: s3+NAME://bucket/key
    takes   what of it takes an object's name: "get_object" of a client; "open" of a file system of s3fs's, which takes
            paths; "Object" of a resource, or of a bucket; "reader" of s3torchconnector's (../known/s3torchconnector.py)
    bucket  of a bucket

    Raises UnreadableError for a client that does more.
    """

    # So that no code finds attributes.
    __slots__ = "__weakref__", "_at", "_boto", "_seal", "_value", "bucket", "name", "takes"

    def __init__(self, value: Any) -> None:
        self._value = value
        self.bucket: str | None = None
        self.takes = "open" if is_file_system(value) else "Object" if is_resource(value) else "get_object"
        if self.takes == "Object":
            _check_resource(value)
            self.bucket = vars(value).get("_name")
        self._seal = self._sealed()
        self._boto = self._client()
        self._at = _place(self._boto)
        self.name = stores.register(self)

    def _client(self) -> Any:
        """A client of botocore's that asks as it does."""
        if self.takes == "open":
            return _of_s3fs(self._value)
        return self._value.meta.client if self.takes == "Object" else self._value

    def stands(self) -> bool:
        """Whether the client is as it was."""
        return bool(self._seal == self._sealed())

    def bucket_of(self, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        """What Bucket(...) of a resource gives."""
        return self._value.Bucket(*arguments, **options)

    def _sealed(self) -> Any:
        """What changes with whatever it does: a handler that comes or goes makes for another _lookup_cache."""
        own = vars(self._value)
        if self.takes == "Object":
            return sorted(own), own.get("_name"), id(own["meta"].client), _seal_of(own["meta"].client)
        if self.takes == "open":
            made_here = [name for name in ("open", "_open", "_cat_file") if name in own]
            return made_here, repr([own.get(each) for each in _S3FS])
        return _seal_of(self._value)

    def settings(self) -> dict[str, str]:
        """As Config of core/source/s3 has them; credentials that are renewed as they are now."""
        keys = self._boto._request_signer._credentials
        if keys is None or self._at["no_role"]:
            return self._at | {"no_role": "true"}
        now = keys.get_frozen_credentials()
        return self._at | {"access_key": now.access_key, "secret_key": now.secret_key, "token": now.token or ""}


def _seal_of(client: Any) -> list[Any]:
    own, emitter = vars(client), vars(vars(client.meta.events)["_emitter"])
    return [
        id(emitter["_lookup_cache"]), id(own["_request_signer"]._credentials), id(own["_endpoint"].http_session),
        own["_endpoint"].host, client.meta.region_name, "get_object" in own,
    ]  # fmt: skip


def is_client(value: Any) -> bool:
    """Whether it is one of those."""
    return is_boto3(value) or is_resource(value) or is_file_system(value)


def is_boto3(value: Any) -> bool:
    """Whether it is a client of boto3's for S3."""
    base = getattr(sys.modules.get("botocore.client"), "BaseClient", None)
    if base is None or type(value).__mro__[1:] != (base, object):
        return False
    service: str = value.meta.service_model.service_name
    return service == "s3"


def is_resource(value: Any) -> bool:
    """Whether it is a resource of boto3's for S3: all of it, or a bucket."""
    base = getattr(sys.modules.get("boto3.resources.base"), "ServiceResource", None)
    if base is None or type(value).__mro__[1:] != (base, object):
        return False
    return value.meta.service_name == "s3" and type(value).__name__ in ("s3.ServiceResource", "s3.Bucket")


def _check_resource(value: Any) -> None:
    """Raises UnreadableError where its objects are not gone to as boto3 does it."""
    if (own := vars(value).keys() - {"meta", "_name"}) or _package_of(in_class(type(value), "Object")) != "boto3":
        raise UnreadableError(f"reads by a resource whose {', '.join(sorted(own)) or 'Object'} was replaced")


def is_session(value: Any) -> bool:
    """Whether it is a session of boto3's, which makes clients and resources as boto3 itself does."""
    kind = getattr(sys.modules.get("boto3.session"), "Session", None)
    if kind is None or type(value) is not kind or vars(value).keys() & {"client", "resource"}:
        return False
    return all(is_original(in_class(kind, name), "boto3") for name in ("client", "resource"))


def is_file_system(value: Any) -> bool:
    """Whether it is a file system of s3fs's."""
    return bool(type(value) is getattr(sys.modules.get("s3fs.core"), "S3FileSystem", ""))


def _of_s3fs(fs: Any) -> Any:
    """A client of botocore's that is to S3 what a file system is (S3FileSystem.set_session). Raises UnreadableError."""
    import botocore.session  # of which s3fs is made
    from botocore import UNSIGNED
    from botocore.config import Config

    for name in ("requester_pays", "s3_additional_kwargs", "version_aware", "asynchronous"):
        if vars(fs)[name]:
            raise UnreadableError(f"reads by a file system with {name}={vars(fs)[name]!r}")
    if not fs._session_is_owned:
        raise UnreadableError("reads by a file system with a session of its own")
    kind = type(fs)
    for name, package in (("open", "fsspec"), ("_open", "s3fs"), ("_cat_file", "s3fs")):
        if not is_original(in_class(kind, name), package) or (name != "cat_file" and name in vars(fs)):
            raise UnreadableError(f"reads by a file system whose {name} was replaced")
    given = {"aws_access_key_id": fs.key, "aws_secret_access_key": fs.secret, "aws_session_token": fs.token}
    options = {"endpoint_url": fs.endpoint_url, "use_ssl": fs.use_ssl, **({} if fs.anon else given)}
    options = {name: value for name, value in options.items() if value is not None} | fs.client_kwargs
    config = {**fs.config_kwargs, **({"signature_version": UNSIGNED} if fs.anon else {})}
    try:
        return botocore.session.Session(**fs.kwargs).create_client("s3", config=Config(**config), **options)
    except Exception as error:  # of which botocore has many
        raise UnreadableError(f"reads by a file system for which there is no client: {error}") from None


def _place(client: Any) -> dict[str, str]:
    """Where it asks. Raises UnreadableError for what it does beyond asking."""
    from botocore import UNSIGNED  # whose client it is
    from botocore.client import BaseClient

    config, session = client.meta.config, client._endpoint.http_session
    made = in_class(type(client), "get_object")
    call = BaseClient._make_api_call
    call = vars(call).get("__wrapped__", call) if _package_of(call) == "botocore" else None
    by_botocore = type(made) is FunctionType and made.__globals__.get("__name__") == "botocore.client"
    if not by_botocore or "get_object" in vars(client) or not is_original(call, "botocore"):
        raise UnreadableError("reads by a client whose get_object was replaced")
    for handler in _handlers(client.meta.events):
        if (package := _package_of(handler)) not in _BOTO:
            name = getattr(handler, "__qualname__", type(handler).__qualname__)
            raise UnreadableError(f"reads by a client with a hook of its own, {package}.{name}")
    signed = config.signature_version
    if signed is not UNSIGNED and signed not in ("s3v4", "v4", None):
        raise UnreadableError(f"reads by a client that signs by {signed}")
    credentials = client._request_signer._credentials
    if credentials is not None and _package_of(credentials) not in _BOTO:
        raise UnreadableError(f"reads by a client with credentials of its own, a {type(credentials).__qualname__}")
    host, region = client.meta.endpoint_url, client.meta.region_name or "us-east-1"
    region = "us-east-1" if region == "aws-global" else region
    is_amazon = host in ("https://s3.amazonaws.com", f"https://s3.{region}.amazonaws.com")
    for name, value in (config.s3 or {}).items():
        fits = value in (None, "auto", "path", *(["virtual"] if is_amazon else []))
        if name not in _HARMLESS and not (name == "addressing_style" and fits) and value:
            raise UnreadableError(f"reads by a client with {name}={value!r}")
    if config.proxies or config.client_cert:
        raise UnreadableError("reads by a client with a proxy, or a certificate, of its own")
    trusted = (True, os.environ.get("SSL_CERT_FILE") or _CERTIFICATES)
    if host.startswith("https:") and session._verify not in trusted:
        raise UnreadableError(f"reads by a client with certificates of its own, verify={session._verify!r}")
    nobody = "true" if signed is UNSIGNED else ""
    return {"endpoint": "" if is_amazon else host, "region": region, "no_role": nobody}


def _package_of(value: Any) -> str:
    """Whose it is: a function, a method, or an object of a class."""
    if type(value) is MethodType:
        value = value.__self__ if type(value.__func__) is not FunctionType else value.__func__
    module = value.__globals__.get("__name__") if type(value) is FunctionType else type(value).__module__
    return str(module).partition(".")[0]


def _handlers(events: Any) -> Iterator[Any]:
    """All that a client's events call."""
    work = [vars(vars(vars(events)["_emitter"])["_handlers"])["_root"]]
    while work:
        node = work.pop()
        work += node["children"].values()
        for section in node["values"] or ():
            yield from section


def made_by(function: Any) -> Callable[..., Any] | None:
    """What makes, of the same arguments, what a function of boto3's, botocore's, s3fs's or fsspec's does; None for
    others."""
    boto3: Any = sys.modules.get("boto3")
    fsspec: Any = sys.modules.get("fsspec")
    if (
        boto3 is not None
        and any(function is each for each in (boto3.client, boto3.resource))
        and is_original(function, "boto3")
    ):
        name = function.__name__
        return lambda *given, **named: getattr(boto3.DEFAULT_SESSION or boto3.Session(), name)(*given, **named)
    found: Callable[..., Any] | None = None
    kinds = (("botocore.config", "Config"), ("boto3.session", "Session"), ("s3fs.core", "S3FileSystem"))
    for module, name in kinds:
        kind: Any = getattr(sys.modules.get(module), name, None)
        if kind is not None and function is kind:
            found = kind
    if fsspec is not None and function is fsspec.filesystem and is_original(function, "fsspec"):
        found = function
    return found
