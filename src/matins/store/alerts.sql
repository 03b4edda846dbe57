-- Alerts: which jobs are looked at, what is known of them, and how they stand.
-- See docs/decisions/0026-alerts.md.

-- name: begin
-- From where the last look has woken watches, also where the clock was put back; held until the
-- transaction ends. A statement may commit this much later than the time that it writes.
SELECT least(l.woken_until, clock.now) - interval '30 seconds' AS since, l.woken_until,
       clock.now
FROM alert_looks l
CROSS JOIN (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
FOR UPDATE OF l

-- name: wake_changed
-- By revisions_changed: jobs of teams with a channel that are new, or not as they were looked at.
-- What a new job did before this look is told, too.
INSERT INTO watches (job_id, team_id, look_at, made_at, expect_from)
SELECT j.id, j.team_id, :at::timestamptz, told.since, told.since
FROM (SELECT DISTINCT job_id FROM revisions WHERE effective_at > :since::timestamptz) AS changed
JOIN jobs j ON j.id = changed.job_id
CROSS JOIN LATERAL (
    SELECT greatest(j.created_at, min(c.made_at)) AS since
    FROM channels c
    WHERE c.team_id = j.team_id
    HAVING count(*) > 0
) AS told
WHERE j.state <> 'deleted'
ON CONFLICT (job_id) DO UPDATE
SET look_at = :at
WHERE watches.look_at > :at
  AND watches.revision <> (SELECT revision FROM jobs WHERE id = watches.job_id)

-- name: wake_dead
-- By dead_letters_team, from the last look on, for teams with a channel. When a job was looked at says
-- nothing about what of it was committed by then, or after the clock was put back; but what cannot have
-- been seen goes before all that is only looked at again.
UPDATE watches w
SET look_at = CASE WHEN dead.dead_at < w.looked_at THEN :at::timestamptz ELSE 'epoch' END
FROM (SELECT DISTINCT team_id FROM channels) AS team
CROSS JOIN LATERAL (
    SELECT job_id, max(dead_at) AS dead_at
    FROM dead_letters
    WHERE team_id = team.team_id AND dead_at > :since::timestamptz
    GROUP BY job_id
) AS dead
WHERE w.job_id = dead.job_id
  AND w.look_at > CASE
      WHEN dead.dead_at < w.looked_at THEN :at ELSE 'epoch'::timestamptz
  END

-- name: wake_bad
-- What is bad is looked at again once its job has changed, or a run of it was made, has started or has
-- ended. That is asked by watches_bad_since of the newest of those that turned bad lately, and by
-- watches_bad of as many sixtieths of all as seconds have passed: of all, where the clock was put back.
-- What is written later than it says (see `begin`) is seen all the same.
UPDATE watches w
SET look_at = greatest(:at::timestamptz, w.looked_at + interval '1 second')
FROM (
    (
        SELECT job_id
        FROM watches
        WHERE bad_since > :at::timestamptz - :young::interval
        ORDER BY bad_since DESC
        LIMIT :young_max::integer
    )
    UNION
    SELECT job_id
    FROM watches
    WHERE bad_since IS NOT NULL
      AND get_byte(uuid_send(job_id), 15) % 60 = ANY (:slices::integer[])
) AS bad
JOIN jobs j ON j.id = bad.job_id
WHERE w.job_id = bad.job_id
  AND w.look_at > greatest(:at, w.looked_at + interval '1 second')
  AND (w.looked_at > :at OR w.revision <> j.revision OR EXISTS (
      SELECT
      FROM (
          SELECT *
          FROM runs
          WHERE job_id = bad.job_id AND kind <> 'backfill'
          ORDER BY due_at DESC
          LIMIT :runs::integer
      ) AS r
      WHERE r.state <> 'dead'
        AND greatest(r.claimed_at, r.started_at, r.finished_at) > w.looked_at - interval '30 seconds'
  ))

-- name: woken
UPDATE alert_looks SET woken_until = :at::timestamptz

-- name: due
-- By watches_due, and no further than what is due.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now
)
SELECT w.job_id, t.name AS team, w.looked_at, w.made_at, w.expect_from, w.succeeded_at, w.took_s,
       w.was_active, j.revision, j.state, j.reason, j.spec::text AS spec, j.changed_at, j.anchor,
       j.since, j.overrides::text AS overrides, j.calendars, j.next_due_at, j.next_fire_at,
       j.schedule::text AS schedule, w.team_id, clock.now
FROM clock
CROSS JOIN LATERAL (
    SELECT * FROM watches WHERE look_at <= clock.now ORDER BY look_at LIMIT :limit
) AS w
JOIN jobs j ON j.id = w.job_id
JOIN teams t ON t.id = w.team_id
ORDER BY w.look_at

-- name: recent
-- By the unique key (job_id, due_at, kind), in a stretch of days: so many of each job. Its columns
-- after the first are the fields of SeenRun, in their order.
SELECT r.job_id, r.id, r.kind, r.state, r.due_at, r.fire_at, r.claimed_at, r.started_at,
       r.finished_at, r.attempt, r.reason, r.due_count, r.due_until
FROM unnest(:job_ids::uuid[], :depths::integer[]) AS w (job_id, depth)
CROSS JOIN LATERAL (
    SELECT *
    FROM all_runs
    WHERE job_id = w.job_id AND kind <> 'backfill'
      AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
    ORDER BY due_at DESC
    LIMIT w.depth
) AS r

