-- Jobs that are due with the runs of others: see migrations/0022_chains.sql.

-- name: links
-- By jobs_following: a page of the chains that wait for an answer; then the rows of the leader of each
-- by their key, from where the chain stands. Where it starts with any of them, those that go on too.
-- As a rule there are no chains, and no `links_again`: then this is all that is asked.
WITH awaiting AS MATERIALIZED (
    SELECT id, partition, revision, pool, schedule, follows
    FROM jobs
    WHERE partition = ANY (:partitions::smallint[])
      AND state = 'active'
      AND follows <= (SELECT coalesce(:now::timestamptz, clock_timestamp()))
),
chains AS MATERIALIZED (
    SELECT *
    FROM awaiting
    WHERE id > :after::uuid AND schedule @? '$.after.jobs'
    ORDER BY id
    LIMIT :limit
),
links AS (
    SELECT
        -- include: link_columns
    FROM chains j
    JOIN upstreams lead_by ON lead_by.job_id = j.id AND lead_by.position = 0
    JOIN jobs l ON l.team_id = lead_by.team_id AND l.name = lead_by.name
               AND (l.state <> 'deleted' OR l.changed_at >= j.follows)
    CROSS JOIN LATERAL (
        SELECT due_at, due_until, due_count, kind, state, reason, finished_at
        FROM runs
        WHERE job_id = l.id AND due_at >= j.follows
          AND kind IN ('scheduled', 'chained', 'manual')
          AND (finished_at IS NOT NULL OR starts_with(j.schedule -> 'after' ->> 'when', 'any_'))
          AND NOT is_settled(j.id, due_at, kind)
        ORDER BY due_at
        LIMIT 1000
    ) AS r
)
SELECT page.*, links.*
FROM (
    SELECT count(*)::integer AS chain_count, max(id::text)::uuid AS last,
           EXISTS (SELECT FROM links_again WHERE partition = ANY (:partitions)) AS has_again
    FROM chains
) AS page
LEFT JOIN links ON true

-- name: links_again
-- By the primary key.
SELECT
    -- include: link_columns
FROM links_again a
JOIN jobs j ON j.id = a.job_id AND j.state = 'active'
JOIN upstreams lead_by ON lead_by.job_id = j.id AND lead_by.position = 0
CROSS JOIN LATERAL (
    SELECT a.due_at, NULL::timestamptz AS due_until, 1 AS due_count, found.kind,
           coalesce(found.state, 'skipped') AS state, coalesce(found.reason, '') AS reason,
           CASE WHEN found.state IS NULL THEN a.due_at ELSE found.finished_at END AS finished_at
    FROM (SELECT) AS it
    LEFT JOIN LATERAL (
        SELECT runs.kind, runs.state, runs.reason, runs.finished_at
        FROM jobs l
        JOIN runs ON runs.job_id = l.id
        WHERE l.team_id = lead_by.team_id AND l.name = lead_by.name AND runs.due_at = a.due_at
          AND runs.kind IN ('scheduled', 'chained', 'manual')
        ORDER BY l.state = 'deleted', l.changed_at DESC
        LIMIT 1
    ) AS found ON true
) AS r
WHERE a.partition = ANY (:partitions::smallint[])
ORDER BY a.partition, a.job_id, a.due_at
LIMIT :limit

-- name: advance_chains
SELECT settle_chains(:partitions::smallint[], coalesce(:now::timestamptz, clock_timestamp()))

-- name: revive
-- reopened: once, as it is skipped no more then. again: what was skipped because of that, in turn.
WITH fence AS (
    -- include: fence
),
given AS (
    SELECT *
    FROM unnest(
        :run_ids::uuid[], :job_ids::uuid[], :run_partitions::smallint[], :due_ats::timestamptz[],
        :starts::boolean[]
    ) AS g (id, job_id, partition, due_at, starts)
    WHERE g.partition IN (SELECT partition FROM fence)
),
reopened AS (
    UPDATE runs r
    SET state = 'waiting', reason = :reason::text, finished_at = NULL
    FROM given g
    JOIN jobs j ON j.id = g.job_id AND j.state = 'active'
    WHERE g.starts AND r.id = g.id AND r.due_at = g.due_at AND r.state = 'skipped'
      AND r.due_until IS NULL AND starts_with(r.reason, :skipped_for::text)
    RETURNING r.id, r.job_id, r.due_at, r.kind, r.partition, r.team_id, j.name
),
asked AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, coalesce(:now::timestamptz, clock_timestamp()), id, due_at, team_id, 'claim'
    FROM reopened
    RETURNING run_id, partition, ready_at, team_id
),
looked_for AS (
    -- include: looked_for
),
done AS (
    DELETE FROM links_again a
    USING given g
    WHERE a.partition = g.partition AND a.job_id = g.job_id AND a.due_at = g.due_at
),
again AS (
    INSERT INTO links_again (partition, job_id, due_at)
    SELECT d.partition, d.id, v.due_at
    FROM reopened v
    JOIN upstreams u ON u.team_id = v.team_id AND u.name = v.name
    JOIN jobs d ON d.id = u.job_id
    ON CONFLICT DO NOTHING
)
SELECT array(SELECT id FROM reopened) AS made,
       array(SELECT partition FROM fence) AS fenced,
       array(SELECT run_id FROM asked) AS asked,
       array(SELECT partition FROM asked) AS asked_partitions,
       array(SELECT ready_at FROM asked) AS asked_ready_ats,
       array(SELECT team_id FROM asked) AS asked_team_ids

