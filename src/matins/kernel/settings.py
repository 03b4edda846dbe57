"""Every setting, read once from the environment (MATINS_*) into one frozen value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from matins.domain.jobs.authors import ENGINE
from matins.domain.jobs.keeping import DAYS, DAYS_MAX
from matins.domain.jobs.limits import LIMIT_MAX
from matins.domain.runs.output import BYTES_MAX, BYTES_MIN
from matins.domain.values.durations import parse_duration
from matins.domain.values.errors import ScheduleError, SettingsError
from matins.domain.values.names import name_problems
from matins.kernel.addresses import (
    api_fault,
    postgres_fault,
    store_fault,
    token_fault,
    valkey_fault,
)
from matins.kernel.request import read_url

ADMIN = "admin"
"""The name of the token of MATINS_ADMIN_TOKEN."""

TAKEN = frozenset({ADMIN, ENGINE})
"""Names that no other token may have."""


class Settings(msgspec.Struct, frozen=True):
    """All settings, with their defaults. The variable of `lease_term_s` is MATINS_LEASE_TERM.

    Fields that end in `_s` are lengths of time, written as `10s` or `1m`.
    """

    data: Path | None = None
    """The data folder; without it the account's default one."""
    port: int = 8600
    """Where the API listens; 0 for a free port, of which `matins up` keeps to the same one."""
    host: str = "127.0.0.1"
    """The address on which the API listens."""
    health_port: int | None = None
    """Where scheduler and executor serve /health, /ready and /metrics; 0 for a free port."""
    postgres: str | None = None
    """DSN of PostgreSQL; without it the embedded one of the data folder."""
    postgres_programs: Path | None = None
    """The folder of the PostgreSQL programs that `matins up` starts; without it the wheel's."""
    valkey: str | None = None
    """URL of Valkey; without it the embedded one of the data folder."""
    url: str | None = None
    """Where an executor or the CLI finds the API; without it the one of the data folder."""
    token: str | None = None
    """The bearer token to show; without it the one of the data folder."""
    admin_token: str | None = None
    """The token that the API accepts from owners; without it the one of the data folder."""
    tokens: str = ""
    """Further tokens that the API accepts from owners, as `name=token`, separated by commas: the
    names say in the history of jobs who it was."""
    executor_token: str | None = None
    """The token that the gateway accepts from executors; without it the one of the data folder."""
    name: str | None = None
    """The name under which a scheduler or executor shows itself; without it the host's."""
    pools: str = "default"
    """The pools that an executor serves, separated by commas."""
    slots: int = 100
    """How many attempts an executor runs at once."""
    lease_term_s: float = 10.0
    """How long a lease on a partition is granted."""
    lease_file: Path | None = None
    """A file of this scheduler alone, such as in the state directory that a service manager gives:
    started again with it after a crash, it has its partitions at once and not when leases end, and
    notices that the database was restored from a backup."""
    horizon_s: float = 120.0
    """How far ahead a scheduler loads due jobs into its wheel."""
    poll_s: float = 1.0
    """The short poll that stands behind every hint."""
    flush_s: float = 3.0
    """How late next due times are written."""
    upkeep_s: float = 60.0
    """How often a scheduler sees to new zone data, changed calendars and jobs at their end."""
    status_every_s: float = 5.0
    """How often an API looks whether all is well."""
    status_after_s: float = 20.0
    """How long something is wrong before an API says so: what is over sooner was a restart. Also
    how long an executor may be silent and count as one that serves its pools."""
    keep_days: int = DAYS
    """How many days a scheduler keeps runs where neither their job nor its team says it."""
    max_jobs: int | None = None
    """How many jobs a team may have that has no quota set; schedulers tell it to all."""
    max_running: int | None = None
    """How many runs at once a team may have that has no quota set."""
    starts_per_minute: int | None = None
    """How many starts in a minute a team may have that has no quota set."""
    output_store: str | None = None
    """The folder in which APIs keep whole outputs, and from which schedulers purge them: one that
    all of them share; or a bucket of S3, as `s3://bucket/prefix`. Without it they are in
    PostgreSQL."""
    output_bytes: int = 10 * 1024**2
    """How many bytes are kept of an output, for a team that keeps all and does not say how much."""
    output_bytes_max: int = 100 * 1024**2
    """How many bytes are kept of an output at most, whatever a team says."""
    secret_keys: str = ""
    """The keys by which an API encrypts the URLs of channels, separated by commas: the first one
    encrypts, all decrypt. Without it the one of the data folder."""
    alert_look_s: float = 5.0
    """How often an API looks for jobs that turned bad, or are well again."""
    switch_url: str | None = None
    """An outside URL that each API calls while all is well, so that somebody there notices when
    all of Matins is down (a dead man's switch)."""
    switch_every_s: float = 60.0
    """How often it is called."""
    operators_url: str | None = None
    """A URL of Apprise by which each API tells operators what is wrong with all of Matins."""
    archive: Path | None = None
    """The folder to which a scheduler writes runs before they are purged; without it none."""
    claim_batch: int = 1000
    """The most runs in one claim statement."""
    heartbeat_s: float = 3.0
    """How often an executor sends a heartbeat."""
    cut_off_s: float = 30.0
    """T1: an executor that can't reach the gateway for so long kills its attempts."""
    lost_after_s: float = 45.0
    """T2: an executor that is silent for so long is declared lost; must be above T1."""
    grace_s: float = 5.0
    """Between SIGTERM and SIGKILL of a command."""
    run_as: str | None = None
    """Whom an executor that runs as root runs commands as: a user, or a range as 200000-200999."""
    namespaces: bool = True
    """Whether each command gets namespaces of its own, where the kernel grants them."""
    processes: int = 4096
    """How many processes a command may have, where the kernel counts them for it alone; one of them
    waits for its end."""
    drain_s: float = 30.0
    """How long a stopping executor waits for its attempts."""
    stop_with_stdin: bool = False
    """Stop when standard input ends, as `matins up` wants of the roles that it starts."""
    log_level: str = "info"
    """debug, info, warning or error."""


