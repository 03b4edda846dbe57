-- Step past the ranges that were made: nothing of a job follows its range, so all before has its row.
UPDATE jobs j
SET next_due_at = r.next_due_at, next_fire_at = r.next_fire_at
FROM unnest(
    :range_ids::uuid[], :range_job_ids::uuid[], :range_ends::timestamptz[],
    :next_due_ats::timestamptz[], :next_fire_ats::timestamptz[]
) AS r (run_id, job_id, due_until, next_due_at, next_fire_at)
WHERE j.id = r.job_id AND j.next_due_at <= r.due_until AND r.run_id IN (SELECT id FROM made)
