-- The due times of a restore that are uncertain, oldest first, and whether a younger one of their job
-- is as well. By the days of their due times: what was there is lost, so there is little else.
SELECT r.id, r.job_id, r.due_at, j.state = 'active' AS is_active, EXISTS (
           SELECT
           FROM runs y
           WHERE y.job_id = r.job_id AND y.due_at > r.due_at AND y.due_at <= :seen_until
             AND y.state = 'skipped' AND y.reason = :uncertain
       ) AS is_older
FROM runs r
JOIN jobs j ON j.id = r.job_id
WHERE r.due_at > :lost_since::timestamptz AND r.due_at <= :seen_until::timestamptz
  AND r.kind = 'scheduled' AND r.state = 'skipped' AND r.reason = :uncertain::text
