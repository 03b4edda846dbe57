-- Jobs as the web page finds them.

-- name: search
-- By teams_name_key, then jobs_name of each team in turn, until there are enough: a text or labels
-- that nothing has cost a walk through the names and labels of all jobs.
SELECT t.name AS team, j.id, j.name, j.revision, j.state, j.reason, j.spec::text AS spec,
       j.created_at, j.changed_at, j.next_due_at, j.next_fire_at,
       j.overrides::text AS overrides, j.paused_until
FROM teams t
CROSS JOIN LATERAL (
    SELECT *
    FROM jobs
    WHERE team_id = t.id
      AND state <> 'deleted'
      AND (t.name > :after_team::text OR name > :after_name::text)
      AND (:text::text = '' OR t.name || '/' || name LIKE :pattern::text)
      AND (:state::text = '' OR state = :state)
      AND (:labels::jsonb = '{}' OR coalesce(spec -> 'labels', '{}') @> :labels::jsonb)
    ORDER BY name
    LIMIT :limit
) AS j
WHERE t.name >= :after_team AND (:team::text = '' OR t.name = :team)
ORDER BY t.name, j.name
LIMIT :limit

-- name: counts
-- By jobs_name. All of the filter but its state is asked, for the choice between states.
SELECT j.state, count(*) AS number
FROM teams t
JOIN jobs j ON j.team_id = t.id
WHERE (:team::text = '' OR t.name = :team)
  AND (:text::text = '' OR t.name || '/' || j.name LIKE :pattern::text)
  AND (:labels::jsonb = '{}' OR coalesce(j.spec -> 'labels', '{}') @> :labels::jsonb)
  AND j.state <> 'deleted'
GROUP BY j.state

-- name: soonest
-- By jobs_fires: the next of each partition, of which the first are given.
SELECT t.name AS team, j.name, j.next_due_at, j.next_fire_at
FROM generate_series(0, 255) AS p (partition)
CROSS JOIN LATERAL (
    SELECT team_id, name, next_due_at, next_fire_at
    FROM jobs
    WHERE partition = p.partition AND next_fire_at IS NOT NULL
    ORDER BY next_fire_at
    LIMIT :limit
) AS j
JOIN teams t ON t.id = j.team_id
ORDER BY j.next_fire_at, t.name, j.name
LIMIT :limit

-- name: links
-- By upstreams_pkey of the jobs that follow others. All of a team's, or the first of all teams'.
SELECT t.name AS team, u.name AS upstream, d.name AS job,
       coalesce(d.spec #>> '{schedule,after,when}', 'all_success') AS condition
FROM upstreams u
JOIN teams t ON t.id = u.team_id
JOIN jobs d ON d.id = u.job_id AND d.state <> 'deleted'
WHERE :team::text = '' OR t.name = :team
ORDER BY t.name, d.name, u.position
LIMIT :limit

-- name: named
-- By jobs_name.
SELECT t.name AS team, j.id, j.name, j.revision, j.state, j.reason, j.spec::text AS spec,
       j.created_at, j.changed_at, j.next_due_at, j.next_fire_at,
       j.overrides::text AS overrides, j.paused_until
FROM unnest(:teams::text[], :names::text[]) AS w (team, name)
JOIN teams t ON t.name = w.team
JOIN jobs j ON j.team_id = t.id AND j.name = w.name AND j.state <> 'deleted'
