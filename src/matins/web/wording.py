"""How values read on a page: instants, lengths of time, counts. The filters of templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode
from uuid import UUID

from markupsafe import Markup, escape

from matins.domain.views import AttemptRecord

if TYPE_CHECKING:
    from matins.web.charts.bars import Bar

NONE: Final = "\N{EN DASH}"
"""What stands where there is no value."""

_RUN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_MARKED: Final = re.compile(rf"(`[^`]+`|{_RUN.pattern}|{_INSTANT.pattern})")

_STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def length(seconds: float | timedelta | None) -> str:
    """Return a length of time in its two largest units: `4m 05s`; `12 ms` below a second."""
    if seconds is None:
        return NONE
    value = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
    sign, value = ("-" if value < 0 else ""), abs(value)
    if value < 1:
        return f"{sign}{round(value * 1000)} ms"
    if value < 10:
        return f"{sign}{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{sign}{whole} s"
    for (size, unit), (below, below_unit) in pairwise(_STEPS):
        if whole >= size:
            rest = whole % size // below
            return f"{sign}{whole // size}{unit} {rest:02d}{below_unit}"
    raise AssertionError("a minute at least was left")


def instant(at: datetime | None) -> Markup:
    """Return an instant in UTC; the page's script shows it in the reader's zone if asked to."""
    if at is None:
        return Markup('<span class="none">{}</span>').format(NONE)
    utc = at.astimezone(UTC)
    text = f"{utc:%Y-%m-%d %H:%M:%S}"
    return _made(f'<time datetime="{utc.isoformat()}" title="{utc:%A} {text} UTC">{text}</time>')


def distance(at: datetime | None, now: datetime) -> Markup:
    """Return how far an instant is from now, `in 4m 05s` or `2h 10m ago`."""
    if at is None:
        return Markup('<span class="none">{}</span>').format(NONE)
    away = (at - now).total_seconds()
    text = f"in {length(away)}" if away > 0 else f"{length(-away)} ago"
    utc = at.astimezone(UTC)
    return _made(
        f'<time class="distance" datetime="{utc.isoformat()}" title="{utc:%Y-%m-%d %H:%M:%S} UTC">'
        f"{text}</time>"
    )


def elapsed(since: datetime, now: datetime) -> Markup:
    """Return how long something goes on by now; the page's script counts on."""
    return _made(
        f'<time class="distance" data-bare datetime="{since.astimezone(UTC).isoformat()}">'
        f"{length(max(0.0, (now - since).total_seconds()))}</time>"
    )


def count(number: float | None) -> str:
    """Return a count with its thousands apart: `12 345`."""
    return NONE if number is None else f"{number:,.0f}".replace(",", "\N{NO-BREAK SPACE}")


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: `1 job`, `12 jobs`."""
    return f"{count(number)} {noun if number == 1 else nouns or noun + 's'}"


def size(octets: float) -> str:
    """Return a size in bytes: `12.3 MB`."""
    value, units = float(octets), ["B", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    digits = 0 if units[0] == "B" or value >= 100 else 1
    return f"{value:.{digits}f} {units[0]}"


def percent(share: float | None) -> str:
    """Return a share of 1 in percent."""
    return NONE if share is None else f"{share * 100:.1f} %" if share < 1 else "100 %"


def state(value: str) -> Markup:
    """Return the state of a run or a job, or an outcome, as its mark and its word."""
    return Markup('<span class="state is-{0}">{0}</span>').format(value)


def linked(marks: Iterable[Bar]) -> Markup:
    """Return bars, each of which leads to its run: put together here, as lists have thousands."""
    return _made(
        "".join(
            f'<a href="{mark.href}" tabindex="-1"><rect class="fill-{mark.state}" x="{mark.x}"'
            f' y="{mark.y}" width="{mark.width}" height="{mark.height}">'
            f"<title>{escape(mark.title)}</title></rect></a>"
            for mark in marks
        )
    )


def job_path(team: str, name: str, below: str = "") -> str:
    """Return the address of a job's page, or of what is below it."""
    return f"/teams/{quote(team, safe='')}/jobs/{quote(name, safe='')}" + (below and f"/{below}")


def team_path(team: str, below: str = "") -> str:
    """Return the address of a team's page, or of what is below it."""
    return f"/teams/{quote(team, safe='')}" + (below and f"/{below}")


def run_path(run_id: UUID) -> str:
    """Return the address of a run's page."""
    return f"/runs/{run_id}"


def with_query(path: str, query: dict[str, Any], **changed: object) -> str:
    """Return an address whose query is changed; what becomes None or empty is left out."""
    merged = {
        name: value for name, value in {**query, **changed}.items() if value not in (None, "")
    }
    return f"{path}?{urlencode(merged, doseq=True)}" if merged else path


def shortened(text: str, most: int) -> str:
    """Return a text of so many characters at most; what is left out is told by an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def answer(attempt: AttemptRecord) -> str:
    """Return what came of an attempt: the reason, where that says it, or status and exit code."""
    if attempt.http_status is not None:
        told = f"HTTP {attempt.http_status}"
    elif attempt.exit_code is not None:
        told = f"exit code {attempt.exit_code}"
    else:
        return attempt.reason
    return attempt.reason if told in attempt.reason else f"{told} {attempt.reason}".rstrip()


def sentence(text: str) -> str:
    """Return a text as a sentence: with a capital, and a full stop if it has no end."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def told(text: str) -> Markup:
    """Return a text as a sentence in which runs are links, commands stand out, and instants read
    as everywhere.
    """
    parts = _MARKED.split(sentence(text))
    return Markup("").join(_part(part) for part in parts)


def _part(text: str) -> Markup:
    if _RUN.fullmatch(text):
        return Markup('<a href="/runs/{0}"><code>{0}</code></a>').format(text)
    if _INSTANT.fullmatch(text):
        with suppress(ValueError):  # an owner's words may be about the 31st of June
            return instant(datetime.fromisoformat(text))
    if len(text) > 2 and text[0] == text[-1] == "`":
        return Markup("<code>{}</code>").format(text[1:-1])
    return escape(text)


def _made(html: str) -> Markup:
    """Take what was put together here; `Markup.format` is twenty times as slow, and lists have
    thousands.
    """
    return Markup(html)  # noqa: S704 # made of instants, counts, ids and what is escaped


def lines(text: str) -> Markup:
    """Return a text with its line ends as such."""
    return Markup("<br>").join(escape(line) for line in text.splitlines())


FILTERS: Final[dict[str, Callable[..., object]]] = {
    "length_of": length,
    "instant": instant,
    "distance": distance,
    "elapsed": elapsed,
    "count_of": count,
    "size_of": size,
    "plural": plural,
    "percent": percent,
    "state": state,
    "linked": linked,
    "job_path": job_path,
    "team_path": team_path,
    "run_path": run_path,
    "with_query": with_query,
    "lines": lines,
    "shortened": shortened,
    "told": told,
    "answer": answer,
}
"""By the names under which templates use them."""