-- name: newest_deaths
-- By dead_letters_job: of each job the run that died last, however old its due time is, unless its day
-- is in the history. Its columns are those of `recent`.
SELECT r.*
FROM unnest(:job_ids::uuid[]) AS w (job_id)
CROSS JOIN LATERAL (
    SELECT r.job_id, r.id, r.kind, r.state, r.due_at, r.fire_at, r.claimed_at, r.started_at,
           r.finished_at, r.attempt, r.reason, r.due_count, r.due_until
    FROM dead_letters l
    JOIN runs r ON r.id = l.run_id AND r.due_at = l.due_at
    WHERE l.job_id = w.job_id AND r.kind <> 'backfill'
    ORDER BY l.dead_at DESC
    LIMIT 1
) AS r

-- name: standings
-- By the primary key.
SELECT job_id, rule, standing::text AS standing FROM alerts WHERE job_id = ANY (:job_ids::uuid[])

-- name: team_rules
SELECT team_id, name, labels::text AS labels, rules::text AS rules
FROM alert_rules
WHERE team_id = ANY (:team_ids::integer[])

-- name: team_windows
-- By windows_team: those in force.
SELECT w.team_id,
    -- include: window_columns
FROM windows w
WHERE w.team_id = ANY (:team_ids::integer[])
  AND w.starts_at <= :at::timestamptz AND w.ends_at > :at

-- name: lock
-- Those that nobody has looked at meanwhile.
SELECT w.job_id
FROM unnest(:job_ids::uuid[], :believed::timestamptz[]) AS b (job_id, looked_at)
JOIN watches w ON w.job_id = b.job_id AND w.looked_at IS NOT DISTINCT FROM b.looked_at
ORDER BY w.job_id
FOR UPDATE OF w

-- name: write
UPDATE watches w
SET looked_at = :at::timestamptz, look_at = coalesce(n.look_at, 'infinity'), bad_since = n.bad_since,
    expect_from = n.expect_from, succeeded_at = n.succeeded_at, took_s = n.took_s,
    revision = n.revision, was_active = n.is_active
FROM unnest(
    :job_ids::uuid[], :look_ats::timestamptz[], :bad_sinces::timestamptz[],
    :expect_froms::timestamptz[], :succeeded_ats::timestamptz[], :took_ss::float8[],
    :revisions::integer[], :actives::boolean[]
) AS n (job_id, look_at, bad_since, expect_from, succeeded_at, took_s, revision, is_active)
WHERE w.job_id = n.job_id

-- name: stand
INSERT INTO alerts (job_id, rule, team_id, is_bad, told, since, why, run_id, standing)
SELECT n.job_id, n.rule, w.team_id, n.is_bad, n.is_notified, n.since, n.reason, n.run_id, n.standing
FROM unnest(
    :job_ids::uuid[], :rules::text[], :bads::boolean[], :notified::boolean[], :sinces::timestamptz[],
    :reasons::text[], :run_ids::uuid[], :standings::jsonb[]
) AS n (job_id, rule, is_bad, is_notified, since, reason, run_id, standing)
JOIN watches w ON w.job_id = n.job_id
ON CONFLICT (job_id, rule) DO UPDATE
SET is_bad = excluded.is_bad, told = excluded.told, since = excluded.since, why = excluded.why,
    run_id = excluded.run_id, standing = excluded.standing

-- name: forget_deleted
-- Jobs that were deleted are watched no more.
WITH gone AS (
    DELETE FROM watches w USING jobs j
    WHERE j.id = w.job_id AND w.job_id = ANY (:job_ids::uuid[]) AND j.state = 'deleted'
    RETURNING w.job_id
)
DELETE FROM alerts a USING gone WHERE a.job_id = gone.job_id

-- name: put_off
UPDATE watches SET look_at = :until::timestamptz WHERE job_id = ANY (:job_ids::uuid[])

-- name: channels
-- By the unique key (team_id, name). None of them is deleted before the message is written.
SELECT c.id, t.name AS team, c.name
FROM channels c
JOIN teams t ON t.id = c.team_id
WHERE t.name = ANY (:teams::text[])
ORDER BY c.team_id, c.name
FOR KEY SHARE OF c

-- name: gather
-- Into the message of a channel that is still open, else into a new one. What tells of a second job
-- makes it wait for a burst.
INSERT INTO deliveries (id, channel_id, team_id, kind, state, made_at, send_at, is_open)
SELECT :id::uuid, c.id, c.team_id, :kind, 'waiting', :at::timestamptz,
       :at + CASE WHEN :is_burst::boolean THEN :gather_burst::interval ELSE :gather::interval END, true
FROM channels c
WHERE c.id = :channel_id
ON CONFLICT (channel_id, kind) WHERE is_open DO UPDATE
SET send_at = CASE
    WHEN :is_burst OR EXISTS (
        SELECT FROM notices n WHERE n.delivery_id = deliveries.id AND n.job_id <> :job_id::uuid
    ) THEN deliveries.made_at + :gather_burst
    ELSE deliveries.send_at
END
RETURNING id

-- name: notice
INSERT INTO notices (
    channel_id, edge_id, delivery_id, job_id, rule, turn, at, since, why, run_id
)
SELECT :channel_id::integer, n.edge_id, :delivery_id::uuid, n.job_id, n.rule, n.turn,
       :at::timestamptz, n.since, n.reason, n.run_id
FROM unnest(
    :edge_ids::uuid[], :job_ids::uuid[], :rules::text[], :turns::text[], :sinces::timestamptz[],
    :reasons::text[], :run_ids::uuid[]
) AS n (edge_id, job_id, rule, turn, since, reason, run_id)
ON CONFLICT DO NOTHING
