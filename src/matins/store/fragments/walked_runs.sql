-- Of the runs in `walked`, those in some states.
SELECT
    -- include: run_columns
FROM (
    SELECT * FROM walked WHERE state = ANY (:states::text[]) ORDER BY id DESC LIMIT :limit
) r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id
ORDER BY r.id DESC
