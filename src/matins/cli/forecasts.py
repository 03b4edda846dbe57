"""`matins forecast`: the load ahead, as a small chart."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Annotated, Final

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, console, facts, local, print_json, table
from matins.insight.forecast.canvas import MINUTE_S
from matins.insight.forecast.forecast import Forecast, Peak, Share

BAR: Final = 40
"""The length of the longest bar, in characters."""

_HOUR: Final = timedelta(hours=1)
_BY_HOUR_MAX: Final = 48 * _HOUR
_LONGER: Final = 6

commands = typer.Typer()


@commands.command(epilog="Example: matins forecast --team payments --hours 168")
def forecast(
    team: Annotated[str | None, typer.Option(help="Only this team's jobs.")] = None,
    pool: Annotated[str | None, typer.Option(help="Only the jobs of this pool.")] = None,
    hours: Annotated[int, typer.Option(help="How many hours ahead, up to 168.")] = 24,
    as_json: AsJson = False,
) -> None:
    """Show how often jobs will fire in the coming hours, when most often, and whose they are."""
    told = with_api(lambda client: client.forecast(team=team, pool=pool, hours=hours))
    if as_json:
        print_json(told)
        return
    printer = console()
    printer.print(
        facts(
            [
                ("until", local(told.until)),
                ("fires", f"{number(told.fires)} of {told.jobs:,} jobs"),
                ("peak minute", _peak(told.peak_minute)),
                ("peak second", _peak(told.peak_second)),
            ]
        )
    )
    if not told.fires:
        return
    mark = "█" if printer.encoding.startswith("utf") else "#"
    printer.print()
    printer.print(table(printer, ("FROM", "FIRES", "PEAK MINUTE", ""), bars(told, mark)))
    for head, shares in (("TEAM", told.teams), ("POOL", told.pools)):
        if len(shares) > 1:
            rows = [_row(share) for share in shares]
            printer.print()
            printer.print(table(printer, (head, "JOBS", "FIRES", "PEAK MINUTE"), rows))


def bars(told: Forecast, mark: str = "#") -> list[tuple[str, str, str, str]]:
    """Give a line for each hour, or for each six of a long forecast: from when, fires, the busiest
    minute (where minutes are told), a bar.
    """
    hours = 1 if told.until - told.since <= _BY_HOUR_MAX else _LONGER
    size = hours * _HOUR // timedelta(seconds=told.step_s)
    parts = [told.counts[at : at + size] for at in range(0, len(told.counts), size)]
    most = max(map(sum, parts))
    rows = []
    for index, counts in enumerate(parts):
        since = (told.since + hours * index * _HOUR).astimezone()
        fires, peak = sum(counts), max(counts)
        at = since + counts.index(peak) * timedelta(seconds=told.step_s)
        minute = f"{number(peak)} at {at:%H:%M}" if told.step_s == MINUTE_S and peak else ""
        bar = mark * math.ceil(fires * BAR / most) if fires else ""
        rows.append((f"{since:%a %m-%d %H:%M}", number(fires), minute, bar))
    return rows


def number(fires: float) -> str:
    """Write how many fires: whole ones, but for a few that are no whole number."""
    return f"{fires:,.0f}" if fires >= 10 or fires == int(fires) else f"{fires:.1f}"


def _peak(peak: Peak) -> str:
    return f"{local(peak.at)}: {number(peak.fires)}" if peak.fires else ""


def _row(share: Share) -> tuple[str, str, str, str]:
    return share.name, f"{share.jobs:,}", number(share.fires), _peak(share.peak_minute)
