-- Runs that are queued and have no row on the queue, though its head is younger.
SELECT r.id, r.due_at, r.pool, r.priority, r.claimed_at AS ranked_at,
       r.shared_losses >= :suspect_after::integer AS alone
FROM unfinished u
JOIN heads h ON h.pool = u.pool AND h.priority = u.priority
JOIN runs r ON r.id = u.id AND r.due_at = u.due_at
WHERE u.state = 'queued' AND r.state = 'queued'
  AND coalesce((h.rank, h.run_id) > (u.rank, u.id), true)
  AND NOT EXISTS (
      SELECT
      FROM dispatch d
      WHERE d.pool = u.pool AND d.priority = u.priority AND d.run_id = u.id
  )
FOR NO KEY UPDATE OF r SKIP LOCKED
