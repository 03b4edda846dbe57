-- What those hold from now on who passed their gates.
INSERT INTO permits (gate_id, run_id, due_at)
SELECT unnest(permits), id, due_at FROM moved
ON CONFLICT DO NOTHING
