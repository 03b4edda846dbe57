-- What the attempts of runs call.

-- name: call
-- By the index on id, on the day of the run; then by the primary key of revisions: the run's own
-- revision if it has one, else the one that was in force when its last attempt began.
SELECT r.job_id, r.pool, r.input::text AS input, r.replay_of, r.replayed_by, v.revision, v.spec::text AS spec
FROM all_runs r
LEFT JOIN LATERAL (
    SELECT revision, spec
    FROM revisions
    WHERE job_id = r.job_id
      AND (r.revision IS NULL OR revision = r.revision)
      AND (
          r.revision IS NOT NULL
          OR effective_at <= coalesce(r.started_at, :now::timestamptz, clock_timestamp())
      )
    ORDER BY revision DESC
    LIMIT 1
) AS v ON true
WHERE r.id = :run_id::uuid AND r.due_at = :due_at::timestamptz
  AND r.due_at >= :first::timestamptz AND r.due_at < :past::timestamptz
