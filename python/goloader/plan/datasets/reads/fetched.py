"""Objects of remote stores that a user's class fetches by libraries: boto3, s3fs, fsspec, smart_open, requests, urllib,
s3torchconnector. Nothing here imports these.

    io.BytesIO(self.s3.get_object(Bucket=self.bucket, Key=self.keys[index])["Body"].read())

Where that is all that is done with a client, an image opened of it is one that the core fetches. What the object is
called there is worked out ahead, as paths of files are. An object that cannot be had is left to the user's own code.
"""

from __future__ import annotations

import os
import re
import sys
from types import FunctionType
from typing import Any

from ...bytecode import Attribute, Call, Constant, Entered, Expression, Item, Mapping, UnreadableError, parts_of
from ...paths import Object
from ...trust.originals import is_original
from ..known import s3torchconnector
from ..own.code import OwnCode
from . import databases
from .clients import Client

# What all of these libraries take for a bucket's name, and no address of something else; and a key that none of them
# takes for a pattern, a version, or a folder.
_BUCKET = r"(?P<bucket>[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9])"
_PATH = re.compile(rf"(?:s3a?://)?{_BUCKET}/(?P<key>[^/].*)", re.DOTALL)
_NAMED = re.compile(rf"s3://{_BUCKET}/(?P<key>[^/].*)", re.DOTALL)
_ODD = re.compile(r"[*?\[\]{}]|::|//|/$")
_WEB = re.compile(r"https?://[^\s/@?#]+/[^\s#]*")
# What smart_open takes for compressed.
_COMPRESSED = (".gz", ".bz2", ".zst", ".xz", ".lz4", ".zip")


def object_of(client: str, bucket: Any, key: Any) -> Object:
    """The object that boto3 means. Raises UnreadableError for what is none in a plain bucket."""
    if not re.fullmatch(_BUCKET, bucket) or not key or "\0" in key:
        raise UnreadableError(f"reads {key!r} of bucket {bucket!r}")
    return Object(f"s3+{client}://{bucket}/{key}")


def object_at(client: str, path: Any) -> Object:
    """The same, of what a file system of s3fs's means by a path."""
    return _parsed(client, path, _PATH)


def object_named(client: str, url: Any) -> Object:
    """The same, of what fsspec and smart_open mean by a URL."""
    return _parsed(client, url, _NAMED)


def _parsed(client: str, path: str, pattern: re.Pattern[str]) -> Object:
    found = pattern.fullmatch(path)
    if found is None or _ODD.search(found["key"]) or path.lower().endswith(_COMPRESSED):
        raise UnreadableError(f"reads {path!r}, which is no plain object of S3")
    return object_of(client, found["bucket"], found["key"])


def page_of(url: Any) -> Object:
    """What is at an address of the web. Raises UnreadableError for an address that libraries take in several ways."""
    if not _WEB.fullmatch(url) or not url.isascii() or "\\" in url or "/." in url or "%" in url:
        raise UnreadableError(f"reads {url!r}, which is no plain address")
    return Object(url)


def file_path(own: OwnCode, opened: Expression) -> Expression | None:
    """The object that is open as a file, as an expression; None for other values. Raises UnreadableError, also where
    one file is read more than once: what is read first is not read again."""
    path = _file_path(own, opened)
    if path is not None:
        begun = _begun(opened)
        reads = [each for each in own.reading.evaluated if isinstance(each, Call) and _reads(each, begun)]
        if len({id(each) for each in reads}) > 1:
            raise UnreadableError(f"reads {opened} more than once", opened)
    return path


def _begun(opened: Expression) -> Expression:
    """What asks for the object of which a value is the file."""
    while isinstance(opened, Item | Entered):
        opened = opened.owner if isinstance(opened, Item) else opened.manager
    return opened


def _reads(call: Call, begun: Expression) -> bool:
    """Whether the file of this very request is read by a call: by its read(), or as an argument."""
    of = call.function.owner if isinstance(call.function, Attribute) and call.function.name == "read" else None
    return any(each is not None and _begun(each) is begun for each in (of, *call.arguments))


