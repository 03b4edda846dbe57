-- name: ended_attempt
-- By the primary key, in the day of the run.
SELECT a.output, a.exit_code
FROM all_attempts a
WHERE a.run_id = :run_id::uuid AND a.number = :number::integer AND a.due_at = :due_at::timestamptz
  AND a.due_at >= :first::timestamptz AND a.due_at < :past::timestamptz
