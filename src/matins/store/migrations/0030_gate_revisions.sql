-- Who passes a gate is decided by admission, from what it has looked up. `revision` tells whether that
-- still holds: each permit that is granted raises it, and each change of the limits. A permit that is
-- given back does not: it only makes room.
ALTER TABLE gates ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- Who grants a permit has locked its gate: the check of each would cost a third of an admission.
ALTER TABLE permits DROP CONSTRAINT permits_gate_id_fkey;

DROP TRIGGER permits_given_back ON permits;
DROP FUNCTION tell_of_room, pass_gates, gate_reason, gates_of, gate_room, rate_begin;
DROP TYPE asked_run;

-- Give back what runs hold, and tell where somebody waits for it. VOLATILE, so that each query in it sees
-- what was committed before the locks were granted. Under the same locks runs line up: so either they
-- are seen here, or they see here what was given back.
CREATE OR REPLACE FUNCTION give_back(run_ids uuid[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    roomy bigint[];
BEGIN
    IF run_ids = '{}' THEN
        RETURN;
    END IF;
    PERFORM FROM gates
    WHERE id IN (SELECT gate_id FROM permits WHERE run_id = ANY (run_ids))
    ORDER BY id
    FOR NO KEY UPDATE;
    WITH given_back AS (
        DELETE FROM permits WHERE run_id = ANY (run_ids) RETURNING gate_id
    )
    SELECT array_agg(DISTINCT gate_id) INTO roomy FROM given_back;
    PERFORM pg_notify('matins_admission', 'gate:' || id)
    FROM unnest(roomy) AS id
    WHERE EXISTS (SELECT FROM waiting WHERE gate_id = id);
END
$$;

-- The limits of a job's spec are written to its gates; `gates` are those that it is in. A key has the
-- lowest limit of the jobs that name it, and their lowest rate: by jobs_key_limit and jobs_key_rate. What
-- of the job has begun holds permits from now on. Runs are locked before gates, as by those who
-- record ends, and gates in the order of their ids.
CREATE OR REPLACE FUNCTION enter_gates() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted text := NEW.spec #>> '{concurrency,key}';
    keys text[] := array[wanted];
    is_limited boolean := NEW.spec ? 'max_running' OR NEW.spec ? 'rate';
    former bigint[] := '{}';
    begun uuid[] := '{}';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        former := OLD.gates;
        keys := keys || (OLD.spec #>> '{concurrency,key}');
    END IF;
    INSERT INTO gates (team_id, kind, name)
    SELECT NEW.team_id, kind, name
    FROM (VALUES ('key', wanted), ('job', CASE WHEN is_limited THEN NEW.id::text END))
        AS g (kind, name)
    WHERE name IS NOT NULL
    ON CONFLICT DO NOTHING;
    NEW.gates := array(
        SELECT id
        FROM gates
        WHERE team_id = NEW.team_id
          AND (kind = 'key' AND name = wanted OR is_limited AND kind = 'job' AND name = NEW.id::text)
        ORDER BY id
    );
    IF TG_OP = 'UPDATE' AND NOT NEW.gates <@ former THEN
        WITH held AS (
            UPDATE runs
            SET holds_permits = true
            WHERE job_id = NEW.id AND state IN ('queued', 'running')
            RETURNING id
        )
        SELECT coalesce(array_agg(id), '{}') INTO begun FROM held;
    END IF;
    PERFORM FROM gates
    WHERE team_id = NEW.team_id
      AND (kind = 'job' AND name = NEW.id::text OR kind = 'key' AND name = ANY (keys))
    ORDER BY id
    FOR UPDATE;
    UPDATE gates
    SET own_limit = (NEW.spec ->> 'max_running')::integer, own_rate = NEW.spec ->> 'rate',
        revision = revision + 1
    WHERE team_id = NEW.team_id AND kind = 'job' AND name = NEW.id::text;
    UPDATE gates g
    SET own_limit = least(
            lowest.run_limit, CASE WHEN is_in THEN (NEW.spec #>> '{concurrency,limit}')::integer END
        ),
        own_rate = (
            SELECT rate
            FROM (
                SELECT lowest.rate
                UNION ALL
                SELECT NEW.spec #>> '{concurrency,rate}' WHERE is_in
            ) AS rates
            WHERE rate IS NOT NULL
            ORDER BY rate_spacing(rate) DESC
            LIMIT 1
        ),
        revision = revision + 1
    FROM (
        SELECT key, NEW.state <> 'deleted' AND key IS NOT DISTINCT FROM wanted AS is_in, (
            SELECT (j.spec #>> '{concurrency,limit}')::integer
            FROM jobs j
            WHERE j.team_id = NEW.team_id AND j.spec #>> '{concurrency,key}' = key
              AND j.state <> 'deleted' AND j.id <> NEW.id
              AND (j.spec #>> '{concurrency,limit}')::integer IS NOT NULL
            ORDER BY (j.spec #>> '{concurrency,limit}')::integer
            LIMIT 1
        ) AS run_limit, (
            SELECT j.spec #>> '{concurrency,rate}'
            FROM jobs j
            WHERE j.team_id = NEW.team_id AND j.spec #>> '{concurrency,key}' = key
              AND j.state <> 'deleted' AND j.id <> NEW.id
              AND rate_spacing(j.spec #>> '{concurrency,rate}') IS NOT NULL
            ORDER BY rate_spacing(j.spec #>> '{concurrency,rate}') DESC
            LIMIT 1
        ) AS rate
        FROM unnest(keys) AS key
        WHERE key IS NOT NULL
    ) AS lowest
    WHERE g.team_id = NEW.team_id AND g.kind = 'key' AND g.name = lowest.key;
    INSERT INTO permits (gate_id, run_id, due_at)
    SELECT gate_id, run_id, run_due_at(run_id)
    FROM unnest(NEW.gates) AS gate_id, unnest(begun) AS run_id
    ON CONFLICT DO NOTHING;
    RETURN NEW;
END
$$;
