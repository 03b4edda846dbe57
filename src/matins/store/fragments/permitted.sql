-- What those hold from now on who pass their gates.
INSERT INTO permits (gate_id, run_id, due_at)
SELECT p.gate_id, m.id, m.due_at FROM moved m JOIN promised p ON p.run_id = m.id
ON CONFLICT DO NOTHING
