-- As `walked_recent`, of a team.
SELECT *
FROM all_runs
WHERE team_id = (SELECT id FROM teams WHERE name = :team)
  AND due_at BETWEEN :since::timestamptz AND :until::timestamptz
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
  AND id < :before::uuid
ORDER BY id DESC
LIMIT :walk
