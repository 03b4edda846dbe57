-- Whether admission is asked about a claim `c` of job `j`. By the unique key (job_id, due_at, kind): all
-- runs that were due before `open_since` are over, so as a rule the look ends at the first row. None
-- is due later than now; said with some room, so that the tables of coming days are left out.
j.team_id IN (SELECT team_id FROM near)
OR j.is_asked
OR j.gates <> '{}'
OR c.open_since IS NOT NULL AND EXISTS (
    SELECT
    FROM runs u
    WHERE u.job_id = c.job_id AND u.due_at >= c.open_since
      AND u.due_at < coalesce(:now::timestamptz, now()) + interval '1 hour'
      AND u.finished_at IS NULL
)
