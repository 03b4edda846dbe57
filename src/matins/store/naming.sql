-- name: in_range
-- By the index on id of each table, downwards, in the days of which the ids tell.
SELECT r.id, r.state, t.name AS team, j.name AS job
FROM all_runs r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id
WHERE r.id BETWEEN :low::uuid AND :high::uuid
  AND r.due_at >= :first::timestamptz AND r.due_at < :past::timestamptz
ORDER BY r.id DESC
LIMIT :limit
