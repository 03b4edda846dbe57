-- Of a team's dead letters those that are asked for.
d.team_id = (SELECT id FROM teams WHERE name = :team)
AND (:job::text IS NULL OR d.job_id IN (
    SELECT id FROM jobs WHERE team_id = (SELECT id FROM teams WHERE name = :team) AND name = :job
))
AND (:fingerprint::text IS NULL OR d.fingerprint = :fingerprint)
AND (:since::timestamptz IS NULL OR d.dead_at >= :since)
AND (:until::timestamptz IS NULL OR d.dead_at < :until)
AND (:run_ids::uuid[] IS NULL OR d.run_id = ANY (:run_ids))
