-- Runs that wait or are to be retried, and have no row in the waiting room.
SELECT r.id, r.due_at, r.partition, r.retry_at, r.team_id
FROM unfinished u
JOIN runs r ON r.id = u.id AND r.due_at = u.due_at
WHERE u.state = r.state AND CASE u.state
    WHEN 'retrying' THEN NOT EXISTS (
        SELECT
        FROM waiting w
        WHERE w.partition = r.partition AND w.ready_at = r.retry_at AND w.run_id = r.id
    )
    WHEN 'waiting' THEN NOT EXISTS (
        SELECT FROM waiting w WHERE w.run_id = r.id AND w.cause <> 'retry'
    )
END
FOR NO KEY UPDATE OF r SKIP LOCKED
