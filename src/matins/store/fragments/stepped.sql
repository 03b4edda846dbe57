-- Step past the ranges of the jobs of which all were made.
UPDATE jobs j
SET next_due_at = s.next_due_at, next_fire_at = s.next_fire_at
FROM (
    SELECT DISTINCT ON (job_id)
           job_id, due_until, next_due_at, next_fire_at,
           bool_and(run_id = ANY (array(SELECT id FROM made))) OVER (PARTITION BY job_id)
               AS all_made
    FROM unnest(
        :range_ids::uuid[], :range_job_ids::uuid[], :range_ends::timestamptz[],
        :next_due_ats::timestamptz[], :next_fire_ats::timestamptz[]
    ) AS r (run_id, job_id, due_until, next_due_at, next_fire_at)
    ORDER BY job_id, due_until DESC
) AS s
WHERE j.id = s.job_id AND j.next_due_at <= s.due_until AND s.all_made
