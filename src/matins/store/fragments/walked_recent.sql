-- Runs downwards from one, in a range of days, and so many of them at most.
SELECT *
FROM all_runs
WHERE due_at BETWEEN :since::timestamptz AND :until::timestamptz
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
  AND id < :before::uuid
ORDER BY id DESC
LIMIT :walk
