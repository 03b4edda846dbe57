-- What targets say of themselves, and their output where a team keeps all of it.

-- Results of attempts: what a command set by `::set key=value`.
ALTER TABLE attempts ADD COLUMN results jsonb;
ALTER TABLE past_attempts ADD COLUMN results jsonb;
ALTER TABLE kept_attempts ADD COLUMN results jsonb;
CREATE OR REPLACE VIEW all_attempts AS
SELECT * FROM attempts
UNION ALL
SELECT * FROM past_attempts
UNION ALL
SELECT * FROM kept_attempts;

-- How much is kept of the output of its attempts; NULL: head and tail.
ALTER TABLE teams ADD COLUMN output jsonb;

-- Whole outputs, in chunks: `begins` and `length` in characters, `packed` by zlib. Cut by days as
-- runs are, but a day has a table only once something of it is kept, and it never moves.
CREATE TABLE outputs (
    run_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    number integer NOT NULL,
    begins bigint NOT NULL,
    length integer NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (run_id, number, begins, due_at)
) PARTITION BY RANGE (due_at);

ALTER TABLE outputs ALTER COLUMN packed SET STORAGE EXTERNAL;  -- it can't be compressed twice

-- Make the table of a day, unless the day was dropped. It is made apart and attached, as those of
-- runs are, so that nobody is locked out.
CREATE FUNCTION ensure_output_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    child text := day_table('outputs', day);
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    past timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('matins.ensure_day'));
    IF to_regclass(child) IS NOT NULL
        OR NOT EXISTS (SELECT FROM days WHERE days.day = ensure_output_day.day)
    THEN
        RETURN;
    END IF;
    LOCK TABLE outputs IN SHARE UPDATE EXCLUSIVE MODE;
    EXECUTE format(
        'CREATE TABLE %I (LIKE outputs INCLUDING ALL, CONSTRAINT day'
        ' CHECK (due_at >= %L AND due_at < %L))', child, first, past
    );
    EXECUTE format(
        'ALTER TABLE outputs ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', child, first, past
    );
END
$$;

-- As before, and with what was kept of the day's output.
CREATE OR REPLACE FUNCTION drop_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    kind text;
    first timestamptz := day::timestamp AT TIME ZONE 'UTC';
    past timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('matins.ensure_day'));
    EXECUTE format(
        'INSERT INTO kept_runs SELECT r.* FROM past_runs r'
        ' WHERE r.due_at >= %1$L AND r.due_at < %2$L AND ('
        '     r.state = ''dead'' AND EXISTS ('
        '         SELECT FROM dead_letters d WHERE d.run_id = r.id AND d.dismissed_at IS NULL'
        '     )'
        '     OR r.job_id = ANY (ARRAY(SELECT id FROM jobs WHERE counts_runs(schedule, state)))'
        ' ) ON CONFLICT DO NOTHING', first, past
    );
    EXECUTE format(
        'INSERT INTO kept_attempts SELECT a.* FROM past_attempts a'
        ' JOIN kept_runs k ON k.id = a.run_id AND k.due_at = a.due_at'
        ' WHERE a.due_at >= %1$L AND a.due_at < %2$L AND k.due_at >= %1$L AND k.due_at < %2$L'
        ' ON CONFLICT DO NOTHING', first, past
    );
    EXECUTE format(
        'DELETE FROM dead_letters d USING past_runs r'
        ' WHERE r.due_at >= %1$L AND r.due_at < %2$L AND r.state = ''dead'' AND d.run_id = r.id'
        '   AND d.dismissed_at IS NOT NULL'
        '   AND NOT EXISTS (SELECT FROM kept_runs k WHERE k.id = r.id AND k.due_at = r.due_at)',
        first, past
    );
    FOREACH kind IN ARRAY ARRAY['runs', 'attempts'] LOOP
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', 'past_' || kind, day_table(kind, day));
        EXECUTE format('DROP TABLE %I', day_table(kind, day));
    END LOOP;
    IF to_regclass(day_table('outputs', day)) IS NOT NULL THEN
        EXECUTE format('ALTER TABLE outputs DETACH PARTITION %I', day_table('outputs', day));
        EXECUTE format('DROP TABLE %I', day_table('outputs', day));
    END IF;
    DELETE FROM days WHERE days.day = drop_day.day;
    UPDATE history SET dropped_until = greatest(dropped_until, past);
END
$$;
