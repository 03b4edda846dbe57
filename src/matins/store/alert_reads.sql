-- What owners look at of alerts, and the rules that teams set.

-- name: open
-- By alerts_open: what was told and was not told to be over.
SELECT t.name AS team, j.name AS job, a.rule, a.since, a.why AS reason, a.told AS is_notified, a.run_id,
       count(*) OVER () AS total
FROM alerts a
JOIN teams t ON t.id = a.team_id
JOIN jobs j ON j.id = a.job_id
WHERE a.told AND (:team::text IS NULL OR t.name = :team)
ORDER BY a.since DESC, j.name, a.rule
LIMIT 1000

-- name: of_job
-- By the primary key.
SELECT t.name AS team, j.name AS job, a.rule, a.since, a.why AS reason, a.told AS is_notified, a.run_id
FROM alerts a
JOIN jobs j ON j.id = a.job_id
JOIN teams t ON t.id = j.team_id
WHERE a.job_id = :job_id::uuid AND (a.is_bad OR a.told)
ORDER BY a.rule

-- name: job
SELECT j.id, j.spec::text AS spec, w.looked_at
FROM jobs j
JOIN teams t ON t.id = j.team_id
LEFT JOIN watches w ON w.job_id = j.id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'

-- name: notices
-- By notices_job, newest first.
SELECT n.job_id, t.name AS team, j.name AS job, n.rule, n.turn, n.at, n.since, n.why AS reason, n.run_id,
       c.name AS channel, d.id AS delivery, d.state
FROM notices n
JOIN deliveries d ON d.id = n.delivery_id
JOIN channels c ON c.id = n.channel_id
JOIN jobs j ON j.id = n.job_id
JOIN teams t ON t.id = j.team_id
WHERE n.job_id = :job_id::uuid
ORDER BY n.at DESC, c.name
LIMIT :limit

-- name: rules
-- By the primary key.
SELECT r.name, r.labels::text AS labels, r.rules::text AS rules
FROM alert_rules r
JOIN teams t ON t.id = r.team_id
WHERE t.name = :team AND (:name::text IS NULL OR r.name = :name)
ORDER BY r.name
LIMIT 1000

-- name: lock
SELECT id FROM teams WHERE name = :team FOR NO KEY UPDATE

-- name: write
INSERT INTO alert_rules (team_id, name, labels, rules)
VALUES (:team_id, :name, :labels::jsonb, :rules::jsonb)
ON CONFLICT (team_id, name) DO UPDATE SET labels = excluded.labels, rules = excluded.rules

-- name: delete
DELETE FROM alert_rules WHERE team_id = :team_id AND name = :name

-- name: wake
-- By watches_team: all jobs of the team are judged anew.
UPDATE watches
SET look_at = coalesce(:now::timestamptz, clock_timestamp())
WHERE team_id = :team_id AND look_at > coalesce(:now, clock_timestamp())
