-- What must be asked about before it starts waits for that.
INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
SELECT partition, ranked_at, id, due_at, team_id, 'claim'
FROM made
WHERE state = 'waiting'
RETURNING run_id, partition, ready_at, team_id
