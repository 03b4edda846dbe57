-- Days that are over move, as whole tables, out of `runs` and `attempts` to parents of their own.
-- Who claims, hands out and records names the small parents, so nothing of that grows with history.

CREATE TABLE past_runs (LIKE runs INCLUDING ALL) PARTITION BY RANGE (due_at);
CREATE TABLE past_attempts (LIKE attempts INCLUDING ALL) PARTITION BY RANGE (due_at);

-- For lists. Rows here change no more, so an index on `state` costs no update anything.
CREATE INDEX past_runs_state ON past_runs (state, id) WHERE state <> 'succeeded';
CREATE INDEX past_runs_team ON past_runs (team_id, id);

-- For lists of a team; the tables of days that are there already get it when they move.
CREATE INDEX runs_team ON ONLY runs (team_id, id);
CREATE INDEX dead_letters_of_team ON dead_letters (team_id, run_id);

CREATE VIEW all_runs AS
SELECT * FROM runs
UNION ALL
SELECT * FROM past_runs;

CREATE VIEW all_attempts AS
SELECT * FROM attempts
UNION ALL
SELECT * FROM past_attempts;

-- An API of the version before looks for all days in `runs`: for an hour nothing moves, if there is
-- anything yet.
CREATE TABLE history (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    moves_from timestamptz NOT NULL
);

INSERT INTO history (moves_from)
SELECT CASE WHEN EXISTS (SELECT FROM runs) THEN clock_timestamp() + interval '1 hour'
            ELSE timestamptz 'epoch' END;

-- The days that have tables, of either kind.
CREATE TABLE days (day date PRIMARY KEY);

INSERT INTO days (day)
SELECT to_date(right(c.relname, 8), 'YYYYMMDD')
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'runs'::regclass;

CREATE FUNCTION day_table(kind text, day date) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT kind || '_' || to_char(day, 'YYYYMMDD')
$$;

-- Make a day's tables part of `runs` and `attempts`, whether they are missing or were moved away:
-- whoever is to write rows there finds them, and what has its row there already. Returns whether
-- anything was done.
-- A table is made apart and then attached, since that does not lock out those who read and write
-- meanwhile; by its CHECK it is attached anywhere without being read.
CREATE OR REPLACE FUNCTION ensure_day(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    kind text;
    child text;
    parent regclass;
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    past timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
    made boolean := false;
BEGIN
    -- both are looked for: one alone may have been dropped
    IF (
        SELECT count(*)
        FROM unnest(ARRAY['runs', 'attempts']) AS kinds (name)
        JOIN pg_inherits ON inhrelid = to_regclass(day_table(name, day))
                        AND inhparent = name::regclass
    ) = 2 THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('matins.ensure_day'));
    FOREACH kind IN ARRAY ARRAY['runs', 'attempts'] LOOP
        child := day_table(kind, day);
        SELECT inhparent INTO parent FROM pg_inherits WHERE inhrelid = to_regclass(child);
        IF parent = kind::regclass THEN
            CONTINUE;
        END IF;
        -- in the order in which readers lock them
        EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', kind);
        IF parent IS NOT NULL THEN
            EXECUTE format('ALTER TABLE %s DETACH PARTITION %I', parent, child);
        ELSIF to_regclass(child) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %I (LIKE %I INCLUDING ALL, CONSTRAINT day'
                ' CHECK (due_at >= %L AND due_at < %L)) WITH (fillfactor = %s)',
                child, kind, first, past, CASE kind WHEN 'runs' THEN 55 ELSE 100 END
            );
        END IF;
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            kind, child, first, past
        );
        made := true;
    END LOOP;
    INSERT INTO days (day) VALUES (day) ON CONFLICT DO NOTHING;
    RETURN made;
END
$$;

-- Whether anything of a day is not over: a run, or a due time that follows the end of one.
CREATE FUNCTION day_is_open(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    past timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
    is_open boolean;
BEGIN
    EXECUTE format(
        'SELECT EXISTS (SELECT FROM %I WHERE state IN (''queued'', ''running'', ''retrying''))',
        day_table('runs', day)
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

-- Give the tables of a day the CHECK of their bounds, unread, where a version before made them.
CREATE FUNCTION bound_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    child text;
BEGIN
    FOREACH child IN ARRAY ARRAY[day_table('runs', day), day_table('attempts', day)] LOOP
        IF NOT EXISTS (
            SELECT FROM pg_constraint WHERE conrelid = to_regclass(child) AND conname = 'day'
        ) THEN
            EXECUTE format(
                'ALTER TABLE %I ADD CONSTRAINT day CHECK (due_at >= %L AND due_at < %L) NOT VALID',
                child, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC'
            );
        END IF;
    END LOOP;
END
$$;

-- Move a day's tables to `past_runs` and `past_attempts`, unless something of it is not over.
-- Nothing is read for it, if they have the CHECK and the indexes of those parents already.
-- Both parents are locked for some milliseconds: call it with a short lock_timeout.
CREATE FUNCTION retire_day(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    kind text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('matins.ensure_day'));
    LOCK TABLE runs, attempts IN ACCESS EXCLUSIVE MODE;
    IF day_is_open(day) THEN
        RETURN false;
    END IF;
    FOREACH kind IN ARRAY ARRAY['runs', 'attempts'] LOOP
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', kind, day_table(kind, day));
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            'past_' || kind, day_table(kind, day), day::timestamp AT TIME ZONE 'UTC',
            (day + 1)::timestamp AT TIME ZONE 'UTC'
        );
    END LOOP;
    RETURN true;
END
$$;
