-- Jobs that are due with the runs of other jobs of their team.

-- By job those that it follows, by name: what is deleted and made anew is followed again. The one at
-- position 0 leads: each of its rows is a due time. For a chain, `jobs.follows` is from when on rows
-- of its leader may be without an answer; what comes with an older due time brings it back.
CREATE TABLE upstreams (
    job_id uuid NOT NULL REFERENCES jobs ON DELETE CASCADE,
    position smallint NOT NULL,
    team_id integer NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (job_id, position)
);

CREATE INDEX upstreams_name ON upstreams (team_id, name);

-- What a chain has skipped because of a run that has been replayed since.
CREATE TABLE links_again (
    partition smallint NOT NULL,
    job_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (partition, job_id, due_at)
);

-- A chain is due after it was set. Whole microseconds, which due times do not have.
CREATE FUNCTION chain_begin(since timestamptz, created_at timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(since, created_at) + interval '1 microsecond'
$$;

-- The jobs that a job leads, and those that they lead. Each has one leader, so it is a tree.
CREATE FUNCTION led_by(leader uuid) RETURNS TABLE (job_id uuid, depth integer)
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE led AS (
        SELECT leader AS job_id, 0 AS depth
        UNION ALL
        SELECT u.job_id, led.depth + 1
        FROM led
        JOIN jobs l ON l.id = led.job_id
        JOIN upstreams u ON u.team_id = l.team_id AND u.name = l.name AND u.position = 0
        WHERE led.depth < 1000
    )
    SELECT job_id, depth FROM led WHERE depth > 0
$$;

-- Rows of a job may be due from `due` on, sooner than it said before: so may those of the chains
-- that it leads. Locked from the root of the tree on, so that no two changes wait for each other.
CREATE FUNCTION wake_chains(leader uuid, due timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    led record;
BEGIN
    IF due IS NOT NULL THEN
        FOR led IN SELECT job_id FROM led_by(leader) ORDER BY depth, job_id LOOP
            UPDATE jobs SET follows = least(follows, greatest(due, chain_begin(since, created_at)))
            WHERE id = led.job_id AND state <> 'deleted';
        END LOOP;
    END IF;
    RETURN true;
END
$$;

-- From when on a job's next row is due at the earliest. Null: nothing of it is due by itself.
CREATE FUNCTION due_from(state text, next_due_at timestamptz, follows timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN state = 'active' THEN coalesce(next_due_at, follows) END
$$;

-- Whether a chain has a row for a row of its leader: its own, or one for a range that began on that
-- day. What was triggered has a row of its own.
CREATE FUNCTION is_settled(chain uuid, due timestamptz, kind text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT r.due_at = due OR (is_settled.kind <> 'manual' AND r.due_until >= due)
        FROM runs r
        WHERE r.job_id = chain AND r.kind = 'chained'
          AND r.due_at <= due AND r.due_at >= date_trunc('day', due, 'UTC')
        ORDER BY r.due_at DESC
        LIMIT 1
    ), false)
$$;

-- Where a chain goes on from: the first row of its leader without an answer, or what comes next.
-- In plpgsql, so that it is planned once.
CREATE FUNCTION chain_from(chain uuid) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT greatest(
        least(min(open.due_at), min(due_from(l.state, l.next_due_at, l.follows))),
        CASE WHEN count(open.due_at) + count(due_from(l.state, l.next_due_at, l.follows)) > 0
             THEN max(chain_begin(j.since, j.created_at)) END
    )
    FROM jobs j
    JOIN upstreams u ON u.job_id = j.id AND u.position = 0
    JOIN jobs l ON l.team_id = u.team_id AND l.name = u.name
               AND (l.state <> 'deleted' OR l.changed_at >= j.follows)
    LEFT JOIN LATERAL (
        SELECT r.due_at
        FROM runs r
        WHERE r.job_id = l.id AND r.due_at >= j.follows
          AND r.kind IN ('scheduled', 'chained', 'manual')
          AND NOT is_settled(j.id, r.due_at, r.kind)
        ORDER BY r.due_at
        LIMIT 1
    ) AS open ON true
    WHERE j.id = chain);
END
$$;

-- Each statement of it sees what was committed before it, so also what whoever had the lock has
-- done: what was brought back meanwhile is not stepped over.
CREATE FUNCTION settle_chains(partitions smallint[], at timestamptz) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    chain record;
    settled integer := 0;
BEGIN
    FOR chain IN
        SELECT j.id, j.follows
        FROM jobs j
        JOIN upstreams u ON u.job_id = j.id AND u.position = 0
        WHERE j.partition = ANY (partitions) AND j.state = 'active' AND j.follows <= at
          AND NOT EXISTS (  -- most wait for that very row
              SELECT
              FROM jobs l
              JOIN runs r ON r.job_id = l.id AND r.due_at = j.follows AND r.finished_at IS NULL
              WHERE l.team_id = u.team_id AND l.name = u.name AND l.state <> 'deleted'
          )
    LOOP
        IF chain_from(chain.id) IS DISTINCT FROM chain.follows THEN
            PERFORM FROM jobs WHERE id = chain.id AND state = 'active'
            FOR NO KEY UPDATE SKIP LOCKED;
            IF FOUND THEN
                UPDATE jobs SET follows = chain_from(id) WHERE id = chain.id;
                settled := settled + 1;
            END IF;
        END IF;
    END LOOP;
    RETURN settled;
END
$$;

-- What of a job goes with a due time of a chain that follows it: its run then or, by `latest`, its
-- newest one that is due no later. No state: it is still to come. The history is looked through only
-- where the days in which something happens have none.
CREATE FUNCTION upstream_run(team integer, job_name text, due timestamptz, latest boolean)
RETURNS TABLE (state text, reason text, finished_at timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
    job record;
    run record;
BEGIN
    SELECT j.id, j.state, due_from(j.state, j.next_due_at, j.follows) AS due_from INTO job
    FROM jobs j
    WHERE j.team_id = team AND j.name = job_name
    ORDER BY j.state = 'deleted', j.changed_at DESC
    LIMIT 1;
    SELECT r.due_at, r.due_until, r.state, r.reason, r.finished_at INTO run
    FROM runs r
    WHERE r.job_id = job.id AND r.due_at <= due AND (latest OR r.due_at > due - interval '2 days')
      AND (r.kind IN ('scheduled', 'chained') OR latest AND r.kind = 'manual')
    ORDER BY r.due_at DESC
    LIMIT 1;
    IF latest AND run.due_at IS NULL THEN
        SELECT r.due_at, r.due_until, r.state, r.reason, r.finished_at INTO run
        FROM all_runs r
        WHERE r.job_id = job.id AND r.due_at <= due
          AND r.kind IN ('scheduled', 'chained', 'manual')
        ORDER BY r.due_at DESC
        LIMIT 1;
    END IF;
    IF run.due_at = due OR run.due_until >= due THEN
        RETURN QUERY SELECT run.state, run.reason, run.finished_at;
    ELSIF job.due_from <= due THEN
        RETURN QUERY SELECT NULL::text, ''::text, NULL::timestamptz;
    ELSIF latest AND run.due_at IS NOT NULL THEN
        RETURN QUERY SELECT run.state, run.reason, run.finished_at;
    ELSE
        RETURN QUERY SELECT 'skipped'::text, CASE
            WHEN job.state IS NULL OR job.state = 'deleted' THEN 'there is no such job'
            WHEN job.state = 'active' THEN 'it was not due then'
            ELSE 'it is ' || job.state
        END, due;
    END IF;
END
$$;
