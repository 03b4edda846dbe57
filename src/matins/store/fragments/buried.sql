-- The dead letters of what has moved to `dead`.
INSERT INTO dead_letters (run_id, due_at, job_id, team_id, dead_at, reason, error, fingerprint)
SELECT id, due_at, job_id, team_id, finished_at, reason, error, coalesce(fingerprint, '')
FROM moved
WHERE state = 'dead'
