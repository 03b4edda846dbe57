-- Dead letters, as owners see and close them.

-- name: page
-- By dead_letters_of_team. Jobs and teams are joined to the page alone, and not to all that is chosen.
SELECT
    -- include: letter_columns
FROM (
    SELECT *
    FROM dead_letters d
    WHERE (
        -- include: chosen_letters
    )
      AND (d.dismissed_at IS NOT NULL) = :dismissed::boolean
      AND d.run_id < :before::uuid
    ORDER BY d.run_id DESC
    LIMIT :limit
) AS d
JOIN jobs j ON j.id = d.job_id
JOIN teams t ON t.id = d.team_id
ORDER BY d.run_id DESC

-- name: groups
-- By dead_letters_of_team: the newest letters are looked at, of those that are asked for.
SELECT j.name AS job, g.fingerprint, g.error, g.count, g.first_dead_at, g.last_dead_at
FROM (
    SELECT d.job_id, d.fingerprint, max(d.error COLLATE "C") AS error, count(*)::integer AS count,
           min(d.dead_at) AS first_dead_at, max(d.dead_at) AS last_dead_at
    FROM (
        SELECT job_id, fingerprint, error, dead_at
        FROM dead_letters d
        WHERE (
            -- include: chosen_letters
        )
          AND d.dismissed_at IS NULL
        ORDER BY d.run_id DESC
        LIMIT :look
    ) AS d
    GROUP BY d.job_id, d.fingerprint
    ORDER BY count(*) DESC, max(d.dead_at) DESC
    LIMIT :limit
) AS g
JOIN jobs j ON j.id = g.job_id
ORDER BY g.count DESC, g.last_dead_at DESC

-- name: groups_of_all
-- Of all teams. By the primary key, which is by due time: the newest letters are looked at.
SELECT t.name AS team, j.name AS job, g.fingerprint, g.error, g.count, g.first_dead_at, g.last_dead_at
FROM (
    SELECT d.team_id, d.job_id, d.fingerprint, max(d.error COLLATE "C") AS error,
           count(*)::integer AS count, min(d.dead_at) AS first_dead_at, max(d.dead_at) AS last_dead_at
    FROM (
        SELECT team_id, job_id, fingerprint, error, dead_at
        FROM dead_letters
        WHERE dismissed_at IS NULL
        ORDER BY run_id DESC
        LIMIT :look
    ) AS d
    GROUP BY d.team_id, d.job_id, d.fingerprint
    ORDER BY count(*) DESC, max(d.dead_at) DESC
    LIMIT :limit
) AS g
JOIN jobs j ON j.id = g.job_id
JOIN teams t ON t.id = g.team_id
ORDER BY g.count DESC, g.last_dead_at DESC

-- name: counts
-- By dead_letters_of_team: the newest letters are counted, those of the jobs that have most of them
-- are named, and of the jobs that had a name one after the other they are told all together.
WITH counted AS MATERIALIZED (
    SELECT job_id, count(*) AS count
    FROM (
        SELECT job_id
        FROM dead_letters
        WHERE team_id = (SELECT id FROM teams WHERE name = :team) AND dismissed_at IS NULL
        ORDER BY run_id DESC
        LIMIT :look
    ) AS d
    GROUP BY job_id
)
SELECT j.name AS job, sum(c.count)::integer AS count, (SELECT sum(count) FROM counted)::integer AS total
FROM (SELECT * FROM counted ORDER BY count DESC, job_id LIMIT :limit) AS c
JOIN jobs j ON j.id = c.job_id
GROUP BY j.name
ORDER BY sum(c.count) DESC, j.name

-- name: of_run
-- By the primary key.
SELECT
    -- include: letter_columns
FROM dead_letters d
JOIN jobs j ON j.id = d.job_id
JOIN teams t ON t.id = d.team_id
WHERE d.run_id = :run_id::uuid

-- name: dismiss
-- In the order of their ids, against deadlocks.
WITH chosen AS (
    SELECT d.run_id
    FROM dead_letters d
    WHERE (
        -- include: chosen_letters
    )
      AND d.dismissed_at IS NULL
    ORDER BY d.run_id
    LIMIT :limit
    FOR NO KEY UPDATE
)
UPDATE dead_letters d
SET dismissed_at = coalesce(:now::timestamptz, clock_timestamp()), dismissed_by = :by, note = :note
FROM chosen c
WHERE d.run_id = c.run_id
RETURNING d.run_id

-- name: runs_before
-- By the unique key (job_id, due_at, kind), in a stretch of days: so many of the runs of a run's job
-- that were due before it.
WITH run AS MATERIALIZED (
    SELECT job_id
    FROM all_runs
    WHERE id = :run_id::uuid AND due_at = :due_at::timestamptz
      AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
),
before AS MATERIALIZED (
    SELECT id, due_at, state, started_at
    FROM all_runs
    WHERE job_id = (SELECT job_id FROM run) AND due_at < :due_at AND state <> 'skipped'
      AND due_at >= :first AND due_at < :past
    ORDER BY due_at DESC
    LIMIT :limit
),
success AS (
    SELECT id, due_at, started_at
    FROM before
    WHERE state = 'succeeded'
    ORDER BY due_at DESC
    LIMIT 1
)
SELECT run.job_id, (SELECT count(*)::integer FROM before) AS looked_at, (
    SELECT count(DISTINCT b.id)::integer
    FROM before b
    JOIN all_attempts a ON a.run_id = b.id AND a.due_at = b.due_at
    WHERE a.fingerprint = :fingerprint AND a.due_at >= :first AND a.due_at < :past
) AS failed_alike, success.id AS run_id, success.due_at, success.started_at
FROM run
LEFT JOIN success ON true
