-- Jobs that are due some time after the end of their last run. `jobs.follows` is the due time of
-- the run whose end the next due time follows: of one that is still to be claimed (`next_due_at` is
-- the same then), or of one that has its row. Null: nothing will follow.

-- name: ended_runs
-- By jobs_following, then the row of the one run that each of them waits for: a limit in LATERAL,
-- or the planner would begin with all runs that have ever ended. Its day is not retired before.
SELECT
    -- include: due_job_columns
    , r.due_at, r.finished_at AS ended_at
FROM jobs j
CROSS JOIN LATERAL (
    SELECT due_at, finished_at
    FROM runs
    WHERE job_id = j.id AND due_at = j.follows AND kind = 'scheduled'
    LIMIT 1
) AS r
WHERE j.partition = ANY (:partitions::smallint[])
  AND j.state = 'active'
  AND j.follows <= (SELECT coalesce(:now::timestamptz, clock_timestamp()))
  AND r.finished_at IS NOT NULL
  AND NOT j.schedule @? '$.after.jobs'
LIMIT :limit

-- name: write_follow_ups
-- Only while a job waits for the end of that very run: a late writer does no harm. By the primary
-- key: with = instead of IS NOT DISTINCT FROM it could be all of jobs_following as well. A job that is
-- being changed is passed over.
WITH free AS (
    SELECT j.id, f.next_due_at, f.next_fire_at
    FROM unnest(
        :job_ids::uuid[], :revisions::integer[], :follows::timestamptz[],
        :next_due_ats::timestamptz[], :next_fire_ats::timestamptz[]
    ) AS f (job_id, revision, follows, next_due_at, next_fire_at)
    JOIN jobs j ON j.id = f.job_id
    WHERE j.revision = f.revision
      AND j.state = 'active'
      AND j.follows IS NOT DISTINCT FROM f.follows
    FOR NO KEY UPDATE OF j SKIP LOCKED
)
UPDATE jobs j
SET next_due_at = f.next_due_at, next_fire_at = f.next_fire_at, follows = f.next_due_at
FROM free f
WHERE j.id = f.id
RETURNING j.id
