"""Whether the addresses among the settings can be read. A message never repeats one: a password or
a token may stand in it.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

BUCKET = "s3://"
"""How the address of a bucket begins."""

_POSTGRES = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
_VALKEY = "redis://HOST:6379"
_API = "http://HOST:8600"
_STORE = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()/-]*)?")
_VALKEY_SCHEMES = {"redis", "rediss", "unix", "valkey", "valkeys"}


def postgres_fault(dsn: str) -> str:
    """Return what is wrong with the DSN of a PostgreSQL; empty if nothing is."""
    scheme, slashes, rest = dsn.partition("://")
    if not slashes or scheme not in ("postgresql", "postgres"):
        return f"is not read as an address; write it as {_POSTGRES}"
    authority, _, path = rest.partition("/")
    if authority.count("@") > 1 or "@" in path.partition("?")[0] or "#" in rest:
        return "has an @, / or # in the user or the password; write it there as %40, %2F or %23"
    hosts = authority.rpartition("@")[2].partition("?")[0].split(",")
    if not all(map(_is_host, hosts)):
        return f"has a host or a port that can't be read; write it as {_POSTGRES}"
    return ""


def valkey_fault(url: str) -> str:
    """Return what is wrong with the URL of a Valkey; empty if nothing is."""
    scheme, slashes, rest = url.partition("://")
    if not slashes or scheme.lower() not in _VALKEY_SCHEMES:
        return f"is not read as an address; write it as {_VALKEY}"
    if not _is_host(rest.partition("/")[0].partition("?")[0].rpartition("@")[2]):
        return f"has a host or a port that can't be read; write it as {_VALKEY}"
    return ""


def api_fault(urls: str) -> str:
    """Return what is wrong with the URLs of an API, separated by commas; empty if nothing is."""
    for url in urls.split(","):
        scheme, slashes, rest = url.strip().partition("://")
        host = rest.partition("/")[0].rpartition("@")[2]
        if scheme not in ("http", "https") or not slashes or not host or not _is_host(host):
            return f"is no address of an API; write it as {_API}"
    return ""


def store_fault(place: str) -> str:
    """Return what is wrong with a folder or a bucket; empty if nothing is."""
    if "://" in place and not _STORE.fullmatch(place):
        return (
            "is neither a folder nor a bucket; write it as /srv/outputs or s3://BUCKET/PREFIX;"
            " endpoint and credentials are in the variables AWS_*"
        )
    return ""


def token_fault(token: str) -> str:
    """Return what is wrong with a bearer token; empty if nothing is."""
    if all("!" <= mark <= "~" for mark in token):
        return ""
    return "may hold printable ASCII characters only, and no spaces"


def _is_host(text: str) -> bool:
    """Return whether a host, with a port or without one, can be read; the host may be left out."""
    try:
        parts = urlsplit(f"//{text}")
        return parts.port != 0 and all(mark.isprintable() and mark != " " for mark in text)
    except ValueError:
        return False
