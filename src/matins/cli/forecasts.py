"""`matins forecast`: the load ahead, as a small chart."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Annotated, Final

import typer

from matins.cli.connecting import with_api
from matins.cli.showing import AsJson, local, print_json
from matins.cli.tables import console, facts, table
from matins.insight.forecast.forecast import Forecast, Peak, Share
from matins.insight.forecast.groups import MINUTE_S

BAR: Final = 40
"""The length of the longest bar, in characters."""

_HOUR: Final = timedelta(hours=1)
_BY_HOUR_MAX: Final = 48 * _HOUR
_HOURS_OF_LONG_BAR: Final = 6

commands = typer.Typer()


@commands.command(epilog="Example: matins forecast --team payments --hours 168")
def forecast(
    team: Annotated[str | None, typer.Option(help="Only this team's jobs.")] = None,
    pool: Annotated[str | None, typer.Option(help="Only the jobs of this pool.")] = None,
    hours: Annotated[int, typer.Option(help="How many hours ahead, up to 168.")] = 24,
    as_json: AsJson = False,
) -> None:
    """Show how often jobs will fire in the coming hours, when most often, and whose they are."""
    result = with_api(lambda client: client.forecast(team=team, pool=pool, hours=hours))
    if as_json:
        print_json(result)
        return
    printer = console()
    printer.print(
        facts(
            [
                ("until", local(result.until)),
                ("fires", f"{number(result.fires)} of {result.jobs:,} jobs"),
                ("peak minute", _peak(result.peak_minute)),
                ("peak second", _peak(result.peak_second)),
            ]
        )
    )
    if not result.fires:
        return
    mark = "█" if printer.encoding.startswith("utf") else "#"
    printer.print()
    printer.print(table(printer, ("FROM", "FIRES", "PEAK MINUTE", ""), bars(result, mark)))
    for head, shares in (("TEAM", result.teams), ("POOL", result.pools)):
        if len(shares) > 1:
            rows = [_row(share) for share in shares]
            printer.print()
            printer.print(table(printer, (head, "JOBS", "FIRES", "PEAK MINUTE"), rows))


def bars(result: Forecast, mark: str = "#") -> list[tuple[str, str, str, str]]:
    """Return a line for each hour, or for each six of a long forecast.

    It has from when, fires, the busiest minute (where minutes are counted), a bar.
    """
    hours = 1 if result.until - result.since <= _BY_HOUR_MAX else _HOURS_OF_LONG_BAR
    size = hours * _HOUR // timedelta(seconds=result.step_s)
    chunks = [result.counts[at : at + size] for at in range(0, len(result.counts), size)]
    most = max(map(sum, chunks))
    rows = []
    for index, counts in enumerate(chunks):
        since = (result.since + hours * index * _HOUR).astimezone()
        fires, peak = sum(counts), max(counts)
        at = since + counts.index(peak) * timedelta(seconds=result.step_s)
        minute = f"{number(peak)} at {at:%H:%M}" if result.step_s == MINUTE_S and peak else ""
        bar = mark * math.ceil(fires * BAR / most) if fires else ""
        rows.append((f"{since:%a %m-%d %H:%M}", number(fires), minute, bar))
    return rows


def number(fires: float) -> str:
    """Return how many fires: a whole number, but for a few that are none."""
    return f"{fires:,.0f}" if fires >= 10 or fires == int(fires) else f"{fires:.1f}"


def _peak(peak: Peak) -> str:
    return f"{local(peak.at)}: {number(peak.fires)}" if peak.fires else ""


def _row(share: Share) -> tuple[str, str, str, str]:
    return share.name, f"{share.jobs:,}", number(share.fires), _peak(share.peak_minute)
