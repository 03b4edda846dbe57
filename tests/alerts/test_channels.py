"""Channels: they are encrypted, tested, and told of what they miss."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import msgspec
import pytest
from standardwebhooks import WebhookVerificationError
from tests.alerts.ground import TEAM, Ground
from tests.alerts.receivers import Hooks, Mails, body_of
from tests.api.served import KEY

from matins.alerts.channels.by_apprise import fault_by_apprise
from matins.domain.alerts.channels import Channel, Secrets
from matins.kernel.sealing import Sealer
from matins.owners.channels import Channels
from matins.store.channels import PostgresChannels


async def test_a_webhook_is_signed_by_the_key_that_was_shown(ground: Ground, hooks: Hooks) -> None:
    key = await ground.channel(webhook=hooks.url)
    sent = await ground.owner.post(f"{TEAM}/channels/oncall/test")
    assert sent.status == 202
    await ground.deliver()
    assert hooks.turns == ["test"]
    delivery = (await ground.owner.get(f"/v1/deliveries/{sent.json['id']}")).json
    assert (delivery["state"], delivery["kind"], len(delivery["tries"])) == ("delivered", "test", 1)
    assert hooks.received[0][0]["webhook-id"] == sent.json["id"]
    assert key.startswith("whsec_")


async def test_both_keys_live_after_a_rotation_and_the_oldest_goes_at_the_next(
    ground: Ground, hooks: Hooks
) -> None:
    keys = [await ground.channel(webhook=hooks.url)]
    for _ in range(2):
        reply = await ground.owner.post(f"{TEAM}/channels/oncall/rotate")
        keys.append(reply.json["key"])
    ground.now = datetime.now(UTC)  # a signature is refused that is not of now
    await ground.owner.post(f"{TEAM}/channels/oncall/test")
    await ground.deliver()
    hooks.verify(keys[2])
    hooks.verify(keys[1])
    with pytest.raises(WebhookVerificationError):
        hooks.verify(keys[0])


async def test_a_mail_comes_by_a_real_server(ground: Ground, mails: Mails) -> None:
    await ground.channel(apprise=mails.url)
    await ground.owner.post(f"{TEAM}/channels/oncall/test")
    await ground.deliver()
    [mail] = mails.received
    assert mail["subject"] == "Matins: a test for team payments"
    assert "This channel works." in body_of(mail)


async def test_nothing_of_a_url_is_shown_or_stored_in_the_clear(ground: Ground) -> None:
    url = "mailto://somebody:secret-word@127.0.0.1:9?from=m@example.com&to=x@example.com"
    await ground.channel(apprise=url)
    shown = await ground.owner.get(f"{TEAM}/channels/oncall")
    assert shown.json["scheme"] == "mailto"
    await ground.owner.post(f"{TEAM}/channels/oncall/test")
    await ground.deliver()
    listed = await ground.owner.get(f"{TEAM}/channels")
    assert listed.json[0]["failure"]
    deliveries = await ground.owner.get(f"{TEAM}/deliveries")
    stored = await ground.rows("SELECT c::text FROM channels c")
    for text in (shown.text, listed.text, deliveries.text, str(stored)):
        assert "secret-word" not in text
        assert "somebody" not in text


async def test_what_is_sealed_for_one_channel_opens_no_other(ground: Ground, hooks: Hooks) -> None:
    await ground.channel("first", webhook=hooks.url)
    await ground.channel("other", webhook=hooks.url + "?other")
    await ground.execute(
        "UPDATE channels SET sealed = (SELECT sealed FROM channels WHERE name = 'first')"
    )
    await ground.owner.post(f"{TEAM}/channels/other/test")
    await ground.deliver()
    assert hooks.received == []
    [delivery] = (await ground.owner.get(f"{TEAM}/deliveries", channel="other")).json
    assert "belongs to payments/first" in delivery["tries"][0]["error"]


async def test_putting_again_keeps_the_key_and_shows_it_no_more(
    ground: Ground, hooks: Hooks
) -> None:
    await ground.channel(webhook="http://127.0.0.1:9/old")
    again = await ground.owner.put(
        f"{TEAM}/channels/oncall", {"name": "oncall", "webhook": hooks.url}
    )
    assert (again.json["change"], again.json["key"]) == ("changed", "")
    same = await ground.owner.put(
        f"{TEAM}/channels/oncall", {"name": "oncall", "webhook": hooks.url}
    )
    assert same.json["change"] == "unchanged"
    gone = await ground.owner.delete(f"{TEAM}/channels/oncall")
    assert gone.json["change"] == "deleted"
    assert (await ground.owner.get(f"{TEAM}/channels/oncall")).status == 404


async def test_a_channel_that_is_added_again_is_encrypted_by_the_newest_key(
    ground: Ground, hooks: Hooks
) -> None:
    key = await ground.channel(webhook=hooks.url)
    newer = "c3" * 32
    channels = Channels(
        PostgresChannels(ground.database), Sealer([newer, KEY]), Random(3), fault_by_apprise
    )
    again = await channels.put("payments", Channel("oncall", webhook=hooks.url))
    assert (again.change, again.key) == ("unchanged", "")
    sealed = await ground.value("SELECT sealed FROM channels")
    secrets = msgspec.json.decode(Sealer([newer]).open(sealed), type=Secrets)
    assert secrets == Secrets("payments", "oncall", hooks.url, [key])


async def test_what_has_failed_is_forgotten_when_a_channel_leads_elsewhere(ground: Ground) -> None:
    await ground.channel(webhook="http://127.0.0.1:9/")
    await ground.owner.post(f"{TEAM}/channels/oncall/test")
    await ground.deliver()
    for path, is_failing in (("", True), ("other", False)):
        await ground.channel(webhook=f"http://127.0.0.1:9/{path}")
        record = (await ground.owner.get(f"{TEAM}/channels/oncall")).json
        assert bool(record["failing_since"]) is is_failing
        assert bool(record["failure"]) is is_failing


async def test_a_webhook_that_becomes_something_else_has_no_key_any_more(ground: Ground) -> None:
    await ground.channel(webhook="https://hooks.example.com/matins")
    body = {"name": "oncall", "apprise": "jsons://hooks.example.com/matins"}
    changed = await ground.owner.put(f"{TEAM}/channels/oncall", body)
    assert (changed.json["change"], changed.json["channel"]["kind"]) == ("changed", "apprise")
    assert (await ground.owner.post(f"{TEAM}/channels/oncall/rotate")).status == 409


@pytest.mark.parametrize(
    ("written", "where", "message"),
    [
        ({}, "webhook", "write either webhook or apprise"),
        ({"webhook": "ftp://x"}, "webhook", "is no URL of HTTP"),
        ({"apprise": "slack"}, "apprise", "is no URL"),
        ({"apprise": "foo://somewhere"}, "apprise", "apprise can't read the URL"),
        ({"apprise": "mailto://u:p@127.0.0.1:1?to=a@example.com"}, "apprise", "can't read the URL"),
        ({"apprise": "syslog://"}, "apprise", "act on the host of the API"),
    ],
)
async def test_a_channel_that_leads_nowhere_is_refused(
    ground: Ground, written: dict[str, str], where: str, message: str
) -> None:
    reply = await ground.owner.put(f"{TEAM}/channels/oncall", {"name": "oncall"} | written)
    assert reply.status == 422
    assert message in reply.places[where]
