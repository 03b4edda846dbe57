-- Backfills: their owners' side, and that of the scheduler which makes their runs.

-- name: find_job
-- By jobs_name.
SELECT j.id, j.spec::text AS spec, coalesce(:now::timestamptz, clock_timestamp()) AS now
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'

-- name: revisions
-- By the primary key.
SELECT revision, effective_at, state, spec::text AS spec, anchor, since,
       overrides::text AS overrides, calendars
FROM revisions
WHERE job_id = :job_id::uuid
ORDER BY revision

-- name: recorded
-- By the unique key (job_id, due_at, kind), in a range of days.
SELECT due_at, kind, state
FROM all_runs
WHERE job_id = :job_id::uuid
  AND due_at BETWEEN :since::timestamptz AND :until::timestamptz
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz

-- name: bounds
-- Up to when a row of a job that succeeded may be purged, and from when on it is still claimed.
SELECT greatest(h.dropped_until, p.succeeded_until) AS purged_until,
       j.next_due_at AS unclaimed_from
FROM jobs j
CROSS JOIN history h
LEFT JOIN purges p ON p.job_id = j.id
WHERE j.id = :job_id::uuid

-- name: create
-- Claims of the job are asked about from now on, since its backfill may hold them up.
WITH job AS (
    UPDATE jobs SET is_asked = true
    WHERE id = :job_id::uuid AND state <> 'deleted'
    RETURNING id, team_id, partition, coalesce(:now::timestamptz, clock_timestamp()) AS now
),
made AS (
    INSERT INTO backfills (
        id, job_id, team_id, partition, state, since, until, "order", run_limit, again, reason,
        made_at, planned, rated_at
    )
    SELECT :id::uuid, id, team_id, partition, 'active', :since::timestamptz, :until::timestamptz,
           :order, :run_limit, :again, :reason, now, :planned, now
    FROM job
    ON CONFLICT (job_id) WHERE finished_at IS NULL DO NOTHING
    RETURNING id
),
noted AS (
    INSERT INTO backfill_left_out (backfill_id, first_at, last_at, due_count, reason)
    SELECT m.id, l.*
    FROM made m
    CROSS JOIN unnest(
        :first_ats::timestamptz[], :last_ats::timestamptz[], :due_counts::integer[],
        :reasons::text[]
    ) AS l (first_at, last_at, due_count, reason)
)
SELECT id FROM made

-- name: find_unfinished
-- By backfills_unfinished.
SELECT id FROM backfills WHERE job_id = :job_id::uuid AND finished_at IS NULL

-- name: change
UPDATE backfills
SET state = :state,
    step = step + 1,
    rated_at = CASE :state WHEN 'active' THEN coalesce(:now::timestamptz, clock_timestamp())
               ELSE rated_at END,
    rated_ended = CASE :state WHEN 'active' THEN succeeded + dead + cancelled + skipped
                  ELSE rated_ended END
WHERE id = :id::uuid AND finished_at IS NULL AND state = ANY (:before::text[])
RETURNING id

-- name: find_backfill
SELECT
    -- include: backfill_columns
FROM backfills b
JOIN jobs j ON j.id = b.job_id
JOIN teams t ON t.id = b.team_id
WHERE b.id = :id::uuid

-- name: list_of_job
-- By backfills_job: the newest ones of the jobs of that name.
SELECT
    -- include: backfill_columns
FROM backfills b
JOIN jobs j ON j.id = b.job_id
JOIN teams t ON t.id = b.team_id
WHERE j.team_id = (SELECT id FROM teams WHERE name = :team) AND j.name = :name
ORDER BY b.made_at DESC
LIMIT :limit

-- name: list_of_team
-- By backfills_team.
SELECT
    -- include: backfill_columns
FROM backfills b
JOIN jobs j ON j.id = b.job_id
JOIN teams t ON t.id = b.team_id
WHERE b.team_id = (SELECT id FROM teams WHERE name = :team)
ORDER BY b.made_at DESC
LIMIT :limit

-- name: newest
-- Of all teams. By backfills_partition, which holds no other than those that are not over, and by
-- backfills_finished.
SELECT
    -- include: backfill_columns
FROM (
    (SELECT * FROM backfills WHERE finished_at IS NULL LIMIT :limit)
    UNION ALL
    (SELECT * FROM backfills WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT :limit)
) AS b
JOIN jobs j ON j.id = b.job_id
JOIN teams t ON t.id = b.team_id
ORDER BY b.made_at DESC
LIMIT :limit

-- name: left_out
-- By the primary key.
SELECT first_at, last_at, due_count, reason
FROM backfill_left_out
WHERE backfill_id = :id::uuid
ORDER BY first_at
LIMIT :limit

-- name: left_out_counts
SELECT reason, sum(due_count)::integer AS due_count
FROM backfill_left_out
WHERE backfill_id = :id::uuid AND due_count > 0
GROUP BY reason
ORDER BY reason

-- name: unfinished_backfills
-- By backfills_partition, which holds no other. What is due now goes first: it is looked for where
-- runs of the job may be unfinished, or in its last hour.
SELECT b.id, b.job_id, b.partition, b.state, b.since, b.until, b."order", b.run_limit, b.again,
       b.mark, b.walked, b.step, j.state = 'deleted' AS is_deleted, EXISTS (
           SELECT
           FROM runs r
           WHERE r.job_id = b.job_id
             AND r.due_at >= coalesce(j.open_since, clock.now - interval '1 hour')
             AND r.kind <> 'backfill' AND r.state = 'waiting'
       ) AS is_held_up
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN backfills b
JOIN jobs j ON j.id = b.job_id
WHERE b.partition = ANY (:partitions::smallint[]) AND b.finished_at IS NULL
ORDER BY b.id

-- name: open_runs
-- By the primary key; their days are not moved to the history before.
SELECT o.backfill_id, o.run_id, r.state
FROM backfill_runs o
LEFT JOIN LATERAL (
    SELECT state FROM runs WHERE id = o.run_id AND due_at = o.due_at LIMIT 1
) AS r ON true
WHERE o.backfill_id = ANY (:ids::uuid[])

-- name: proceed
-- A step: one autocommit statement that is fence, step and its runs. Who believed an older step does
-- nothing. What was made waits to be asked about, as a claim does.
WITH fence AS (
    -- include: fence
),
current AS (
    SELECT b.id, b.job_id, coalesce(:now::timestamptz, clock_timestamp()) AS now
    FROM backfills b
    WHERE b.id = :id::uuid AND b.step = :step AND b.finished_at IS NULL
      AND b.partition IN (SELECT partition FROM fence)
    FOR NO KEY UPDATE
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, epoch, team_id, partition, priority, kind, state,
        pool, reason, revision
    )
    SELECT n.run_id, j.id, n.due_at, n.due_at, c.now, :epoch, j.team_id, j.partition,
           :priority::smallint, 'backfill', 'waiting', j.pool, 'to be admitted', n.revision
    FROM current c
    JOIN jobs j ON j.id = c.job_id
    CROSS JOIN unnest(:run_ids::uuid[], :due_ats::timestamptz[], :revisions::integer[])
        AS n (run_id, due_at, revision)
    WHERE j.state <> 'deleted'
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING id, due_at, partition, team_id, claimed_at, pool, priority
),
-- include: backfill_rows
moved AS (
    -- include: backfill_moved
),
asked AS (
    UPDATE jobs SET is_asked = false
    WHERE id = (SELECT job_id FROM moved WHERE finished_at IS NOT NULL)
)
SELECT id AS run_id, partition, claimed_at AS ready_at, team_id, pool, priority FROM made
