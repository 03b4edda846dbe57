-- A day that several make at once. Who waits for an advisory lock is not told what became of
-- catalogs meanwhile; who locks a table is. And what a transaction has changed is seen a moment
-- before others are told that it has: so who finds a day made waits until its maker has let go.
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
        PERFORM pg_advisory_xact_lock_shared(hashtext('matins.day'), day - date '2000-01-01');
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('matins.ensure_day'));
    PERFORM pg_advisory_xact_lock(hashtext('matins.day'), day - date '2000-01-01');
    -- in the order in which readers lock them
    LOCK TABLE ONLY runs, ONLY attempts IN SHARE UPDATE EXCLUSIVE MODE;
    FOREACH kind IN ARRAY ARRAY['runs', 'attempts'] LOOP
        child := day_table(kind, day);
        SELECT inhparent INTO parent FROM pg_inherits WHERE inhrelid = to_regclass(child);
        IF parent = kind::regclass THEN
            CONTINUE;
        ELSIF parent IS NOT NULL THEN
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
