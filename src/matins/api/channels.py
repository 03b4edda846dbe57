"""Channels and what was sent to them: /v1/teams/{team}/channels, /v1/teams/{team}/deliveries."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from litestar import Router, delete, get, post, put
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from matins.api.bodies import Strict
from matins.api.dependencies import ChannelDeeds, ChannelReads
from matins.api.parameters import check_same_name
from matins.domain.alerts.channels import Channel, ChannelChanged, ChannelRecord
from matins.domain.alerts.deliveries import Delivery


@get("/teams/{team:str}/channels")
async def list_channels(channels: ChannelReads, team: FromPath[str]) -> list[ChannelRecord]:
    """List a team's channels, and whether what is sent to them arrives. URLs are never shown."""
    return await channels.of_team(team)


@get("/teams/{team:str}/channels/{name:str}")
async def show_channel(
    channels: ChannelReads, team: FromPath[str], name: FromPath[str]
) -> ChannelRecord:
    """Show a channel."""
    return await channels.show(team, name)


@put("/teams/{team:str}/channels/{name:str}", dto=Strict[Channel], return_dto=None)
async def put_channel(
    deeds: ChannelDeeds, team: FromPath[str], name: FromPath[str], data: JSONBody[Channel]
) -> ChannelChanged:
    """Create a channel or change its URL, which is stored encrypted.

    The key with which a new webhook is signed is in this answer, and in no other.
    """
    check_same_name(data.name, name)
    return await deeds.put(team, data)


@post("/teams/{team:str}/channels/{name:str}/rotate", status_code=200)
async def rotate_channel(
    deeds: ChannelDeeds, team: FromPath[str], name: FromPath[str]
) -> ChannelChanged:
    """Give a webhook a new key, which is in this answer only. The one before signs as well, until
    the next rotation.
    """
    return await deeds.rotate(team, name)


@post("/teams/{team:str}/channels/{name:str}/test", status_code=202)
async def test_channel(deeds: ChannelDeeds, team: FromPath[str], name: FromPath[str]) -> Delivery:
    """Send a test to a channel. The delivery, asked for again, says what came of it."""
    return await deeds.test(team, name)


@delete("/teams/{team:str}/channels/{name:str}", status_code=200)
async def delete_channel(
    deeds: ChannelDeeds, team: FromPath[str], name: FromPath[str]
) -> ChannelChanged:
    """Delete a channel. What waits to be sent to it never is."""
    return await deeds.delete(team, name)


@get("/teams/{team:str}/deliveries")
async def list_deliveries(
    channels: ChannelReads,
    team: FromPath[str],
    channel: FromQuery[str | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> list[Delivery]:
    """List the newest messages to a team's channels, or to one of them, with all of their tries."""
    return await channels.deliveries(team, channel, limit)


@get("/deliveries/{delivery_id:uuid}")
async def show_delivery(channels: ChannelReads, delivery_id: FromPath[UUID]) -> Delivery:
    """Show a message with its tries."""
    return await channels.delivery(delivery_id)


ROUTER = Router(
    "/",
    tags=["alerts"],
    route_handlers=[
        *(list_channels, show_channel, put_channel, rotate_channel, test_channel, delete_channel),
        *(list_deliveries, show_delivery),
    ],
)
