-- What a dequeue gets of its pool. By the primary key, priority by priority, each from where its queue
-- can begin (see fronts.py); as they are read one after the other, no more is locked than is taken.
-- Rows that others are taking are passed over. So are suspects while the executor has one, which is
-- looked up only where a suspect waits. `passed`: runs that somebody has locked, see `locked`.
SELECT d.*
FROM unnest(:priorities::smallint[], :fronts::bigint[]) AS class (priority, front)
CROSS JOIN LATERAL (
    SELECT pool, priority, rank, run_id, alone
    FROM dispatch
    WHERE pool = :pool::text AND priority = class.priority AND rank >= class.front
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
) AS d
LIMIT :free
