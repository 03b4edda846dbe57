"""Every setting, read once from the environment (MATINS_*) into one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from matins.domain.durations import parse_duration
from matins.domain.errors import ScheduleError, SettingsError


class Settings(msgspec.Struct, frozen=True):
    """All settings, with their defaults. The variable of `lease_term_s` is MATINS_LEASE_TERM.

    Fields that end in `_s` are lengths of time, written as `10s` or `1m`.
    """

    data: Path | None = None
    """The data folder; without it the account's default one."""
    port: int = 8600
    """Where the API listens; 0 for a free port."""
    host: str = "127.0.0.1"
    """The address on which the API listens."""
    health_port: int | None = None
    """Where scheduler and executor serve /health, /ready and /metrics; 0 for a free port."""
    postgres: str | None = None
    """DSN of PostgreSQL; without it the embedded one of the data folder."""
    valkey: str | None = None
    """URL of Valkey; without it the embedded one of the data folder."""
    url: str | None = None
    """Where an executor or the CLI finds the API; without it the one of the data folder."""
    token: str | None = None
    """The bearer token to show; without it the one of the data folder."""
    admin_token: str | None = None
    """The token that the API accepts from owners; without it the one of the data folder."""
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
    horizon_s: float = 120.0
    """How far ahead a scheduler loads due jobs into its wheel."""
    poll_s: float = 1.0
    """The short poll that stands behind every hint."""
    flush_s: float = 3.0
    """How late next due times are written."""
    upkeep_s: float = 60.0
    """How often a scheduler sees to new zone data, changed calendars and jobs at their end."""
    claim_batch: int = 1000
    """The most runs in one claim statement."""
    beat_s: float = 3.0
    """How often an executor beats."""
    cut_off_s: float = 30.0
    """T1: an executor that can't reach the gateway for so long kills its attempts."""
    lost_after_s: float = 45.0
    """T2: an executor that is silent for so long is declared lost; must be above T1."""
    grace_s: float = 5.0
    """Between SIGTERM and SIGKILL of a command."""
    drain_s: float = 30.0
    """How long a stopping executor waits for its attempts."""
    stop_with_stdin: bool = False
    """Stop when standard input ends, as `matins up` wants of the roles that it starts."""
    log_level: str = "info"
    """debug, info, warning or error."""


def variable(field: str) -> str:
    """The environment variable of a setting."""
    return "MATINS_" + field.removesuffix("_s").upper()


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings. Raises SettingsError that names the variable and what would be right."""
    given: dict[str, object] = {}
    for field in msgspec.structs.fields(Settings):
        text = environ.get(variable(field.name), "")
        if text:
            given[field.name] = _read(field, text)
    settings = Settings(**given)  # type: ignore[arg-type] # each value was converted to its type
    _check(settings)
    return settings


def _read(field: msgspec.structs.FieldInfo, text: str) -> object:
    name = variable(field.name)
    try:
        if field.name.endswith("_s"):
            return parse_duration(text)
        if field.name == "data":
            return Path(text)
        return msgspec.convert(text, field.type, strict=False)
    except (ScheduleError, msgspec.ValidationError) as error:
        raise SettingsError(f"{name}={text[:60]!r}: {error}") from error


def _check(settings: Settings) -> None:
    if settings.lost_after_s <= settings.cut_off_s:
        raise SettingsError(
            "MATINS_LOST_AFTER must be longer than MATINS_CUT_OFF, or a run would be tried again"
            " while its last attempt still lives"
        )
    if settings.beat_s * 2 > settings.cut_off_s:
        raise SettingsError("MATINS_CUT_OFF must be at least two MATINS_BEAT")
    if settings.lease_term_s < 1:
        raise SettingsError("MATINS_LEASE_TERM must be at least 1s")
    for name in ("poll_s", "beat_s", "flush_s", "horizon_s", "upkeep_s"):
        if getattr(settings, name) <= 0:
            raise SettingsError(f"{variable(name)} must be over zero")
