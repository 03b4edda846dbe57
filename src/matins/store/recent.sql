-- The last runs of jobs, a range of days at a time (see recent.py).

-- name: recent_runs
-- By the unique key (job_id, due_at, kind), downwards: of each job the few rows that are given.
-- Days before a job was made are not looked at.
SELECT r.*
FROM unnest(:job_ids::uuid[]) AS w (job_id)
JOIN jobs j ON j.id = w.job_id AND j.created_at < :past::timestamptz
CROSS JOIN LATERAL (
    SELECT job_id, id, due_at, fire_at, started_at, finished_at, kind, state, attempt, reason
    FROM all_runs
    WHERE job_id = w.job_id AND due_at >= :first::timestamptz AND due_at < :past
    ORDER BY due_at DESC, kind DESC
    LIMIT :count::integer
) AS r
