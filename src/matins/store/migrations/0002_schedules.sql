-- What decides about due times besides the schedule itself; calendars; maintenance windows.
-- All of it can be missing in rows that the version before writes during a roll-out.

-- `since`: when the schedule was set; null: with the job. `calendars`: the versions that it follows.
ALTER TABLE jobs
    ADD COLUMN since timestamptz,
    ADD COLUMN exemptions jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN calendars integer[] NOT NULL DEFAULT '{}';

ALTER TABLE revisions
    ADD COLUMN since timestamptz,
    ADD COLUMN exemptions jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN calendars integer[] NOT NULL DEFAULT '{}';

CREATE INDEX jobs_calendars ON jobs USING gin (calendars) WHERE calendars <> '{}';

-- The due time of the run whose end the job's next due time follows; null: none follows any end.
ALTER TABLE jobs ADD COLUMN follows timestamptz;

CREATE INDEX jobs_following ON jobs (partition, follows)
    WHERE state = 'active' AND follows IS NOT NULL;

-- Jobs that are deleted some time after their last run.
CREATE INDEX jobs_passing ON jobs (id)
    WHERE state = 'active' AND next_due_at IS NULL AND schedule ? 'delete_after';

-- A row is one version and never changes, but that it is replaced: schedulers keep it in memory.
-- `resolved` is `written` with its public holidays and iCalendar texts worked out.
CREATE TABLE calendars (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id integer NOT NULL REFERENCES teams,
    name text NOT NULL,
    written jsonb NOT NULL,
    resolved jsonb NOT NULL,
    made_at timestamptz NOT NULL,
    -- when that was worked out last, if not with the row
    resolved_at timestamptz,
    replaced_at timestamptz
);

CREATE UNIQUE INDEX calendars_name ON calendars (team_id, name) WHERE replaced_at IS NULL;

-- Windows in which a team's runs are held back or skipped: all of them, or those whose jobs have
-- the labels. Claims look here, so that a window holds from the moment it was acknowledged.
-- `reason` is what the runs' rows say. A window that begins to mean other jobs is another row.
CREATE TABLE windows (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id integer NOT NULL REFERENCES teams,
    name text NOT NULL,
    policy text NOT NULL CHECK (policy IN ('hold', 'skip')),
    labels jsonb NOT NULL DEFAULT '{}',
    starts_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    why text NOT NULL DEFAULT '',
    reason text NOT NULL,
    made_at timestamptz NOT NULL,
    CHECK (starts_at < ends_at),
    UNIQUE (team_id, name)
);

CREATE INDEX windows_ends ON windows (ends_at);
CREATE INDEX windows_team ON windows (team_id, ends_at);

-- A run that is held waits here as well, in state `queued`, until its window ends.
ALTER TABLE retries ADD COLUMN held_by integer;

CREATE INDEX retries_held ON retries (held_by, retry_at) WHERE held_by IS NOT NULL;
CREATE INDEX retries_held_run ON retries (run_id) WHERE held_by IS NOT NULL;

-- The zone data with which next due times were computed last.
CREATE TABLE zone_data (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version text NOT NULL,
    computed_at timestamptz NOT NULL
);
