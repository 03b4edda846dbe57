-- The permits by which it was decided, and whether others were admitted at their gates since.
SELECT run_id, due_at, gate_id, next_start_at,
       (gate_id IN (SELECT id FROM locked_gates WHERE is_current)) IS NOT TRUE AS is_contended
FROM unnest(
    :permit_runs::uuid[], :permit_dues::timestamptz[], :permit_gates::bigint[],
    :next_starts::timestamptz[]
) AS p (run_id, due_at, gate_id, next_start_at)