def variable(field: str) -> str:
    """Return the environment variable of a setting."""
    return "MATINS_" + field.removesuffix("_s").upper()


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings. Raises SettingsError that names the variable and what would be right."""
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(Settings):
        text = environ.get(variable(field.name), "")
        if text:
            values[field.name] = _read(field, text)
    settings = Settings(**values)  # type: ignore[arg-type] # each value was converted to its type
    for name, fault in _faults(settings):
        raise SettingsError(f"{variable(name)} {fault}")
    return settings


def _read(field: msgspec.structs.FieldInfo, text: str) -> object:
    name = variable(field.name)
    if not text.isprintable():
        raise SettingsError(f"{name} holds characters that can't be printed, or is not UTF-8")
    try:
        if field.name.endswith("_s"):
            return parse_duration(text)
        if field.type == Path | None:
            return Path(text)
        return msgspec.convert(text, field.type, strict=False)
    except ScheduleError as error:
        raise SettingsError(f"{name}: {error}") from error
    except msgspec.ValidationError as error:
        rule = "true or false" if field.type is bool else "a whole number"
        raise SettingsError(f"{name}={text[:60]!r} can't be read; write {rule}") from error


def _faults(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with each of the settings, by field, and then with them together."""
    for name, (least, most) in _COUNTS.items():
        count = getattr(settings, name)
        if count is not None and not least <= count <= most:
            yield name, f"is {count}; it must be from {least} to {most}"
    for name in msgspec.structs.asdict(settings):
        if name.endswith("_s") and getattr(settings, name) > _LONGEST_S:
            yield name, "must not be over 1d"
    for name in _PERIODS:
        if getattr(settings, name) <= 0:
            yield name, "must be over zero"
    for name, fault_of in _TEXTS.items():
        text = getattr(settings, name)
        if text is not None and (fault := fault_of(text)):
            yield name, fault
    yield from _faults_together(settings)


def _faults_together(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.lost_after_s <= settings.cut_off_s:
        reason = "or a run would be tried again while its last attempt still lives"
        yield "lost_after_s", f"must be longer than MATINS_CUT_OFF, {reason}"
    if settings.heartbeat_s * 2 > settings.cut_off_s:
        yield "cut_off_s", "must be at least two MATINS_HEARTBEAT"
    if settings.lease_term_s < 1:
        yield "lease_term_s", "must be at least 1s"


def listed(text: str) -> list[str]:
    """Return the parts of what was written with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def named_tokens(text: str) -> dict[str, str]:
    """Return tokens by name, of what was written as `name=token`, separated by commas."""
    pairs = [part.partition("=") for part in listed(text)]
    return {name.strip(): token.strip() for name, _, token in pairs}


def _tokens_fault(text: str) -> str:
    tokens = named_tokens(text)
    if not all(tokens) or not all(tokens.values()):
        return "is not read as tokens; write them as deploys=SECRET,alice=SECRET"
    if len(tokens) < len(listed(text)):
        return "has two tokens of one name"
    if TAKEN & tokens.keys():
        return f"may use any names but {' and '.join(sorted(TAKEN))}"
    problems = [problem for name in tokens for problem in name_problems("tokens", name)]
    faults = [problem.message for problem in problems] + list(map(token_fault, tokens.values()))
    return next(filter(None, faults), "")


def _keys_fault(text: str) -> str:
    for key in listed(text):
        if not _KEY.fullmatch(key):
            return "holds what is no key; write 64 hexadecimal digits (openssl rand -hex 32)"
    return ""


def _switch_fault(url: str) -> str:
    try:
        read_url(url)
    except ValueError:
        return "is no URL of HTTP; write it as https://watch.example.com/ping/SECRET"
    return ""


def _pools_fault(pools: str) -> str:
    names = listed(pools)
    problems = [problem for name in names for problem in name_problems("pools", name)]
    return problems[0].message if problems else "" if names else "names no pool"


def _level_fault(level: str) -> str:
    known = ("debug", "info", "warning", "error")
    return "" if level in known else f"is {level[:60]!r}; write one of {', '.join(known)}"


_KEY = re.compile("[0-9a-f]{64}")
_LONGEST_S = 86400.0
_PERIODS = (
    *("poll_s", "heartbeat_s", "flush_s", "horizon_s", "upkeep_s"),
    *("alert_look_s", "status_every_s", "switch_every_s"),
)
_PORTS = (0, 65535)
_COUNTS = {
    "port": _PORTS,
    "health_port": _PORTS,
    "slots": (1, 100_000),
    "processes": (2, 10_000_000),
    "claim_batch": (1, 100_000),
    "keep_days": (1, DAYS_MAX),
    "max_jobs": (0, LIMIT_MAX),
    "max_running": (0, LIMIT_MAX),
    "starts_per_minute": (1, LIMIT_MAX),
    "output_bytes": (BYTES_MIN, BYTES_MAX),
    "output_bytes_max": (BYTES_MIN, BYTES_MAX),
}
_TEXTS: dict[str, Callable[[str], str]] = {
    "postgres": postgres_fault,
    "valkey": valkey_fault,
    "output_store": store_fault,
    "switch_url": _switch_fault,
    "url": api_fault,
    "token": token_fault,
    "admin_token": token_fault,
    "tokens": _tokens_fault,
    "executor_token": token_fault,
    "secret_keys": _keys_fault,
    "pools": _pools_fault,
    "log_level": _level_fault,
}
