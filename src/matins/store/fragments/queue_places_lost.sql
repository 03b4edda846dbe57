-- Runs that are queued and have no row on the queue.
SELECT r.id, r.due_at, r.pool, coalesce(r.rank, rank_at(r.claimed_at, r.priority)) AS rank,
       r.shared_losses >= :suspect_after::integer AS alone
FROM unfinished u
JOIN runs r ON r.id = u.id AND r.due_at = u.due_at
WHERE u.state = 'queued' AND r.state = 'queued'
  AND NOT EXISTS (
      SELECT FROM dispatch d WHERE d.pool = r.pool AND d.rank = r.rank AND d.run_id = r.id
  )
FOR NO KEY UPDATE OF r SKIP LOCKED