def _file_path(own: OwnCode, opened: Expression) -> Expression | None:
    call = opened.manager if isinstance(opened, Entered) else opened
    if (read := reader_of(own, call)) is not None:
        return _called(object_of, *read)
    match call:
        case Item(owner=Call(function=Attribute(owner=owner, name="get_object"), options=options) as asked, key=key):
            client = _client(own, owner)
            given = dict(options)
            if client is None or client.takes != "get_object" or own.value(key) != "Body":
                return None
            if asked.arguments or given.keys() != {"Bucket", "Key"}:
                raise UnreadableError(f"reads objects by {asked}", asked)
            return _called(object_of, client, given["Bucket"], given["Key"])
        case Item(owner=Call(function=Attribute(owner=Call() as named, name="get")) as asked, key=key):
            path = _of_resource(own, named)
            if path is None or own.value(key) != "Body":
                return None
            if asked.arguments or asked.options:
                raise UnreadableError(f"reads objects by {asked}", asked)
            return path
        case Call(function=Attribute(owner=owner, name="open"), arguments=(path, *modes), options=options) if (
            client := _client(own, owner)
        ) is not None and client.takes == "open":
            _check_mode(own, call, [*modes, *_options(call, options, "mode").values()])
            return _called(object_at, client, path)
        case Call(function=Attribute(owner=Call() as inner, name="open"), arguments=(), options=()) if by_fsspec(
            own, inner
        ):
            return _by_fsspec(own, inner)
        case Call() if by_fsspec(own, call):
            return _by_fsspec(own, call) if isinstance(opened, Entered) else None
        case Call(function=function, arguments=(url, *modes), options=options):
            called = own.if_seen(function)
            if called is None:
                return None
            if _is(called, "smart_open", "open"):
                own.means(function)
                given = _options(call, options, "mode", "transport_params")
                parameters = given.pop("transport_params", None)
                _check_mode(own, call, [*modes, *given.values()])
                return _called(object_named, _of_parameters(own, call, parameters), url)
            if _is(called, "urllib.request", "urlopen"):
                own.means(function)
                given = _options(call, options, "timeout")
                if modes or any(type(own.value(each)) not in (int, float) for each in given.values()):
                    raise UnreadableError(f"reads URLs by {call}", call)
                _check_opener()
                return _called(page_of, None, url)
    return None


def reader_of(own: OwnCode, opened: Expression) -> tuple[Client, Expression, Expression] | None:
    """The client, the bucket and the key of a file of s3torchconnector's; None for other values."""
    match opened:
        case Call(function=Attribute(owner=owner, name="get_object"), arguments=(bucket, key), options=options):
            client, given = _client(own, owner), dict(options)
            if client is None or client.takes != "reader":
                return None
            made = given.pop("reader_constructor", Constant(None, type(None)))
            if given.keys() - {"object_info"} or not s3torchconnector.gives_whole(own.means(made)):
                raise UnreadableError(f"reads objects by {opened}", opened)
            return client, bucket, key
    return None


def content_path(own: OwnCode, content: Expression) -> Expression | None:
    """The same of a value that is all bytes of an object."""
    match content:
        case Call(function=Attribute(owner=owner, name="get"), arguments=(key,), options=()) if _begins(owner) or (
            isinstance(own.if_seen(owner), databases.Transaction)
        ):
            return in_database(own, owner, databases.member_of, key)
        case Call(function=Attribute(owner=opened, name="read"), arguments=(), options=()):
            return file_path(own, opened)
        case Call(function=Attribute(owner=owner, name="cat_file" | "cat"), arguments=(path,), options=()):
            client = _client(own, owner)
            return _called(object_at, client, path) if client is not None and client.takes == "open" else None
        case Attribute(owner=Call(function=function, arguments=(url,), options=options) as call, name="content"):
            called = own.if_seen(function)
            if called is not None and _is(called, "requests", "get"):
                own.means(function)
                given = _options(call, options, "timeout", "stream")
                if any(type(own.value(each)) not in (int, float, bool, type(None)) for each in given.values()):
                    raise UnreadableError(f"reads URLs by {call}", call)
                _check_requests()
                return _called(page_of, None, url)
    return None


def _of_resource(own: OwnCode, named: Call) -> Expression | None:
    """What is named by Object(...) of a resource of boto3's, or of a bucket. Raises UnreadableError."""
    match named:
        case Call(function=Attribute(owner=Call() as of, name="Object"), arguments=(key,), options=()) if (
            isinstance(of.function, Attribute) and of.function.name == "Bucket" and len(of.arguments) == 1
        ):
            client = _client(own, of.function.owner)
            if client is None or client.takes != "Object" or client.bucket is not None or of.options:
                return None
            return _called(object_of, client, of.arguments[0], key)
        case Call(function=Attribute(owner=owner, name="Object"), arguments=given, options=options):
            client = _client(own, owner)
            if client is None or client.takes != "Object":
                return None
            names = dict(zip(("bucket_name", "key") if client.bucket is None else ("key",), given, strict=False))
            names |= dict(options)
            if client.bucket is not None:
                names["bucket_name"] = Constant(client.bucket, str)
            if names.keys() != {"bucket_name", "key"} or len(given) > 2:
                raise UnreadableError(f"reads objects by {named}", named)
            return _called(object_of, client, names["bucket_name"], names["key"])
    return None


def _called(function: Any, client: Client | None, *arguments: Expression) -> Expression:
    """What Columns works out: an Object of each index."""
    first = () if client is None else (Constant(client.name, str),)
    return Call(Constant(function, FunctionType), (*first, *arguments), ())


def _begins(transaction: Expression) -> bool:
    """Whether it is environment.begin(), as a manager perhaps."""
    call = transaction.manager if isinstance(transaction, Entered) else transaction
    return isinstance(call, Call) and isinstance(call.function, Attribute) and call.function.name == "begin"


