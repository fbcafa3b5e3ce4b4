"""Stores whose files have URLs, a row each: what the URLs begin with, and what the environment says of the store.

core/source/remote has the same rows, with what reads the bytes.
"""

from __future__ import annotations

import configparser
import itertools
import json
import os
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, Protocol


class Store(NamedTuple):
    """settings  by the names that the store's Config has in Go: variables, of which the first that is set counts
    files     of what else there is to know: where the variables say that files are
    more      adds what these files say to the settings; an empty path is a file that is not there
    who       the settings without which the environment names nobody
    """

    settings: dict[str, tuple[str, ...]]
    files: Callable[[], tuple[str, ...]] = tuple
    more: Callable[..., None] | None = None
    who: tuple[str, ...] = ()


def _aws_files() -> tuple[str, ...]:
    environ = os.environ
    return (
        environ.get("AWS_CONFIG_FILE", "~/.aws/config"),
        environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    )


def _of_profile(found: dict[str, str], *paths: str) -> None:
    """As botocore does it."""
    profile: dict[str, str] = {}
    name = found.pop("profile")
    for path in paths:
        parser = configparser.RawConfigParser()
        parser.read(path or ())
        for section in (name or "default", f"profile {name}"):
            profile |= parser[section] if parser.has_section(section) else {}
    keys = {"access_key": "aws_access_key_id", "secret_key": "aws_secret_access_key", "token": "aws_session_token"}
    # A key, its secret and its token are of one place.
    names = {} if any(found[each] for each in keys) else keys
    for setting, named in {**names, "endpoint": "endpoint_url", "region": "region"}.items():
        found[setting] = found[setting] or profile.get(named, "")
    found["no_role"] = found["no_role"].lower()
    if bool(found["access_key"]) != bool(found["secret_key"]):
        raise ValueError("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set")


def _google_files() -> tuple[str, ...]:
    folder = os.environ.get("CLOUDSDK_CONFIG", "~/.config/gcloud")
    login = os.path.join(folder, "application_default_credentials.json")
    return (os.environ.get("GOOGLE_APPLICATION_CREDENTIALS") or login,)


def _of_google(found: dict[str, str], path: str) -> None:
    """As google.auth.default does it, and of an emulator as google.cloud.storage."""
    named = found.pop("named")
    found["credentials"] = ""
    if found["endpoint"]:
        if "://" not in found["endpoint"]:
            found["endpoint"] = "http://" + found["endpoint"]
    elif path:
        with open(path) as file:
            found["credentials"] = file.read()
    elif named:
        raise ValueError(f"GOOGLE_APPLICATION_CREDENTIALS names a file that is not there: {named}")


# Those of Microsoft's emulators, which every installation has.
_DEVELOPMENT = {
    "AccountName": "devstoreaccount1",
    "AccountKey": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    "BlobEndpoint": "http://127.0.0.1:10000/devstoreaccount1",
}


def _of_connection(found: dict[str, str]) -> None:
    """A connection string counts before all else, as in Azure's own tools."""
    text = found.pop("connection")
    said = dict(part.partition("=")[::2] for part in text.split(";") if part.strip())
    if said.get("UseDevelopmentStorage", "").lower() == "true":
        said = {**_DEVELOPMENT, **said}
    found["endpoint"] = said.get("BlobEndpoint", "")
    if "AccountName" in said and not found["endpoint"]:
        protocol = said.get("DefaultEndpointsProtocol", "https")
        suffix = said.get("EndpointSuffix", "core.windows.net")
        found["endpoint"] = f"{protocol}://{said['AccountName']}.blob.{suffix}"
    if said:
        names = {"account": "AccountName", "key": "AccountKey", "sas": "SharedAccessSignature"}
        found |= {setting: said.get(name, "") for setting, name in names.items()}
        found["token"] = ""


def _hub_files() -> tuple[str, ...]:
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    hub = os.path.join(os.environ.get("HF_HOME", os.path.join(caches, "huggingface")), "token")
    return (os.environ.get("HF_TOKEN_PATH", hub),)


def _of_login(found: dict[str, str], path: str) -> None:
    if path and not found["token"]:
        with open(path) as file:  # of `hf auth login`
            found["token"] = file.read().strip()


