-- Restores from a backup: what schedulers note, and what operators decide.

-- name: watermarks
SELECT min(watermark) AS oldest, max(watermark) AS newest FROM leases WHERE watermark IS NOT NULL

-- name: note_restore
INSERT INTO restores AS r (noticed_at, lost_since, seen_until)
VALUES (coalesce(:now::timestamptz, clock_timestamp()), :lost_since::timestamptz,
        :seen_until::timestamptz)
ON CONFLICT ((true)) WHERE resolved_at IS NULL DO UPDATE
SET lost_since = least(r.lost_since, excluded.lost_since),
    seen_until = greatest(r.seen_until, excluded.seen_until)

-- name: unresolved_restore
SELECT lost_since, seen_until, noticed_at, resolved_at FROM restores WHERE resolved_at IS NULL

-- name: newest_restore
SELECT lost_since, seen_until, noticed_at, resolved_at
FROM restores
ORDER BY noticed_at DESC
LIMIT 1

-- name: count_uncertain
SELECT count(*)::integer AS uncertain, count(DISTINCT job_id)::integer AS jobs,
       (count(*) FILTER (
           WHERE is_active AND due_at >= :since::timestamptz
             AND (:missed::text = 'all' OR (:missed = 'last' AND NOT is_older))
       ))::integer AS to_run
FROM (
    -- include: uncertain
) AS u

-- name: resolve
UPDATE restores
SET resolved_at = coalesce(:now::timestamptz, clock_timestamp())
WHERE noticed_at = :noticed_at::timestamptz AND resolved_at IS NULL

-- name: resume
-- again: chains that were skipped because of what is to run now.
WITH page AS MATERIALIZED (
    -- include: uncertain
    ORDER BY r.due_at, r.id
    LIMIT :limit::integer
),
decided AS (
    SELECT id, due_at,
           is_active AND due_at >= :since::timestamptz
               AND (:missed::text = 'all' OR (:missed = 'last' AND NOT is_older)) AS starts
    FROM page
),
changed AS (
    UPDATE runs r
    SET state = CASE WHEN d.starts THEN 'waiting' ELSE r.state END,
        reason = CASE WHEN d.starts THEN :to_be_admitted::text ELSE :left_out::text END,
        finished_at = CASE WHEN NOT d.starts THEN r.finished_at END
    FROM decided d
    WHERE r.id = d.id AND r.due_at = d.due_at AND r.state = 'skipped' AND r.reason = :uncertain
    RETURNING r.id, r.job_id, r.due_at, r.partition, r.team_id, d.starts
),
asked AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, coalesce(:now::timestamptz, clock_timestamp()), id, due_at, team_id, 'claim'
    FROM changed
    WHERE starts
),
opened AS (
    UPDATE jobs j
    SET open_since = least(j.open_since, c.due_at)
    FROM (SELECT job_id, min(due_at) AS due_at FROM changed WHERE starts GROUP BY job_id) AS c
    WHERE j.id = c.job_id
),
again AS (
    INSERT INTO links_again (partition, job_id, due_at)
    SELECT d.partition, d.id, c.due_at
    FROM changed c
    JOIN jobs j ON j.id = c.job_id
    JOIN upstreams u ON u.team_id = j.team_id AND u.name = j.name
    JOIN jobs d ON d.id = u.job_id
    WHERE c.starts
    ON CONFLICT DO NOTHING
)
SELECT (count(*) FILTER (WHERE starts))::integer AS to_run,
       (count(*) FILTER (WHERE NOT starts))::integer AS left_out
FROM changed
