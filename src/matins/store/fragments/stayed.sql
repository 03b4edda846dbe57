-- What is back in the waiting room, perhaps in a line.
INSERT INTO waiting (
    partition, ready_at, run_id, due_at, team_id, cause, blocker, asked, gate_id, line_rank, let_in
)
SELECT partition, until, id, due_at, team_id, cause, blocker, asked, gate_id, line_rank, let_in
FROM moved WHERE state = 'waiting'