STORES = {
    "s3://": Store(
        {
            "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
            "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
            "access_key": ("AWS_ACCESS_KEY_ID",),
            "secret_key": ("AWS_SECRET_ACCESS_KEY",),
            "token": ("AWS_SESSION_TOKEN",),
            "profile": ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"),
            "metadata": ("AWS_EC2_METADATA_SERVICE_ENDPOINT",),
            "no_role": ("AWS_EC2_METADATA_DISABLED",),
        },
        _aws_files,
        _of_profile,
        who=("access_key",),
    ),
    "gs://": Store(
        {
            "endpoint": ("STORAGE_EMULATOR_HOST",),
            "token": ("GOOGLE_OAUTH_ACCESS_TOKEN",),
            "named": ("GOOGLE_APPLICATION_CREDENTIALS",),
        },
        _google_files,
        _of_google,
        who=("token", "credentials"),
    ),
    "az://": Store(  # as adlfs has them
        {
            "account": ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"),
            "key": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"),
            "sas": ("AZURE_STORAGE_SAS_TOKEN",),
            "token": ("AZURE_STORAGE_TOKEN",),
            "connection": ("AZURE_STORAGE_CONNECTION_STRING",),
        },
        more=_of_connection,
        who=("key", "sas", "token"),
    ),
    "hf://": Store(  # as huggingface_hub has them
        {"endpoint": ("HF_ENDPOINT",), "token": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")},
        _hub_files,
        _of_login,
        who=("token",),
    ),
    "http://": Store({}),
    "https://": Store({}),
}
SCHEMES = tuple(STORES)

_Known = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]
_Who = tuple[str, tuple[tuple[str, str], ...]]


def of_aws(profile: str | None) -> dict[str, str]:
    """The settings of s3:// by a profile of the AWS tools; of None as the environment has them. Raises ValueError."""
    if profile is None:
        return settings(known())["s3://"]
    store = STORES["s3://"]
    found = dict.fromkeys(store.settings, "") | {"profile": profile}
    _of_profile(found, *(path for path, _ in _known(store)[1]))
    return found


class Client(Protocol):
    """A client of the user's own: it says now what the Config of its store has in Go."""

    def settings(self) -> dict[str, str]: ...


# By their names in URLs: s3+NAME://bucket/key.
_clients: weakref.WeakValueDictionary[str, Client] = weakref.WeakValueDictionary()
_names = itertools.count(1)


def register(client: Client) -> str:
    """A name for a client, which is known by it for as long as it lives."""
    name = str(next(_names))
    _clients[name] = client
    return name


def clients() -> tuple[_Who, ...]:
    """What clients say now, by their names."""
    return tuple((name, tuple(client.settings().items())) for name, client in sorted(_clients.items()))


def known() -> tuple[_Known, ...]:
    """What the settings depend on: of each store its variables, and its files with their times of change."""
    ours = (os.environ.get("GOLOADER_REMOTE_TIMEOUT", ""), os.environ.get("GOLOADER_HEDGING", ""))
    return ((ours, ()), *map(_known, STORES.values()))


def _known(store: Store) -> _Known:
    variables = tuple(
        next(filter(None, map(os.environ.get, names)), "")  # one that is empty is none, as for botocore
        for names in store.settings.values()
    )
    files = []
    for path in map(os.path.expanduser, store.files()):
        try:
            files.append((path, os.stat(path).st_mtime_ns))
        except OSError:  # there is none
            files.append(("", 0))
    return variables, tuple(files)


@lru_cache(maxsize=1)
def settings(known: tuple[_Known, ...]) -> dict[str, dict[str, str]]:
    """Each store's, by what its URLs begin with. Raises ValueError where they are not whole."""
    all_found = {}
    for (scheme, store), (variables, files) in zip(STORES.items(), known[1:], strict=True):
        found = dict(zip(store.settings, variables, strict=True))
        if store.more is not None:
            store.more(found, *(path for path, _ in files))
        all_found[scheme] = found
    return all_found


def told(known: tuple[_Known, ...], clients: tuple[_Who, ...] = ()) -> bytes:
    """The settings as gl_remote_use takes them."""
    ((timeout, hedging), _), *_ = known
    stores = {scheme.removesuffix("://"): found for scheme, found in settings(known).items() if found}
    general = {"timeout_ms": int(1000 * float(timeout or 0)), "no_hedging": hedging == "off"}
    return json.dumps({**general, "stores": stores, "clients": {name: dict(found) for name, found in clients}}).encode()
