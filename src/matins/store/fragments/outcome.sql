-- What was decided, and what came of it at the gates. Who stands in a line comes due by a hint alone.
SELECT d.run_id, d.due_at, d.asked, d.rank, d.left_gate_id,
       CASE WHEN p.blocked_by IS NULL THEN d.state ELSE 'waiting' END AS state,
       CASE WHEN p.blocked_by IS NULL THEN d.reason ELSE p.reason END AS reason,
       CASE WHEN p.blocked_by IS NULL THEN d.until ELSE '9999-12-31T00:00:00Z' END AS until,
       CASE WHEN p.blocked_by IS NULL THEN d.cause ELSE 'gate' END AS cause,
       d.blocker, p.blocked_by AS gate_id,
       CASE WHEN p.blocked_by IS NULL THEN p.gate_ids END AS permits,
       CASE WHEN p.blocked_by IS NOT NULL THEN p.line_rank END AS line_rank
FROM decided d
LEFT JOIN passing p ON p.run_id = d.run_id
