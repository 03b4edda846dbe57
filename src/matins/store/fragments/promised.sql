-- The permits by which it was decided, and whether others were admitted at their gates since.
SELECT p.run_id, p.gate_id, p.next_start_at, g.is_current IS NOT TRUE AS is_contended
FROM unnest(:permit_runs::uuid[], :permit_gates::bigint[], :next_starts::timestamptz[])
    AS p (run_id, gate_id, next_start_at)
LEFT JOIN locked_gates g ON g.id = p.gate_id
