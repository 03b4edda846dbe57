-- Gates: limits of runs at once, and of starts in a time. A run in a gate holds a permit.

-- `kind` and `name`: 'key', a concurrency key of the team; 'job', the id of a job, for its own limits;
-- 'team', for its quotas. `set_limit` and `set_rate` are the team's word. Without it that of the jobs
-- counts, the lowest of them, or the operator's default: `own_limit` and `own_rate`. Where there is a
-- rate `minute_starts` are those of the minute `minute_at`, for people to look at.
CREATE TABLE gates (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id integer NOT NULL REFERENCES teams ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('key', 'job', 'team')),
    name text NOT NULL,
    set_limit integer,
    set_rate text,
    own_limit integer,
    own_rate text,
    run_limit integer GENERATED ALWAYS AS (coalesce(set_limit, own_limit)) STORED,
    rate text GENERATED ALWAYS AS (coalesce(set_rate, own_rate)) STORED,
    next_start_at timestamptz,
    minute_at timestamptz,
    minute_starts integer,
    UNIQUE (team_id, kind, name)
) WITH (fillfactor = 50);

-- The teams about whose runs the claim asks.
CREATE INDEX gates_of_teams ON gates (team_id)
    WHERE kind = 'team' AND (run_limit IS NOT NULL OR rate IS NOT NULL);

CREATE TABLE permits (
    gate_id bigint NOT NULL REFERENCES gates ON DELETE CASCADE,
    run_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (gate_id, run_id)
);

CREATE INDEX permits_run ON permits (run_id);

-- A gate's line: who waits for it, in the order in which they pass.
ALTER TABLE waiting ADD COLUMN gate_id bigint, ADD COLUMN line_rank bigint;
CREATE INDEX waiting_line ON waiting (gate_id, line_rank, run_id) WHERE gate_id IS NOT NULL;

-- The gates that a job's spec names: its own and that of its key.
ALTER TABLE jobs ADD COLUMN gates bigint[] NOT NULL DEFAULT '{}';

ALTER TABLE teams ADD COLUMN max_jobs integer;

-- What the operator lets a team have that has no quota set.
CREATE TABLE quota_defaults (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    max_jobs integer,
    max_running integer,
    rate text
);
INSERT INTO quota_defaults DEFAULT VALUES;

INSERT INTO gates (team_id, kind, name) SELECT id, 'team', '' FROM teams;

CREATE FUNCTION make_team_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO gates (team_id, kind, name, own_limit, own_rate)
    SELECT NEW.id, 'team', '', max_running, rate FROM quota_defaults;
    RETURN NULL;
END
$$;

CREATE TRIGGER teams_gate AFTER INSERT ON teams FOR EACH ROW EXECUTE FUNCTION make_team_gate();

-- How long after a start the next one is due.
CREATE FUNCTION rate_spacing(rate text) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE right(rate, 1)
        WHEN 's' THEN interval '1 second' WHEN 'm' THEN interval '1 minute'
        WHEN 'h' THEN interval '1 hour' ELSE interval '24 hours'
    END / left(rate, -2)::integer
$$;

