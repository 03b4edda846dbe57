-- The first schema. Times come from statements, never from column defaults (rule 5 of the design).

CREATE TABLE teams (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL
);

-- `next_due_at` is written a little after the claim (`advance`): what lies before it is accounted
-- for; what lies at or after it may be claimed already. Null: nothing more will be due.
CREATE TABLE jobs (
    id uuid PRIMARY KEY,
    team_id integer NOT NULL REFERENCES teams,
    partition smallint NOT NULL CHECK (partition BETWEEN 0 AND 255),
    name text NOT NULL,
    revision integer NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'paused', 'quarantined', 'deleted')),
    reason text NOT NULL DEFAULT '',
    spec jsonb NOT NULL,
    -- copied out of spec, so that a scheduler loads no more than it needs
    schedule jsonb,
    misfire jsonb NOT NULL,
    pool text NOT NULL,
    priority smallint NOT NULL,
    anchor timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    next_due_at timestamptz,
    next_fire_at timestamptz,
    CHECK ((next_due_at IS NULL) = (next_fire_at IS NULL)),
    CHECK (state = 'active' OR next_due_at IS NULL)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX jobs_name ON jobs (team_id, name) WHERE state <> 'deleted';
CREATE INDEX jobs_due ON jobs (partition, next_fire_at) WHERE next_fire_at IS NOT NULL;

-- What a job was, and from when on: a due time belongs to the last revision that began before it.
CREATE TABLE revisions (
    job_id uuid NOT NULL REFERENCES jobs,
    revision integer NOT NULL,
    partition smallint NOT NULL,
    effective_at timestamptz NOT NULL,
    state text NOT NULL,
    anchor timestamptz NOT NULL,
    spec jsonb NOT NULL,
    PRIMARY KEY (job_id, revision)
);

CREATE INDEX revisions_changed ON revisions (effective_at);

CREATE TABLE partitions (
    partition smallint PRIMARY KEY CHECK (partition BETWEEN 0 AND 255),
    epoch bigint NOT NULL DEFAULT 0,
    holder uuid,
    expires_at timestamptz,
    -- all fire times up to here have their rows
    watermark timestamptz
) WITH (fillfactor = 50);

INSERT INTO partitions (partition) SELECT generate_series(0, 255);

CREATE TABLE schedulers (
    id uuid PRIMARY KEY,
    renewed_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- A run's id holds its due time in its first 48 bits: a lookup by id touches one day.
-- `attempt` is the number of the current or last attempt, `executor` who has it.
-- A skipped row may stand for `due_count` due times in a row, the last of them `due_until`.
CREATE TABLE runs (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    fire_at timestamptz NOT NULL,
    claimed_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    retry_at timestamptz,
    cancel_at timestamptz,
    due_until timestamptz,
    executor uuid,
    epoch bigint NOT NULL,
    team_id integer NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    lost_count integer NOT NULL DEFAULT 0,
    due_count integer NOT NULL DEFAULT 1,
    partition smallint NOT NULL,
    priority smallint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('scheduled', 'manual', 'backfill', 'chained')),
    state text NOT NULL CHECK (
        state IN ('queued', 'running', 'retrying', 'succeeded', 'dead', 'cancelled', 'skipped')
    ),
    pool text NOT NULL,
    reason text NOT NULL DEFAULT '',
    UNIQUE (job_id, due_at, kind),
    CHECK (
        (state IN ('succeeded', 'dead', 'cancelled', 'skipped')) = (finished_at IS NOT NULL)
    ),
    CHECK ((state = 'running') <= (executor IS NOT NULL)),
    CHECK ((state = 'retrying') = (retry_at IS NOT NULL))
) PARTITION BY RANGE (due_at);

CREATE INDEX runs_id ON runs (id);

-- The ended attempts of a run; the one that runs now stands in its run's row.
CREATE TABLE attempts (
    run_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    number integer NOT NULL,
    executor uuid NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    outcome text NOT NULL CHECK (
        outcome IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled')
    ),
    reason text NOT NULL,
    exit_code integer,
    http_status integer,
    output text NOT NULL,
    output_cut bigint NOT NULL,
    PRIMARY KEY (run_id, number, due_at)
) PARTITION BY RANGE (due_at);

-- The dispatch queue. `rank` orders what waits within a pool and priority class; smaller is first.
CREATE TABLE dispatch (
    pool text NOT NULL,
    priority smallint NOT NULL,
    rank bigint NOT NULL,
    run_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (pool, priority, rank, run_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- The runs that wait for their next attempt.
CREATE TABLE retries (
    partition smallint NOT NULL,
    retry_at timestamptz NOT NULL,
    run_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (partition, retry_at, run_id)
);

CREATE TABLE executors (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    pools text[] NOT NULL,
    slots integer NOT NULL,
    partition smallint NOT NULL,
    first_beat_at timestamptz NOT NULL,
    beat_at timestamptz NOT NULL,
    -- all polls with a lower number are done with: a take for one that comes late gets nothing
    first_seq bigint NOT NULL,
    -- declared lost, or stopped in good order: it gets nothing more, and what it held is taken back
    ended_at timestamptz,
    stopped boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

-- One row a poll that got something, and an empty one for a closed poll while an older one is open: it makes a repeated poll give the same answer, and tells what an executor holds, at a price per
-- poll and not per run.
CREATE TABLE handouts (
    executor uuid NOT NULL,
    seq bigint NOT NULL,
    handed_at timestamptz NOT NULL,
    run_ids uuid[] NOT NULL,
    PRIMARY KEY (executor, seq)
);

CREATE TABLE dead_letters (
    run_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    job_id uuid NOT NULL,
    team_id integer NOT NULL,
    dead_at timestamptz NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (run_id)
);

CREATE INDEX dead_letters_team ON dead_letters (team_id, dead_at);

-- Runs and attempts are kept in one table a day (UTC): pruning by due time, retention by DROP.
-- Made apart and then attached, since that does not lock out those who read and write meanwhile.
CREATE FUNCTION ensure_day(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    child text;
    made boolean := false;
BEGIN
    IF to_regclass('attempts_' || to_char(day, 'YYYYMMDD')) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('matins.ensure_day'));
    FOREACH parent IN ARRAY ARRAY['runs', 'attempts'] LOOP
        child := parent || '_' || to_char(day, 'YYYYMMDD');
        IF to_regclass(child) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (fillfactor = %s)',
                child, parent, CASE parent WHEN 'runs' THEN 55 ELSE 100 END
            );
            EXECUTE format(
                'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                parent, child, day::timestamp AT TIME ZONE 'UTC',
                (day + 1)::timestamp AT TIME ZONE 'UTC'
            );
            made := true;
        END IF;
    END LOOP;
    RETURN made;
END
$$;

-- The due time in a run's id (see domain/values/ids.py): 48 bits of milliseconds since 1970.
CREATE FUNCTION run_due_at(run_id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT timestamptz 'epoch'
        + ('x0000' || left(replace(run_id::text, '-', ''), 12))::bit(64)::bigint
        * interval '1 millisecond'
$$;
