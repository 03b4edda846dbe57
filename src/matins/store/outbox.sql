-- The outbox of alerts: messages that are due are taken, sent outside of any transaction, and what
-- came of it is written. See docs/decisions/0026-alerts.md.

-- name: take
-- By deliveries_due. A channel is taken, so that it gets one message at a time; whoever finds it
-- locked goes on with others.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now
),
due AS MATERIALIZED (
    SELECT DISTINCT ON (channel_id) channel_id, id
    FROM deliveries
    WHERE state = 'waiting' AND send_at <= (SELECT now FROM clock)
    ORDER BY channel_id, send_at, id
),
free AS MATERIALIZED (
    SELECT c.id, due.id AS delivery_id
    FROM due
    CROSS JOIN clock
    JOIN channels c ON c.id = due.channel_id
    WHERE c.taken_until IS NULL OR c.taken_until <= clock.now
    LIMIT :limit
    FOR NO KEY UPDATE OF c SKIP LOCKED
),
taken AS (
    UPDATE channels c
    SET taken_until = clock.now + :lease::interval
    FROM free
    CROSS JOIN clock
    WHERE c.id = free.id
    RETURNING c.id, c.name, c.kind, c.sealed, free.delivery_id
)
UPDATE deliveries d
SET is_open = false
FROM taken
CROSS JOIN clock
JOIN channels c ON c.id = taken.id
JOIN teams t ON t.id = c.team_id
WHERE d.id = taken.delivery_id AND d.ended_at IS NULL  -- waiting, and by the primary key
RETURNING d.id, taken.id AS channel_id, taken.name AS channel, taken.kind AS channel_kind,
          taken.sealed, t.name AS team, d.kind, d.made_at, clock.now AS taken_at,
          jsonb_array_length(d.tries) AS tries

-- name: notices
-- By notices_delivery.
SELECT n.job_id, t.name AS team, coalesce(j.name, n.job_id::text) AS job, n.rule, n.turn, n.at,
       n.since, n.why AS reason, n.run_id, count(*) OVER () AS count
FROM notices n
JOIN deliveries d ON d.id = n.delivery_id
JOIN teams t ON t.id = d.team_id
LEFT JOIN jobs j ON j.id = n.job_id
WHERE n.delivery_id = :id::uuid
ORDER BY n.at, j.name, n.rule
LIMIT :limit

-- name: ended
-- The end of the last attempt's output, by the primary key in a day, and whether there is a letter.
SELECT right(a.output, 4000) AS output, EXISTS (
    SELECT FROM dead_letters l WHERE l.run_id = a.run_id AND l.dismissed_at IS NULL
) AS is_dead_letter
FROM all_attempts a
WHERE a.run_id = :run_id::uuid AND a.due_at = :due_at::timestamptz
  AND a.due_at >= :first::timestamptz AND a.due_at < :past::timestamptz
ORDER BY a.number DESC
LIMIT 1

-- name: good_until
-- The last success of a job that is known, by the primary key.
SELECT coalesce(succeeded_at, expect_from) AS good_until,
       coalesce(:now::timestamptz, clock_timestamp()) AS now
FROM watches
WHERE job_id = :job_id::uuid

-- name: record
-- Whoever took it meanwhile has written more tries: then nothing is changed.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now
),
recorded AS (
    UPDATE deliveries d
    SET tries = d.tries || :last_try::jsonb,
        state = :state::text,
        send_at = clock.now + :wait::interval,
        ended_at = CASE WHEN :state <> 'waiting' THEN clock.now END
    FROM clock
    WHERE d.id = :id::uuid AND d.state = 'waiting' AND jsonb_array_length(d.tries) = :tries::integer
    RETURNING d.id
)
UPDATE channels c
SET taken_until = NULL,
    delivered_at = CASE WHEN :error::text = '' THEN clock.now ELSE c.delivered_at END,
    failing_since = CASE WHEN :error <> '' THEN coalesce(c.failing_since, clock.now) END,
    failure = :error
FROM recorded
CROSS JOIN clock
WHERE c.id = :channel_id
RETURNING c.id

-- name: purge
-- By deliveries_ended; notices go with their message.
DELETE FROM deliveries
WHERE id IN (
    SELECT id
    FROM deliveries
    WHERE ended_at < (SELECT coalesce(:now::timestamptz, clock_timestamp())) - :older::interval
    LIMIT :limit
)
RETURNING id