def in_database(own: OwnCode, transaction: Expression, function: Any, key: Expression) -> Expression:
    """What Columns works out of a key: where a value is (member_of), or the value (value_of)."""
    begun = own.means(transaction)  # raises for an environment that is not understood
    if not isinstance(begun, databases.Transaction):
        raise UnreadableError(f"uses {transaction}", transaction)
    database = begun.database
    return Call(Constant(function, FunctionType), (Constant(database.name, str), key), ())


def _client(own: OwnCode, owner: Expression) -> Client | None:
    """The client that an expression stands for, and has to go on standing for."""
    found = own.value(owner) if own.is_seen(owner) else None
    return own.means(owner) if isinstance(found, Client) else None


def _is(called: Any, module: str, name: str) -> bool:
    """Whether it is a function of a library's, as the library has it."""
    of = sys.modules.get(module)
    return called is getattr(of, name, called.__class__) and is_original(called, module.partition(".")[0])


def _options(call: Expression, options: Any, *known: str) -> dict[str, Expression]:
    """Raises UnreadableError for others."""
    given = dict(options)
    if given.keys() - {*known}:
        raise UnreadableError(f"reads by {call}", call)
    return given


def _check_mode(own: OwnCode, call: Expression, modes: Any) -> None:
    if any(own.value(mode) != "rb" for mode in modes) or len(modes) > 1:
        raise UnreadableError(f"reads by {call}", call)


def by_fsspec(own: OwnCode, call: Call) -> bool:
    """Whether it calls fsspec.open."""
    called = own.if_seen(call.function)
    return called is not None and _is(called, "fsspec", "open")


def _by_fsspec(own: OwnCode, call: Call) -> Expression:
    """What fsspec.open opens, by a URL of S3 or of the web. Raises UnreadableError."""
    own.means(call.function)
    fsspec: Any = sys.modules["fsspec"]
    given = dict(call.options)
    modes = [*call.arguments[1:], *([given.pop("mode")] if "mode" in given else [])]
    _check_mode(own, call, modes)
    if not call.arguments or given.keys() & {"compression", "encoding", "errors", "protocol", "newline", "expand"}:
        raise UnreadableError(f"reads by {call}", call)
    if fsspec.core.DEFAULT_EXPAND:
        raise UnreadableError("reads by fsspec.open, which expands patterns")
    if not given and _is_of_web(own, call.arguments[0]):
        if fsspec.config.conf.keys() & {"http", "https"}:
            raise UnreadableError("reads by fsspec.open, which is configured for the web")
        return _called(page_of, None, call.arguments[0])
    filesystem = Call(Constant(fsspec.filesystem, FunctionType), (Constant("s3", str),), tuple(given.items()))
    client: Client = own.means(filesystem)
    return _called(object_named, client, call.arguments[0])


def _is_of_web(own: OwnCode, url: Expression) -> bool:
    """Whether the first text of a URL is the beginning of an address; page_of looks at each."""
    for part in parts_of(url):
        found = own.if_seen(part.owner if isinstance(part, Item) else part)
        found = found[0] if type(found) in (list, tuple) and found else found
        if type(found) is str and found.startswith(("http://", "https://")):
            return True
    return False


def _of_parameters(own: OwnCode, call: Expression, parameters: Expression | None) -> Client:
    """The client of smart_open's transport_params. Raises UnreadableError for other parameters."""
    client: Any = None
    match parameters:
        case Mapping(names=("client",), items=(of,)):
            client = _client(own, of)
        case None:
            import boto3  # by which smart_open reads

            client = own.means(Call(Constant(boto3.client, FunctionType), (Constant("s3", str),), ()))
        case _:
            given = own.value(parameters)
            if type(given) is dict and given.keys() == {"client"}:
                client = _client(own, Item(parameters, Constant("client", str)))
    if not isinstance(client, Client) or client.takes != "get_object":
        raise UnreadableError(f"reads by {call}", call)
    return client


def _check_opener() -> None:
    """Raises UnreadableError where urllib asks by something of the user's."""
    request: Any = sys.modules["urllib.request"]
    opener = request._opener  # which urlopen makes when it is first called
    if opener is None:
        return
    handlers = [type(each).__module__ for each in opener.handlers]
    headers = [("User-agent", f"Python-urllib/{request.__version__}")]
    if type(opener) is not request.OpenerDirector or {*handlers} != {"urllib.request"} or opener.addheaders != headers:
        raise UnreadableError("reads URLs by an opener of its own")


def _check_requests() -> None:
    """Raises UnreadableError where requests adds a password of a file's, or does not send as it does by itself."""
    import requests

    ours = (requests.sessions.Session.send, requests.sessions.Session.request, requests.adapters.HTTPAdapter.send)
    if not all(is_original(each, "requests") for each in ours):
        raise UnreadableError("reads URLs by requests, parts of which were replaced")
    names = (os.environ.get("NETRC") or "~/.netrc", "~/_netrc")
    if any(os.path.exists(os.path.expanduser(each)) for each in names):
        raise UnreadableError("reads URLs by requests, which takes passwords of a .netrc")
