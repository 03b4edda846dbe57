-- Dead letters: with the last error, its fingerprint, by which alike ones are found, and who dismissed
-- them, when and why. Those of a version before have the fingerprint `unknown`.
ALTER TABLE dead_letters
    ADD COLUMN error text NOT NULL DEFAULT '',
    ADD COLUMN fingerprint text NOT NULL DEFAULT 'unknown',
    ADD COLUMN dismissed_at timestamptz,
    ADD COLUMN dismissed_by text NOT NULL DEFAULT '',
    ADD COLUMN note text NOT NULL DEFAULT '';
UPDATE dead_letters SET error = reason;

-- No query goes by it so far.
DROP INDEX dead_letters_team;

-- The fingerprint of each attempt that failed.
ALTER TABLE attempts ADD COLUMN fingerprint text;
ALTER TABLE past_attempts ADD COLUMN fingerprint text;
ALTER TABLE kept_attempts ADD COLUMN fingerprint text;
CREATE OR REPLACE VIEW all_attempts AS
SELECT * FROM attempts
UNION ALL
SELECT * FROM past_attempts
UNION ALL
SELECT * FROM kept_attempts;

-- As before, but that a letter which was dismissed goes with its run.
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
    DELETE FROM days WHERE days.day = drop_day.day;
    UPDATE history SET dropped_until = greatest(dropped_until, past);
END
$$;

-- Replays of many dead letters, those that were there when it began. Letters of runs up to `mark` are
-- decided, and the rate is used up to `paced_at`. `step` rises with each step of a scheduler, and with
-- a cancel: who believed another one changes nothing.
CREATE TABLE replays (
    id uuid PRIMARY KEY,
    team_id integer NOT NULL,
    partition smallint NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'cancelled', 'done')),
    job text,
    fingerprint text,
    since timestamptz,
    until timestamptz NOT NULL,
    run_ids uuid[],
    rate text NOT NULL,
    made_at timestamptz NOT NULL,
    made_by text NOT NULL,
    finished_at timestamptz,
    planned integer NOT NULL,
    replayed integer NOT NULL DEFAULT 0,
    left_out integer NOT NULL DEFAULT 0,
    mark uuid,
    paced_at timestamptz NOT NULL,
    step bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE INDEX replays_partition ON replays (partition) WHERE finished_at IS NULL;
CREATE INDEX replays_team ON replays (team_id, made_at);
CREATE INDEX replays_finished ON replays (finished_at) WHERE finished_at IS NOT NULL;
