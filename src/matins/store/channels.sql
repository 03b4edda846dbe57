-- Channels of teams: what their owners do to them.

-- name: lock
SELECT c.id, c.sealed, t.id AS team_id
FROM teams t
LEFT JOIN channels c ON c.team_id = t.id AND c.name = :name
WHERE t.name = :team
FOR NO KEY UPDATE OF t

-- name: write
INSERT INTO channels (team_id, name, kind, scheme, sealed, made_at)
VALUES (
    :team_id, :name, :kind, :scheme, :sealed, coalesce(:now::timestamptz, clock_timestamp())
)
ON CONFLICT (team_id, name) DO UPDATE
SET kind = excluded.kind, scheme = excluded.scheme, sealed = excluded.sealed,
    failing_since = CASE WHEN NOT :is_changed::boolean THEN channels.failing_since END,
    failure = CASE WHEN :is_changed THEN '' ELSE channels.failure END

-- name: watch
-- By jobs_name. A job that is watched already goes on as it was.
INSERT INTO watches (job_id, team_id, look_at, made_at, expect_from)
SELECT id, team_id, clock.now, clock.now, clock.now
FROM jobs
CROSS JOIN (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
WHERE team_id = :team_id AND state <> 'deleted'
ON CONFLICT DO NOTHING

-- name: reseal
UPDATE channels SET sealed = :sealed WHERE id = :id

-- name: delete
DELETE FROM channels WHERE id = :id

-- name: stop_watching
-- By watches_team and alerts_open; what is watched for a team without channels, nobody is told. It
-- comes before the channel is deleted: who looks at jobs locks them in this order, too.
WITH others AS (
    SELECT count(*) AS count FROM channels WHERE team_id = :team_id AND id <> :id
),
forgotten AS (
    DELETE FROM alerts USING others WHERE team_id = :team_id AND others.count = 0
)
DELETE FROM watches USING others WHERE team_id = :team_id AND others.count = 0

-- name: add_test
INSERT INTO deliveries (id, channel_id, team_id, kind, state, made_at, send_at, is_open)
SELECT :id::uuid, c.id, c.team_id, 'test', 'waiting', clock.now, clock.now, false
FROM channels c
JOIN teams t ON t.id = c.team_id
CROSS JOIN (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.name = :team AND c.name = :name
ON CONFLICT DO NOTHING

-- name: of_team
-- By the unique key (team_id, name), and deliveries_due for those that wait.
SELECT c.name, c.kind, c.scheme, c.made_at, c.delivered_at, c.failing_since, c.failure,
       (
           SELECT count(*) FROM deliveries d WHERE d.channel_id = c.id AND d.state = 'waiting'
       ) AS waiting
FROM channels c
JOIN teams t ON t.id = c.team_id
WHERE t.name = :team AND (:name::text IS NULL OR c.name = :name)
ORDER BY c.name
LIMIT 1000

-- name: deliveries
-- By deliveries_of_team, newest first.
SELECT
    -- include: delivery_columns
FROM deliveries d
JOIN channels c ON c.id = d.channel_id
JOIN teams t ON t.id = d.team_id
WHERE t.name = :team AND (:channel::text IS NULL OR c.name = :channel)
ORDER BY d.made_at DESC
LIMIT :limit

-- name: delivery
SELECT
    -- include: delivery_columns
FROM deliveries d
JOIN channels c ON c.id = d.channel_id
JOIN teams t ON t.id = d.team_id
WHERE d.id = :id::uuid
