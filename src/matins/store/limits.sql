-- Limits that teams set, and their quotas. Each change locks the gate's row, as whoever passes it.

-- name: lock
-- The gate of a key or of a team's quotas.
SELECT g.id, g.team_id, g.set_limit, g.set_rate, t.max_jobs
FROM gates g
JOIN teams t ON t.id = g.team_id
WHERE t.name = :team AND g.kind = :kind AND g.name = :name
FOR UPDATE OF g, t

-- name: make
INSERT INTO gates (team_id, kind, name)
SELECT id, 'key', :name::text FROM teams WHERE name = :team
ON CONFLICT DO NOTHING

-- name: write
UPDATE gates
SET set_limit = :limit::integer, set_rate = :rate::text, revision = revision + 1
WHERE id = :id::bigint

-- name: write_max_jobs
UPDATE teams SET max_jobs = :max_jobs::integer WHERE id = :team_id::integer

-- name: write_defaults
-- What the operator lets teams have that have no quota set; written where it has changed.
WITH noted AS (
    UPDATE quota_defaults
    SET max_jobs = :max_jobs::integer, max_running = :max_running::integer, rate = :rate::text
    WHERE (max_jobs, max_running, rate) IS DISTINCT FROM (:max_jobs, :max_running, :rate)
),
missing AS (
    INSERT INTO gates (team_id, kind, name, own_limit, own_rate)
    SELECT id, 'team', '', :max_running, :rate FROM teams
    ON CONFLICT DO NOTHING
)
UPDATE gates
SET own_limit = :max_running, own_rate = :rate, revision = revision + 1
WHERE kind = 'team' AND (own_limit, own_rate) IS DISTINCT FROM (:max_running, :rate)

-- name: kept
-- By the unique key (team_id, kind, name), permits by their key, lines by waiting_line.
SELECT g.kind, CASE g.kind WHEN 'job' THEN j.name ELSE g.name END AS name, g.run_limit, g.rate,
       g.set_limit IS NOT NULL OR g.set_rate IS NOT NULL AS is_set, g.next_start_at,
       (SELECT count(*) FROM permits p WHERE p.gate_id = g.id) AS used,
       (SELECT count(*) FROM waiting w WHERE w.gate_id = g.id) AS waiting
FROM teams t
JOIN gates g ON g.team_id = t.id
LEFT JOIN jobs j
    ON j.id = CASE g.kind WHEN 'job' THEN g.name::uuid END
   AND j.state <> 'deleted' AND g.id = ANY (j.gates)
WHERE t.name = :team AND g.kind <> 'team'
  AND (g.kind = 'key' OR j.id IS NOT NULL)
  AND (:name::text IS NULL OR g.kind = 'key' AND g.name = :name)
ORDER BY g.kind DESC, name
LIMIT 1000

-- name: quotas
-- Jobs are counted by jobs_name, permits by their key, the line by waiting_line.
SELECT t.max_jobs AS set_jobs, coalesce(t.max_jobs, d.max_jobs) AS max_jobs, g.set_limit,
       g.run_limit, g.set_rate, g.rate,
       (SELECT count(*) FROM jobs j WHERE j.team_id = t.id AND j.state <> 'deleted') AS jobs,
       (SELECT count(*) FROM permits p WHERE p.gate_id = g.id) AS used,
       CASE g.minute_at
           WHEN date_trunc('minute', coalesce(:now::timestamptz, clock_timestamp()))
           THEN g.minute_starts ELSE 0 END AS starts,
       (SELECT count(*) FROM waiting w WHERE w.gate_id = g.id) AS waiting
FROM quota_defaults d
CROSS JOIN teams t
JOIN gates g ON g.team_id = t.id AND g.kind = 'team'
WHERE t.name = :team
