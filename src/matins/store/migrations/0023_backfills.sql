-- Backfills: past due times of a job that are made up for. A job has one unfinished backfill at most.
-- `mark`: due times up to it are decided, all of them if it is `walked`. `step` rises with each step
-- of a scheduler and each deed of an owner: who believed another one changes nothing. `planned`: the
-- runs as they were counted when it was made. `rated_at`, `rated_ended`: from when on its pace is
-- measured, and how many runs had ended by then.
CREATE TABLE backfills (
    id uuid PRIMARY KEY,
    job_id uuid NOT NULL,
    team_id integer NOT NULL,
    partition smallint NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'paused', 'cancelled', 'done')),
    since timestamptz NOT NULL,
    until timestamptz NOT NULL,
    "order" text NOT NULL CHECK ("order" IN ('oldest', 'newest')),
    run_limit integer NOT NULL,
    again boolean NOT NULL,
    reason text NOT NULL,
    made_at timestamptz NOT NULL,
    finished_at timestamptz,
    mark timestamptz,
    walked boolean NOT NULL DEFAULT false,
    step bigint NOT NULL DEFAULT 0,
    planned integer NOT NULL,
    made integer NOT NULL DEFAULT 0,
    left_out integer NOT NULL DEFAULT 0,
    succeeded integer NOT NULL DEFAULT 0,
    dead integer NOT NULL DEFAULT 0,
    cancelled integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    rated_at timestamptz NOT NULL,
    rated_ended integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX backfills_unfinished ON backfills (job_id) WHERE finished_at IS NULL;
CREATE INDEX backfills_partition ON backfills (partition) WHERE finished_at IS NULL;
CREATE INDEX backfills_job ON backfills (job_id, made_at);
CREATE INDEX backfills_team ON backfills (team_id, made_at);
CREATE INDEX backfills_finished ON backfills (finished_at) WHERE finished_at IS NOT NULL;

-- The runs of backfills of which it is not noted yet that they have ended.
CREATE TABLE backfill_runs (
    backfill_id uuid NOT NULL REFERENCES backfills ON DELETE CASCADE,
    run_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (backfill_id, run_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE INDEX backfill_runs_due ON backfill_runs (due_at);

-- The due times that a backfill leaves out, and why: those in a row with the same reason as one row.
CREATE TABLE backfill_left_out (
    backfill_id uuid NOT NULL REFERENCES backfills ON DELETE CASCADE,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    due_count integer NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (backfill_id, first_at)
);

-- Whether anything of a day is not over: a run, what is noted of one by its backfill, the next runs
-- of a backfill, or a due time that follows the end of a run.
CREATE OR REPLACE FUNCTION day_is_open(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    past timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
    is_open boolean;
BEGIN
    EXECUTE format(
        'SELECT EXISTS (SELECT FROM %I WHERE finished_at IS NULL)', day_table('runs', day)
    ) INTO is_open;
    RETURN is_open OR EXISTS (
        SELECT FROM backfill_runs WHERE due_at >= first AND due_at < past
    ) OR EXISTS (
        SELECT
        FROM backfills
        WHERE finished_at IS NULL AND state = 'active' AND NOT walked
          AND mark >= first AND mark < past
    ) OR EXISTS (
        SELECT
        FROM generate_series(0, 255) AS p (partition)
        CROSS JOIN LATERAL (
            SELECT FROM jobs
            WHERE jobs.partition = p.partition AND state = 'active'
              AND follows >= first AND follows < past
            LIMIT 1
        ) AS j
    );
END
$$;