-- From when on starts are counted: a start that was a little late does not delay the next one.
CREATE FUNCTION rate_begin(rate text, next_start_at timestamptz, now timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN next_start_at IS NULL THEN now ELSE greatest(
        next_start_at,
        now - CASE right(rate, 1) WHEN 's' THEN interval '0.1 second' ELSE interval '1 second' END
    ) END
$$;

-- How many runs more a gate lets start now. In plpgsql, as all that is asked for each run, since that
-- keeps its plans.
CREATE FUNCTION gate_room(gate gates, now timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    room bigint := 1000000000;
BEGIN
    IF gate.run_limit IS NOT NULL THEN
        room := gate.run_limit - (SELECT count(*) FROM permits WHERE gate_id = gate.id);
    END IF;
    IF room > 0 AND gate.rate IS NOT NULL THEN
        room := least(room, 1 + floor(
            extract(epoch FROM now - rate_begin(gate.rate, gate.next_start_at, now))
            / extract(epoch FROM rate_spacing(gate.rate))
        ));
    END IF;
    RETURN greatest(room, 0);
END
$$;

-- The limits of a job's spec are written to its gates; `gates` are those that it is in. A key has the
-- lowest limit of the jobs that name it. All gates are locked in the order of their ids, as by those
-- who pass them. What of the job has begun holds permits from now on.
CREATE FUNCTION enter_gates() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted text := NEW.spec #>> '{concurrency,key}';
    keys text[] := array[wanted];
    is_limited boolean := NEW.spec ? 'max_running' OR NEW.spec ? 'rate';
    former bigint[] := '{}';
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
    PERFORM FROM gates
    WHERE team_id = NEW.team_id
      AND (kind = 'job' AND name = NEW.id::text OR kind = 'key' AND name = ANY (keys))
    ORDER BY id
    FOR UPDATE;
    UPDATE gates
    SET own_limit = (NEW.spec ->> 'max_running')::integer, own_rate = NEW.spec ->> 'rate',
        next_start_at = CASE WHEN next_start_at IS NOT NULL THEN least(
            next_start_at, NEW.changed_at + rate_spacing(NEW.spec ->> 'rate')
        ) END
    WHERE team_id = NEW.team_id AND kind = 'job' AND name = NEW.id::text;
    UPDATE gates g
    SET own_limit = least(
            others.lowest, CASE WHEN is_in THEN (NEW.spec #>> '{concurrency,limit}')::integer END
        ),
        own_rate = (
            SELECT rate
            FROM unnest(
                others.rates || CASE WHEN is_in THEN NEW.spec #>> '{concurrency,rate}' END
            ) AS rate
            WHERE rate IS NOT NULL
            ORDER BY rate_spacing(rate) DESC
            LIMIT 1
        )
    FROM (
        SELECT key, NEW.state <> 'deleted' AND key IS NOT DISTINCT FROM wanted AS is_in,
               min((j.spec #>> '{concurrency,limit}')::integer) AS lowest,
               coalesce(array_agg(j.spec #>> '{concurrency,rate}'), '{}') AS rates
        FROM unnest(keys) AS key
        LEFT JOIN jobs j
            ON j.team_id = NEW.team_id AND j.spec #>> '{concurrency,key}' = key
           AND j.state <> 'deleted' AND j.id <> NEW.id
        GROUP BY key
    ) AS others
    WHERE g.team_id = NEW.team_id AND g.kind = 'key' AND g.name = others.key;
    NEW.gates := array(
        SELECT id
        FROM gates
        WHERE team_id = NEW.team_id
          AND (kind = 'key' AND name = wanted OR is_limited AND kind = 'job' AND name = NEW.id::text)
        ORDER BY id
    );
    IF NOT NEW.gates <@ former THEN
        WITH begun AS (
            UPDATE runs
            SET holds_permits = true
            WHERE job_id = NEW.id AND state IN ('queued', 'running')
            RETURNING id, due_at
        )
        INSERT INTO permits (gate_id, run_id, due_at)
        SELECT gate_id, id, due_at FROM unnest(NEW.gates) AS gate_id, begun
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER jobs_enter_gates BEFORE INSERT ON jobs FOR EACH ROW
    WHEN (NEW.spec ?| '{max_running,rate,concurrency}')
    EXECUTE FUNCTION enter_gates();
CREATE TRIGGER jobs_change_gates BEFORE UPDATE OF spec, state ON jobs FOR EACH ROW
    WHEN (NEW.spec ?| '{max_running,rate,concurrency}' OR OLD.gates <> '{}')
    EXECUTE FUNCTION enter_gates();

-- A run that is asked about, with its gates, and with its place in their lines: the rank of its fire
-- time.
CREATE TYPE asked_run AS (run_id uuid, line_rank bigint, gate_ids bigint[]);

CREATE FUNCTION gates_of(run_ids uuid[]) RETURNS SETOF asked_run LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT r.id, rank_at(r.fire_at, r.priority), g.gate_ids
    FROM unnest(run_ids) AS given (id)
    CROSS JOIN LATERAL (
        SELECT id, job_id, team_id, fire_at, priority
        FROM runs
        WHERE runs.id = given.id AND due_at = run_due_at(given.id)
        LIMIT 1
    ) AS r
    JOIN jobs j ON j.id = r.job_id
    CROSS JOIN LATERAL (
        SELECT j.gates || array(
            SELECT gates.id
            FROM gates
            WHERE gates.team_id = r.team_id AND kind = 'team'
              AND (run_limit IS NOT NULL OR rate IS NOT NULL)
        ) AS gate_ids
    ) AS g
    WHERE g.gate_ids <> '{}'
    ORDER BY 2, 1;
END
$$;

-- Why a run waits for a gate, for people.
CREATE FUNCTION gate_reason(gate gates, now timestamptz, is_behind boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    label text := CASE gate.kind WHEN 'key' THEN gate.name WHEN 'job' THEN 'its job'
                                 ELSE 'its team' END;
BEGIN
    IF is_behind THEN
        RETURN format('behind other runs in the line for %s', label);
    ELSIF rate_begin(gate.rate, gate.next_start_at, now) > now THEN
        RETURN format('rate of %s for %s is reached', gate.rate, label);
    END IF;
    RETURN format('limit of %s for %s is taken', gate.run_limit, label);
END
$$;

-- Say which of the runs pass their gates, with the permits to be written, or which gate each waits for
-- and why. VOLATILE, so that each query in it sees what was committed before the locks were granted;
-- the statement that calls it has an older snapshot. In the order of (line_rank, run_id); whoever stands
-- in a line before is passed by nobody, unless the lease on its partition is in nobody's hands.
CREATE FUNCTION pass_gates(run_ids uuid[], at timestamptz)
RETURNS TABLE (run_id uuid, gate_ids bigint[], blocked_by bigint, line_rank bigint, reason text)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    all_asked asked_run[];
    asked asked_run;
    gate gates;
    ids bigint[];
    rooms bigint[];  -- by the places in ids, once they are known: what jsonb holds is copied each time
    place integer;
    gate_id bigint;
    is_rated boolean;
    room bigint;
    ahead bigint;
    now timestamptz;
BEGIN
    IF run_ids = '{}' THEN
        RETURN;
    END IF;
    all_asked := array(SELECT g FROM gates_of(run_ids) AS g);
    IF all_asked = '{}' THEN
        RETURN;
    END IF;
    ids := array(SELECT DISTINCT unnest(a.gate_ids) FROM unnest(all_asked) AS a);
    rooms := array_fill(NULL::bigint, array[cardinality(ids)]);
    PERFORM FROM gates WHERE id = ANY (ids) ORDER BY id FOR UPDATE;
    now := coalesce(at, clock_timestamp());
    FOREACH asked IN ARRAY all_asked LOOP
        run_id := asked.run_id;
        gate_ids := asked.gate_ids;
        line_rank := asked.line_rank;
        blocked_by := NULL;
        reason := '';
        is_rated := false;
        FOR gate IN SELECT * FROM gates WHERE id = ANY (gate_ids) ORDER BY id LOOP
            place := array_position(ids, gate.id);
            room := rooms[place];
            IF room IS NULL THEN
                room := gate_room(gate, now);
                rooms[place] := room;
            END IF;
            is_rated := is_rated OR gate.rate IS NOT NULL;
            ahead := 0;
            IF room > 0 THEN
                SELECT count(*) INTO ahead
                FROM (
                    SELECT
                    FROM waiting w
                    JOIN leases l ON l.partition = w.partition AND l.expires_at > now
                    WHERE w.gate_id = gate.id AND (w.line_rank, w.run_id) < (asked.line_rank, asked.run_id)
                    LIMIT room
                ) AS before;
            END IF;
            IF room <= ahead THEN
                blocked_by := gate.id;
                reason := gate_reason(gate, now, room > 0);
                EXIT;
            END IF;
        END LOOP;
        IF blocked_by IS NULL THEN
            IF is_rated THEN
                UPDATE gates g
                SET next_start_at = rate_begin(g.rate, g.next_start_at, now) + rate_spacing(g.rate),
                    minute_at = date_trunc('minute', now),
                    minute_starts = CASE g.minute_at WHEN date_trunc('minute', now)
                                    THEN g.minute_starts + 1 ELSE 1 END
                WHERE g.id = ANY (gate_ids) AND g.rate IS NOT NULL;
            END IF;
            FOREACH gate_id IN ARRAY gate_ids LOOP
                place := array_position(ids, gate_id);
                rooms[place] := rooms[place] - 1;
            END LOOP;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Give back what runs hold. Also what was committed since the statement began that calls it: VOLATILE.
CREATE FUNCTION give_back(run_ids uuid[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF run_ids <> '{}' THEN
        DELETE FROM permits WHERE run_id = ANY (run_ids);
    END IF;
END
$$;

-- A permit that is given back is a hint to whoever asks about the gate's line, if there is one.
CREATE FUNCTION tell_of_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM waiting WHERE gate_id = OLD.gate_id) THEN
        PERFORM pg_notify('matins_admission', 'gate:' || OLD.gate_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER permits_given_back AFTER DELETE ON permits FOR EACH ROW
    EXECUTE FUNCTION tell_of_room();
