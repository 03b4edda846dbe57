"""The public names of the library: what `from matins import …` finds.

They are the SDK, each value that it takes or returns, with their parts, and each error that it
raises. Names that are not here may change in any version.
"""

from __future__ import annotations

from matins.client.refusals import UnreachableError
from matins.client.sdk import Matins
from matins.domain.alerts.channels import Channel, ChannelChanged, ChannelRecord
from matins.domain.alerts.checkins import CheckinRecord, CheckinToken
from matins.domain.alerts.deliveries import Delivery, Notice, Try
from matins.domain.alerts.edges import Turn
from matins.domain.alerts.views import (
    Alert,
    AlertPage,
    AlertRulesChanged,
    ChannelNotice,
    JobAlerts,
)
from matins.domain.calendars.calendar import Calendar, Holidays
from matins.domain.calendars.calendar import Item as CalendarItem
from matins.domain.calendars.upcoming import ClosedDay
from matins.domain.executors.protocol import RunStatus
from matins.domain.jobs.alerting import AlertRule, AlertRules
from matins.domain.jobs.keeping import Keep, KeepLimits
from matins.domain.jobs.limit_views import (
    LimitChanged,
    LimitRecord,
    Quota,
    QuotasChanged,
    QuotasRecord,
)
from matins.domain.jobs.limits import Concurrency, Limit, Quotas
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.overlap import Overlap
from matins.domain.jobs.pausing import Pause
from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.jobs.selecting import JobOutcome, SelectionChanged
from matins.domain.jobs.sharing import TeamRecord, TeamShare
from matins.domain.jobs.spec import Job, JobSpec, JobState
from matins.domain.jobs.targets import CheckinTarget, CommandTarget, HttpTarget, Target
from matins.domain.jobs.windows import Window
from matins.domain.run_events import AttemptProgress, OutputNotice, OutputText, RunEnd
from matins.domain.runs.backfills.values import (
    Backfill,
    BackfillCounts,
    BackfillPlan,
    BackfillRequest,
    BackfillStarted,
    BackfillState,
    LeftOut,
)
from matins.domain.runs.cluster import Cluster, SchedulerRecord
from matins.domain.runs.dead import (
    ChangeSince,
    DeadCounts,
    DeadFilter,
    DeadGroup,
    DeadLetter,
    DeadPage,
    DismissDead,
    Dismissed,
    LastSuccess,
    RunFailure,
)
from matins.domain.runs.inputs import GivenInput, RunInput
from matins.domain.runs.outlook import Outlook, RunHolder
from matins.domain.runs.output import TeamOutput
from matins.domain.runs.recent import RecentRun, RecentRuns
from matins.domain.runs.replays import Replay, ReplayDead, ReplayState
from matins.domain.runs.restores import Restore, Resumed, Resumption
from matins.domain.runs.states import RunState
from matins.domain.schedules.after_jobs import AfterJobs
from matins.domain.schedules.cron.clock_changes import ClockChanges
from matins.domain.schedules.schedule import Override, Schedule, Times
from matins.domain.status.facts import LiveRuns, PoolStatus
from matins.domain.status.findings import Finding, FindingKind, SystemStatus
from matins.domain.values.errors import (
    ConflictError,
    InvalidInputError,
    MatinsError,
    NotFoundError,
    Problem,
    ScheduleError,
    UnauthorizedError,
    UnavailableError,
)
from matins.domain.views import (
    AttemptRecord,
    AuditPage,
    CalendarChanged,
    CalendarRecord,
    Changed,
    DueTime,
    ExecutorRecord,
    JobAudit,
    JobPage,
    PartitionRecord,
    Preview,
    RevisionPage,
    RevisionRecord,
    Run,
    RunPage,
    SignInLink,
    UnreadableJob,
    WindowChanged,
    WindowRecord,
)
from matins.insight.forecast.forecast import Forecast, Peak, Share
from matins.insight.why.explanation import Explanation, Standing, Step

__all__ = [
    "AfterJobs",
    "Alert",
    "AlertPage",
    "AlertRule",
    "AlertRules",
    "AlertRulesChanged",
    "AttemptProgress",
    "AttemptRecord",
    "AuditPage",
    "Backfill",
    "BackfillCounts",
    "BackfillPlan",
    "BackfillRequest",
    "BackfillStarted",
    "BackfillState",
    "Backoff",
    "Calendar",
    "CalendarChanged",
    "CalendarItem",
    "CalendarRecord",
    "ChangeSince",
    "Changed",
    "Channel",
    "ChannelChanged",
    "ChannelNotice",
    "ChannelRecord",
    "CheckinRecord",
    "CheckinTarget",
    "CheckinToken",
    "ClockChanges",
    "ClosedDay",
    "Cluster",
    "CommandTarget",
    "Concurrency",
    "ConflictError",
    "DeadCounts",
    "DeadFilter",
    "DeadGroup",
    "DeadLetter",
    "DeadPage",
    "Delivery",
    "DismissDead",
    "Dismissed",
    "DueTime",
    "ExecutorRecord",
    "Explanation",
    "Finding",
    "FindingKind",
    "Forecast",
    "GivenInput",
    "Holidays",
    "HttpTarget",
    "InvalidInputError",
    "Job",
    "JobAlerts",
    "JobAudit",
    "JobOutcome",
    "JobPage",
    "JobSpec",
    "JobState",
    "Keep",
    "KeepLimits",
    "LastSuccess",
    "LeftOut",
    "Limit",
    "LimitChanged",
    "LimitRecord",
    "LiveRuns",
    "Matins",
    "MatinsError",
    "Misfire",
    "NotFoundError",
    "Notice",
    "Outlook",
    "OutputNotice",
    "OutputText",
    "Overlap",
    "Override",
    "PartitionRecord",
    "Pause",
    "Peak",
    "PoolStatus",
    "Preview",
    "Problem",
    "Quota",
    "Quotas",
    "QuotasChanged",
    "QuotasRecord",
    "RecentRun",
    "RecentRuns",
    "Replay",
    "ReplayDead",
    "ReplayState",
    "Restore",
    "Resumed",
    "Resumption",
    "RetryPolicy",
    "RevisionPage",
    "RevisionRecord",
    "Run",
    "RunEnd",
    "RunFailure",
    "RunHolder",
    "RunInput",
    "RunPage",
    "RunState",
    "RunStatus",
    "Schedule",
    "ScheduleError",
    "SchedulerRecord",
    "SelectionChanged",
    "Share",
    "SignInLink",
    "Standing",
    "Step",
    "SystemStatus",
    "Target",
    "TeamOutput",
    "TeamRecord",
    "TeamShare",
    "Times",
    "Try",
    "Turn",
    "UnauthorizedError",
    "UnavailableError",
    "UnreachableError",
    "UnreadableJob",
    "Window",
    "WindowChanged",
    "WindowRecord",
]
