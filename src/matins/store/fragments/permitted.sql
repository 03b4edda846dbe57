-- What those hold from now on who pass their gates.
INSERT INTO permits (gate_id, run_id, due_at)
SELECT gate_id, run_id, due_at FROM promised WHERE (run_id IN (SELECT id FROM moved)) IS TRUE
ON CONFLICT DO NOTHING
