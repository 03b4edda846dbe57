-- The place in the waiting room of a run that is to be tried again, by the primary key. It is locked
-- before the run, in the order of those who admit, so that they can't deadlock.
DELETE FROM waiting w
USING runs r
WHERE r.id = :run_id::uuid AND r.due_at = :due_at::timestamptz
  AND w.partition = r.partition AND w.ready_at = r.retry_at AND w.run_id = r.id
RETURNING w.run_id