-- name: upstream
-- All that a job follows, on whatever way, from those that it names on.
WITH RECURSIVE above AS (
    SELECT j.id, j.name, j.team_id
    FROM teams t
    JOIN jobs j ON j.team_id = t.id AND j.name = ANY (:names::text[]) AND j.state <> 'deleted'
    WHERE t.name = :team::text
    UNION
    SELECT j.id, j.name, j.team_id
    FROM above a
    JOIN upstreams u ON u.job_id = a.id
    JOIN jobs j ON j.team_id = u.team_id AND j.name = u.name AND j.state <> 'deleted'
)
SELECT a.name, array(
    SELECT u.name FROM upstreams u WHERE u.job_id = a.id ORDER BY u.position
) AS upstream
FROM above a

-- name: downstream
SELECT DISTINCT d.name
FROM teams t
JOIN upstreams u ON u.team_id = t.id AND u.name = :name::text
JOIN jobs d ON d.id = u.job_id AND d.state <> 'deleted'
WHERE t.name = :team::text
ORDER BY d.name

-- name: leader_rows
-- By the unique key (job_id, due_at, kind), in a range of days.
SELECT r.due_at, r.due_until, r.due_count, r.kind = 'manual' AS is_manual,
       coalesce((
           SELECT c.due_at = r.due_at OR (r.kind <> 'manual' AND c.due_until >= r.due_at)
           FROM all_runs c
           WHERE c.job_id = :job_id::uuid AND c.kind = 'chained'
             AND c.due_at <= r.due_at AND c.due_at >= date_trunc('day', r.due_at, 'UTC')
             AND c.due_at >= :first::timestamptz AND c.due_at < :past::timestamptz
           ORDER BY c.due_at DESC
           LIMIT 1
       ), false) AS is_settled
FROM upstreams u
JOIN jobs l ON l.team_id = u.team_id AND l.name = u.name
JOIN all_runs r ON r.job_id = l.id
WHERE u.job_id = :job_id AND u.position = 0
  AND r.due_at > :after::timestamptz AND r.due_at <= :until::timestamptz
  AND r.due_at >= :first AND r.due_at < :past
  AND r.kind IN ('scheduled', 'chained', 'manual')
ORDER BY r.due_at
LIMIT :limit

-- name: leader_bound
SELECT min(due_from(l.state, l.next_due_at, l.follows)) AS bound
FROM upstreams u
JOIN jobs l ON l.team_id = u.team_id AND l.name = u.name AND l.state = 'active'
WHERE u.job_id = :job_id::uuid AND u.position = 0

-- name: lock_chains
SELECT pg_advisory_xact_lock(hashtext('matins.chains'), hashtext(:team::text))

-- name: write_upstream
-- And a change of what the job says is due next: see wake_chains.
WITH gone AS (
    DELETE FROM upstreams
    WHERE job_id = :job_id::uuid AND position >= cardinality(:names::text[])
),
written AS (
    INSERT INTO upstreams (job_id, position, team_id, name)
    SELECT j.id, n.position - 1, j.team_id, n.name
    FROM jobs j
    CROSS JOIN unnest(:names) WITH ORDINALITY AS n (name, position)
    WHERE j.id = :job_id
    ON CONFLICT (job_id, position) DO UPDATE SET name = excluded.name
)
SELECT wake_chains(:job_id, :since::timestamptz)

-- name: wake
SELECT wake_chains(:job_id::uuid, :since::timestamptz)
