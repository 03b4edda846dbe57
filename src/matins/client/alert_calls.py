"""The SDK's part for alerts: channels, and what was sent to them."""

from __future__ import annotations

from uuid import UUID

from matins.client.calls import ApiCalls
from matins.client.paths import all_of, job_path, one_of, query_of
from matins.domain.alerts.channels import Channel, ChannelChanged, ChannelRecord
from matins.domain.alerts.checkins import CheckinRecord, CheckinToken
from matins.domain.alerts.deliveries import Delivery
from matins.domain.alerts.views import AlertPage, AlertRulesChanged, JobAlerts
from matins.domain.jobs.alerting import AlertRules


class AlertCalls:
    """Makes channels, tests them and deletes them; looks at alerts. Part of `Matins`."""

    _calls: ApiCalls

    async def put_channel(self, team: str, channel: Channel) -> ChannelChanged:
        """Make a channel or change its URL; the answer holds the key of a new webhook."""
        path = one_of(team, "channels", channel.name)
        return await self._calls.ask(ChannelChanged, "PUT", path, content=channel)

    async def get_channel(self, team: str, name: str) -> ChannelRecord:
        """Return a channel, without its URL."""
        return await self._calls.ask(ChannelRecord, "GET", one_of(team, "channels", name))

    async def list_channels(self, team: str) -> list[ChannelRecord]:
        """Return a team's channels, and whether what is sent to them arrives."""
        return await self._calls.ask(list[ChannelRecord], "GET", all_of(team, "channels"))

    async def rotate_channel(self, team: str, name: str) -> ChannelChanged:
        """Give a webhook a new key; the one before lives until the next rotation."""
        path = one_of(team, "channels", name) + "/rotate"
        return await self._calls.ask(ChannelChanged, "POST", path)

    async def test_channel(self, team: str, name: str) -> Delivery:
        """Send a test to a channel; `get_delivery` says what came of it."""
        path = one_of(team, "channels", name) + "/test"
        return await self._calls.ask(Delivery, "POST", path)

    async def delete_channel(self, team: str, name: str) -> ChannelChanged:
        """Delete a channel; what waits for it is never sent."""
        return await self._calls.ask(ChannelChanged, "DELETE", one_of(team, "channels", name))

    async def get_delivery(self, delivery_id: UUID) -> Delivery:
        """Return a message to a channel with its tries."""
        return await self._calls.ask(Delivery, "GET", f"/v1/deliveries/{delivery_id}")

    async def list_deliveries(
        self, team: str, *, channel: str | None = None, limit: int = 100
    ) -> list[Delivery]:
        """Return the newest messages to a team's channels, or to one of them."""
        query = query_of(channel=channel, limit=limit)
        path = all_of(team, "deliveries")
        return await self._calls.ask(list[Delivery], "GET", path, query=query)

    async def alerts_page(self, team: str | None = None) -> AlertPage:
        """Return the jobs that are bad, of a team or of all, the newest first."""
        return await self._calls.ask(AlertPage, "GET", "/v1/alerts", query=query_of(team=team))

    async def get_job_alerts(self, team: str, name: str) -> JobAlerts:
        """Return the rules of a job, how it stands, and what was told of it lately."""
        return await self._calls.ask(JobAlerts, "GET", job_path(team, name) + "/alerts")

    async def list_alert_rules(self, team: str) -> list[AlertRules]:
        """Return the rules that a team has set for its jobs."""
        return await self._calls.ask(list[AlertRules], "GET", all_of(team, "alert-rules"))

    async def put_alert_rules(self, team: str, rules: AlertRules) -> AlertRulesChanged:
        """Set rules for all jobs of a team, or for those that have some labels."""
        path = one_of(team, "alert-rules", rules.name)
        return await self._calls.ask(AlertRulesChanged, "PUT", path, content=rules)

    async def delete_alert_rules(self, team: str, name: str) -> AlertRulesChanged:
        """Delete rules of a team."""
        path = one_of(team, "alert-rules", name)
        return await self._calls.ask(AlertRulesChanged, "DELETE", path)

    async def list_checkins(self, team: str) -> list[CheckinRecord]:
        """Return a team's check-ins, and what was told of them last."""
        return await self._calls.ask(list[CheckinRecord], "GET", all_of(team, "checkins"))

    async def get_checkin(self, team: str, name: str) -> CheckinRecord:
        """Return a check-in, without its token."""
        return await self._calls.ask(CheckinRecord, "GET", one_of(team, "checkins", name))

    async def rotate_checkin(self, team: str, name: str) -> CheckinToken:
        """Give a check-in its first token or a new one; the one before is of no use any more."""
        path = one_of(team, "checkins", name) + "/rotate"
        return await self._calls.ask(CheckinToken, "POST", path)
