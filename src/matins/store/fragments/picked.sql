-- What a dequeue gets of its pool: by the primary key, from where its queue can begin (see fronts.py).
-- Rows that others are taking are passed over. So are suspects while the executor has one, which is
-- looked up only where a suspect waits. `passed`: runs that somebody has locked, see `locked`.
SELECT ctid AS place, rank, run_id, alone
FROM dispatch
WHERE pool = :pool::text AND rank >= :front::bigint
  AND EXISTS (SELECT FROM alive WHERE NOT is_done)
  AND NOT run_id = ANY (:passed::uuid[])
  AND (NOT alone OR NOT EXISTS (
      SELECT
      FROM handouts h
      CROSS JOIN LATERAL unnest(h.run_ids) AS given (run_id)
      JOIN runs r ON r.id = given.run_id AND r.due_at = run_due_at(given.run_id)
      WHERE h.executor = :executor AND r.executor = h.executor AND r.state = 'running'
        AND r.shared_losses >= :suspect_after::integer
  ))
ORDER BY rank, run_id
LIMIT :free
FOR UPDATE SKIP LOCKED
