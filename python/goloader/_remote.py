"""Reads remote stores (s3://, hf://, http:// and https://) through the core, with settings from the environment.

Credentials go from the environment to the core and nowhere else: no dataset, pickle or message contains them.
"""

from __future__ import annotations

import configparser
import ctypes
import os
from ctypes import byref, c_int64, c_void_p
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from ._cache import Cache

_WAIT_MS = 100


def fetch(name: str, offset: int = 0, length: int = -1, cache: Cache | None = None) -> bytes:
    """The bytes of an object, whole, or so many of one version of it: a URL, '#', and the version that was listed.

    With a cache also those of a file, by its absolute path. Raises FileNotFoundError, PermissionError, else OSError;
    LibraryError without the core. Ctrl-C is heard within 0.1 s.
    """
    lib = _native.own_library()
    if not name.startswith("/"):
        ready(lib)
    kept = 0 if cache is None else cache.handle(lib)
    try:
        return fetched(lib, lib.gl_fetch, os.fsencode(name), offset, length, kept)
    except PermissionError as error:
        who = {"s3://": "access_key", "hf://": "hub_token"}.get(name[:5])
        if who is not None and not _config(_key())[who]:
            raise PermissionError(f"{error} (no credentials were found, so none were sent)") from None
        raise


def fetched(lib: _native.Library, begin: Any, *arguments: object) -> bytes:
    """The bytes of what `begin` begins to fetch. Ctrl-C is heard within 0.1 s."""
    handle, data, size = c_int64(), c_void_p(), c_int64()
    try:
        lib.call(begin, *arguments, byref(handle))
        while lib.call(lib.gl_fetch_wait, handle, _WAIT_MS, byref(data), byref(size)) != _native.OK:
            pass
        return ctypes.string_at(data, size.value) if size.value else b""
    finally:
        if handle.value:
            lib.gl_close(handle, None)


def folders(url: str) -> list[str]:
    """The names of the folders directly below the folder of a bucket, sorted. Raises as fetch does."""
    return sorted(map(os.fsdecode, fetch(url.rstrip("/") + "/", 0, 0).split(b"\0")[:-1]))


def ready(lib: _native.Library) -> _native.Library:
    """Has the core know what the environment says now. Raises ValueError where that is not whole."""
    config = _config(_key())
    if lib.told_of_remotes is not config:
        values = [os.fsencode(config[name]) or None for name in _NAMES]
        lib.call(lib.gl_remote_use, byref(_native.Remote(*values, int(1000 * float(config["timeout"] or 0)))))
        lib.told_of_remotes, lib.fetches = config, True
    return lib


def prepare() -> None:
    """Where Python reads by the core, loads what a forked child reads by: its copy is a file that is written."""
    if _native.fetches():
        _native.own_library()


_NAMES = ("endpoint", "region", "access_key", "secret_key", "token", "hub_endpoint", "hub_token")

# As botocore has them: each setting's variables, of which the first that is set counts, and its name in a profile.
_SETTINGS = {
    "endpoint": (("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), "endpoint_url"),
    "region": (("AWS_REGION", "AWS_DEFAULT_REGION"), "region"),
    "access_key": (("AWS_ACCESS_KEY_ID",), "aws_access_key_id"),
    "secret_key": (("AWS_SECRET_ACCESS_KEY",), "aws_secret_access_key"),
    "token": (("AWS_SESSION_TOKEN",), "aws_session_token"),
    "profile": (("AWS_PROFILE", "AWS_DEFAULT_PROFILE"), ""),
    # As huggingface_hub has them.
    "hub_endpoint": (("HF_ENDPOINT",), ""),
    "hub_token": (("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"), ""),
    "timeout": (("GOLOADER_REMOTE_TIMEOUT",), ""),
}
_CREDENTIALS = ("access_key", "secret_key", "token")

_Key = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]


def _key() -> _Key:
    """What the configuration depends on: variables, and the files with their times of change."""
    variables = tuple(
        next(filter(None, map(os.environ.get, names)), "")  # one that is empty is none, as for botocore
        for names, _ in _SETTINGS.values()
    )
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    hub = os.path.join(os.environ.get("HF_HOME", os.path.join(caches, "huggingface")), "token")
    files = []
    for variable, path in (
        ("AWS_CONFIG_FILE", "~/.aws/config"),
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        ("HF_TOKEN_PATH", hub),
    ):
        path = os.path.expanduser(os.environ.get(variable, path))
        try:
            files.append((path, os.stat(path).st_mtime_ns))
        except OSError:  # there is none
            files.append(("", 0))
    return variables, tuple(files)


@lru_cache(maxsize=1)
def _config(key: _Key) -> dict[str, str]:
    variables, ((config, _), (credentials, _), (token, _)) = key
    found = dict(zip(_SETTINGS, variables, strict=True))
    profile: dict[str, str] = {}
    for path in (config, credentials):
        parser = configparser.RawConfigParser()
        parser.read(path or ())
        for section in (found["profile"] or "default", f"profile {found['profile']}"):
            profile |= parser[section] if parser.has_section(section) else {}
    # A key, its secret and its token are of one place.
    own = any(found[name] for name in _CREDENTIALS)
    for name, (_, setting) in _SETTINGS.items():
        if not (own and name in _CREDENTIALS):
            found[name] = found[name] or profile.get(setting, "")
    if bool(found["access_key"]) != bool(found["secret_key"]):
        raise ValueError("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set")
    if token and not found["hub_token"]:
        with open(token) as file:  # of `hf auth login`
            found["hub_token"] = file.read().strip()
    return found
