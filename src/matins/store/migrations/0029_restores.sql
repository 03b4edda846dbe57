-- Restores from a backup that schedulers have noticed: see `domain/runs/restores.py`.
CREATE TABLE restores (
    noticed_at timestamptz PRIMARY KEY,
    lost_since timestamptz NOT NULL,
    seen_until timestamptz NOT NULL,
    resolved_at timestamptz
);

-- Two schedulers that notice the same restore write one row.
CREATE UNIQUE INDEX restores_unresolved ON restores ((true)) WHERE resolved_at IS NULL;

-- A day is open, too, while it has due times about which an operator is to decide.
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
        SELECT
        FROM restores
        WHERE resolved_at IS NULL AND lost_since - interval '1 day' < past AND seen_until >= first
    ) OR EXISTS (
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
