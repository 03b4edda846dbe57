-- Jobs that are deleted some time after their last run.

-- name: ended_jobs
-- By jobs_passing. A job that waits for the end of a run which its next due time follows is not at
-- its end.
SELECT j.id, t.name AS team, j.name, j.revision, j.schedule ->> 'delete_after' AS delete_after,
       j.changed_at, coalesce(:now::timestamptz, clock_timestamp()) AS now
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE j.state = 'active'
  AND j.next_due_at IS NULL
  AND j.follows IS NULL
  AND j.schedule ? 'delete_after'
  AND j.id > :after::uuid
ORDER BY j.id
LIMIT :limit
