-- What is kept of runs in the history, and what goes.

-- name: scope
-- By jobs_keep; teams are few.
SELECT greatest(
    :usual_days::integer, (SELECT max(keep_days) FROM jobs),
    (
        SELECT max(greatest((keep -> 'days')::integer, (keep -> 'others' -> 'days')::integer))
        FROM teams
    )
) AS longest_days, (
    EXISTS (SELECT FROM jobs WHERE keep_days IS NOT NULL)
    OR EXISTS (SELECT FROM teams WHERE keep IS NOT NULL)
) AS differs, coalesce(:now::timestamptz, clock_timestamp()) AS now

-- name: runs_of
SELECT
    -- include: archived_run
FROM past_runs r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id
WHERE r.due_at >= :first AND r.due_at < :past AND r.id > :after::uuid
ORDER BY r.id
LIMIT :limit

-- name: walk
SELECT walked_to AS after, walk_began_at AS began_at FROM history

-- name: record_walk
UPDATE history SET walked_to = :after::uuid, walk_began_at = :began_at::timestamptz

-- name: jobs
-- By the primary key.
SELECT j.id, j.keep::text AS keep, t.keep::text AS team_keep,
       least(p.succeeded_until, p.others_until) AS purged_until
FROM jobs j
JOIN teams t ON t.id = j.team_id
LEFT JOIN purges p ON p.job_id = j.id
WHERE j.id > :after::uuid AND NOT counts_runs(j.schedule, j.state)
ORDER BY j.id
LIMIT :limit

-- name: newest_ends
-- When the newest runs of a job were due, in a range of days; by the unique key.
SELECT due_at
FROM all_runs
WHERE job_id = :job_id::uuid
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
  AND (state = 'succeeded') = :succeeded::boolean
ORDER BY due_at DESC
LIMIT :limit

-- name: old_runs
-- By the unique key (job_id, due_at, kind), in a range of days.
SELECT
    -- include: archived_run
FROM unnest(
    :job_ids::uuid[], :succeeded_untils::timestamptz[], :others_untils::timestamptz[]
) AS c (job_id, succeeded_until, others_until)
CROSS JOIN LATERAL (
    SELECT *
    FROM past_runs
    WHERE job_id = c.job_id
      AND due_at >= :first AND due_at < :past
      AND due_at < CASE state WHEN 'succeeded' THEN c.succeeded_until ELSE c.others_until END
      AND NOT (
          state = 'dead' AND EXISTS (
              SELECT FROM dead_letters d WHERE d.run_id = past_runs.id AND d.dismissed_at IS NULL
          )
      )
    LIMIT :limit
) AS r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id
LIMIT :limit

-- name: delete_attempts
DELETE FROM past_attempts
WHERE due_at >= :first::timestamptz AND due_at < :past::timestamptz
  AND run_id = ANY (:run_ids::uuid[])

-- name: delete_outputs
DELETE FROM outputs
WHERE due_at >= :first::timestamptz AND due_at < :past::timestamptz
  AND run_id = ANY (:run_ids::uuid[])

-- name: delete_runs
-- With the letters that were dismissed: a run with an open one stays.
WITH forgotten AS (
    DELETE FROM dead_letters WHERE run_id = ANY (:run_ids::uuid[]) AND dismissed_at IS NOT NULL
)
DELETE FROM past_runs
WHERE due_at >= :first::timestamptz AND due_at < :past::timestamptz
  AND id = ANY (:run_ids)

-- name: record_purged
INSERT INTO purges (job_id, succeeded_until, others_until)
SELECT * FROM unnest(:job_ids::uuid[], :succeeded_untils::timestamptz[], :others_untils::timestamptz[])
ON CONFLICT (job_id) DO UPDATE
SET succeeded_until = greatest(purges.succeeded_until, excluded.succeeded_until),
    others_until = greatest(purges.others_until, excluded.others_until)
