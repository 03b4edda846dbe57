"""`matins channels`: where a team is told."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated

import typer

from matins.cli.connecting import Named, change, split_name, with_api
from matins.cli.showing import AsJson, local, print_json, tell
from matins.cli.tables import Cell, console, table
from matins.client.sdk import Matins
from matins.domain.alerts.channels import Channel, ChannelChanged, ChannelRecord
from matins.domain.alerts.deliveries import Delivery
from matins.domain.values.names import DEFAULT_TEAM

_HEADS = ("CHANNEL", "KIND", "SCHEME", "DELIVERED", "WAITING", "FAILING SINCE", "WHY")
_TESTED_S = 30.0
_PAUSE_S = 0.3

commands = typer.Typer()


@commands.command("list", epilog="Example: matins channels list --team payments")
def list_channels(
    team: Annotated[str, typer.Option(help="Whose channels.")] = DEFAULT_TEAM,
    as_json: AsJson = False,
) -> None:
    """List a team's channels, and whether what is sent to them arrives."""
    records = with_api(lambda client: client.list_channels(team))
    if as_json:
        print_json(records)
        return
    printer = console()
    printer.print(table(printer, _HEADS, [_row(team, record) for record in records]))


@commands.command(
    epilog="Example: matins channels add payments/oncall --webhook https://hooks.example.com/matins"
)
def add(
    channel: Named,
    webhook: Annotated[
        str | None, typer.Option(help="A URL to which signed messages are posted.")
    ] = None,
    apprise: Annotated[
        str | None, typer.Option(help="A URL of Apprise: mailto://, slack://, tgram:// and others.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a channel, or change its URL. The URL is stored encrypted, and never shown again."""
    team, name = split_name(channel)
    wanted = Channel(name, webhook, apprise)
    change(lambda client: client.put_channel(team, wanted), partial(_words, team), as_json=as_json)


@commands.command("test", epilog="Example: matins channels test payments/oncall")
def send_test(channel: Named, as_json: AsJson = False) -> None:
    """Send a test to a channel, and wait for what comes of it.

    Exit code 1 if it has not arrived.
    """
    team, name = split_name(channel)
    delivery = with_api(lambda client: _tested(client, team, name))
    if as_json:
        print_json(delivery)
    elif delivery.state == "delivered":
        tell(f"delivered  {team}/{name}  in {delivery.tries[-1].took_s:g} s")
    else:
        reason = delivery.tries[-1].error if delivery.tries else "nobody has sent it yet"
        tell(f"not delivered  {team}/{name}  {reason}")
    if delivery.state != "delivered":
        raise typer.Exit(1)


@commands.command(epilog="Example: matins channels rotate payments/oncall")
def rotate(channel: Named, as_json: AsJson = False) -> None:
    """Give a webhook a new key. The one before lives until the next rotation."""
    team, name = split_name(channel)
    change(lambda client: client.rotate_channel(team, name), partial(_words, team), as_json=as_json)


@commands.command(epilog="Example: matins channels remove payments/oncall")
def remove(channel: Named, as_json: AsJson = False) -> None:
    """Delete a channel. What waits to be sent to it never is."""
    team, name = split_name(channel)
    change(lambda client: client.delete_channel(team, name), partial(_words, team), as_json=as_json)


async def _tested(client: Matins, team: str, name: str) -> Delivery:
    """Send a test and return its delivery once it was tried, or after half a minute."""
    delivery = await client.test_channel(team, name)
    loop = asyncio.get_running_loop()
    until_s = loop.time() + _TESTED_S
    while not delivery.tries and loop.time() < until_s:
        await asyncio.sleep(_PAUSE_S)
        delivery = await client.get_delivery(delivery.id)
    return delivery


def _row(team: str, record: ChannelRecord) -> tuple[Cell, ...]:
    return (
        f"{team}/{record.name}",
        record.kind,
        record.scheme,
        local(record.delivered_at),
        str(record.waiting),
        local(record.failing_since),
        record.failure,
    )


def _words(team: str, answer: ChannelChanged) -> str:
    line = f"{answer.change}  {team}/{answer.channel.name}"
    return f"{line}\nkey: {answer.key}  (it is shown this once)" if answer.key else line
