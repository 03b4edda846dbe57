-- A range lies over no row of a due time; its own key holds off the first alone. By the unique key
-- (job_id, due_at, kind), for ranges only.
AND (due_until IS NULL OR kind <> 'scheduled' OR NOT EXISTS (
    SELECT
    FROM runs r
    WHERE r.job_id = due.job_id AND r.due_at > due.due_at AND r.due_at <= due.due_until
      AND r.kind = 'scheduled'
))
