"""What handlers work with, under the names by which they ask for it."""

from __future__ import annotations

from litestar.di import NamedDependency

from matins.api.status import StatusReader
from matins.owners import alert_rules, channels, checkins, owners
from matins.status.watch import StatusWatch
from matins.store.alert_reads import PostgresAlerts
from matins.store.audits import PostgresAudits
from matins.store.backfills import PostgresBackfillChanges
from matins.store.calendars import PostgresCalendars
from matins.store.channels import PostgresChannels
from matins.store.checkins import PostgresCheckins
from matins.store.cluster import PostgresCluster
from matins.store.dead import PostgresDeadLetters
from matins.store.explanations import PostgresExplanations
from matins.store.failures import PostgresFailures
from matins.store.forecasts import PostgresForecasts
from matins.store.limits import PostgresLimits
from matins.store.outlooks import PostgresOutlooks
from matins.store.previews import PostgresPreviews
from matins.store.reads import PostgresReads
from matins.store.replays import PostgresReplayChanges
from matins.store.revisions import PostgresRevisions
from matins.store.teams import PostgresTeams
from matins.store.windows import PostgresWindows

Outlooks = NamedDependency[PostgresOutlooks]
Reads = NamedDependency[PostgresReads]
ClusterReads = NamedDependency[PostgresCluster]
Owners = NamedDependency[owners.Owners]
Audits = NamedDependency[PostgresAudits]
Calendars = NamedDependency[PostgresCalendars]
Backfills = NamedDependency[PostgresBackfillChanges]
Letters = NamedDependency[PostgresDeadLetters]
Replays = NamedDependency[PostgresReplayChanges]
Failures = NamedDependency[PostgresFailures]
Limits = NamedDependency[PostgresLimits]
ChannelReads = NamedDependency[PostgresChannels]
AlertReads = NamedDependency[PostgresAlerts]
AlertRuleDeeds = NamedDependency[alert_rules.TeamRules]
ChannelDeeds = NamedDependency[channels.Channels]
CheckinReads = NamedDependency[PostgresCheckins]
CheckinDeeds = NamedDependency[checkins.Checkins]
Windows = NamedDependency[PostgresWindows]
Previews = NamedDependency[PostgresPreviews]
Explanations = NamedDependency[PostgresExplanations]
Forecasts = NamedDependency[PostgresForecasts]
Teams = NamedDependency[PostgresTeams]
Revisions = NamedDependency[PostgresRevisions]
Principal = NamedDependency[str]
"""The name of the caller's token."""
Status = NamedDependency[StatusReader]
System = NamedDependency[StatusWatch]
