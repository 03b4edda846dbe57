-- What is too old is purged: days as whole tables, and single rows where a job or team keeps less.

-- `keep_days`: the longest that `keep` says; the index finds the longest of all, and that none is.
ALTER TABLE jobs ADD COLUMN keep jsonb, ADD COLUMN keep_days integer;
ALTER TABLE teams ADD COLUMN keep jsonb;

CREATE INDEX jobs_keep ON jobs (keep_days) WHERE keep_days IS NOT NULL;

-- The few rows that outlive the table of their day: of open dead letters, and of jobs whose runs are
-- counted from the first one on.
CREATE TABLE kept_runs (LIKE past_runs INCLUDING ALL);
CREATE INDEX kept_runs_due ON kept_runs (due_at);
CREATE TABLE kept_attempts (LIKE past_attempts INCLUDING ALL);

CREATE OR REPLACE VIEW all_runs AS
SELECT * FROM runs
UNION ALL
SELECT * FROM past_runs
UNION ALL
SELECT * FROM kept_runs;

CREATE OR REPLACE VIEW all_attempts AS
SELECT * FROM attempts
UNION ALL
SELECT * FROM past_attempts
UNION ALL
SELECT * FROM kept_attempts;

-- Up to when rows of a job were purged one by one.
CREATE TABLE purges (
    job_id uuid PRIMARY KEY,
    succeeded_until timestamptz NOT NULL,
    others_until timestamptz NOT NULL
);

-- `dropped_until`: days before it are gone. `walked_to`, `walk_began_at`: the walk over all jobs that
-- purges single rows, once a day. `revisions_until`: what was replaced before it is gone.
ALTER TABLE history
    ADD COLUMN dropped_until timestamptz,
    ADD COLUMN walked_to uuid,
    ADD COLUMN walk_began_at timestamptz,
    ADD COLUMN revisions_until timestamptz;

-- Drop a day's tables, but for what outlives them. The past tables are locked for some
-- milliseconds at the end: call it with a short lock_timeout.
CREATE FUNCTION drop_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    kind text;
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    past timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('matins.ensure_day'));
    EXECUTE format(
        'INSERT INTO kept_runs SELECT r.* FROM past_runs r'
        ' WHERE r.due_at >= %1$L AND r.due_at < %2$L AND ('
        '     r.state = ''dead'' AND EXISTS (SELECT FROM dead_letters d WHERE d.run_id = r.id)'
        '     OR r.job_id = ANY (ARRAY(SELECT id FROM jobs WHERE counts_runs(schedule, state)))'
        ' ) ON CONFLICT DO NOTHING', first, past
    );
    EXECUTE format(
        'INSERT INTO kept_attempts SELECT a.* FROM past_attempts a'
        ' JOIN kept_runs k ON k.id = a.run_id AND k.due_at = a.due_at'
        ' WHERE a.due_at >= %1$L AND a.due_at < %2$L AND k.due_at >= %1$L AND k.due_at < %2$L'
        ' ON CONFLICT DO NOTHING', first, past
    );
    FOREACH kind IN ARRAY ARRAY['runs', 'attempts'] LOOP
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', 'past_' || kind, day_table(kind, day));
        EXECUTE format('DROP TABLE %I', day_table(kind, day));
    END LOOP;
    DELETE FROM days WHERE days.day = drop_day.day;
    UPDATE history SET dropped_until = greatest(dropped_until, past);
END
$$;

-- Whether all runs of a job count, however old: `max_runs` of what follows the ends of runs.
CREATE FUNCTION counts_runs(schedule jsonb, state text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(schedule ?& ARRAY['after', 'max_runs'], false) AND state <> 'deleted'
$$;
