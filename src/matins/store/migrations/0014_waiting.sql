-- One waiting room for all runs that may not start yet, each with its cause. A run that a window holds
-- is in state `waiting` from now on. Processes of the version before do not know that: stop them
-- first.

-- `cause`: 'retry', for a run in state `retrying`; 'claim', for one that was claimed a moment ago; else
-- the member of admission that holds it. `blocker`: what that is called. `asked`: the revision of the
-- team's rules by which it was found.
DROP INDEX retries_held, retries_held_run;
ALTER TABLE retries RENAME TO waiting;
ALTER INDEX retries_pkey RENAME TO waiting_pkey;
ALTER TABLE waiting RENAME COLUMN retry_at TO ready_at;
ALTER TABLE waiting
    ADD COLUMN team_id integer,
    ADD COLUMN cause text NOT NULL DEFAULT 'retry',
    ADD COLUMN blocker text,
    ADD COLUMN asked bigint;

UPDATE waiting w
SET team_id = r.team_id,
    cause = CASE WHEN w.held_by IS NULL THEN 'retry' ELSE 'window' END,
    blocker = (SELECT name FROM windows WHERE id = w.held_by),
    asked = CASE WHEN w.held_by IS NOT NULL THEN 0 END
FROM runs r
WHERE r.id = w.run_id AND r.due_at = w.due_at;

ALTER TABLE waiting DROP COLUMN held_by, ALTER COLUMN cause DROP DEFAULT;

CREATE INDEX waiting_run ON waiting (run_id) WHERE cause <> 'retry';
CREATE INDEX waiting_asked ON waiting (team_id, asked) WHERE asked IS NOT NULL;

-- What the row of a run says of a window is made from the window.
ALTER TABLE windows DROP COLUMN reason;

-- Rises with each change of what might hold a team's runs. Whoever admits them says by which one.
ALTER TABLE teams ADD COLUMN rules_revision bigint NOT NULL DEFAULT 0;

-- Not validated, as that would read all of history: each row was checked against less.
ALTER TABLE runs DROP CONSTRAINT runs_state_check;
ALTER TABLE past_runs DROP CONSTRAINT runs_state_check;
ALTER TABLE kept_runs DROP CONSTRAINT runs_state_check;
ALTER TABLE runs ADD CONSTRAINT runs_state_check CHECK (
    state IN (
        'waiting', 'queued', 'running', 'retrying', 'succeeded', 'dead', 'cancelled', 'skipped'
    )
) NOT VALID;
ALTER TABLE past_runs ADD CONSTRAINT runs_state_check CHECK (
    state IN (
        'waiting', 'queued', 'running', 'retrying', 'succeeded', 'dead', 'cancelled', 'skipped'
    )
) NOT VALID;
ALTER TABLE kept_runs ADD CONSTRAINT runs_state_check CHECK (
    state IN (
        'waiting', 'queued', 'running', 'retrying', 'succeeded', 'dead', 'cancelled', 'skipped'
    )
) NOT VALID;

UPDATE runs r
SET state = 'waiting', retry_at = NULL
FROM waiting w
WHERE w.cause = 'window' AND r.id = w.run_id AND r.due_at = w.due_at
  AND r.state IN ('queued', 'retrying');

-- Whether anything of a day is not over: a run, or a due time that follows the end of one.
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
