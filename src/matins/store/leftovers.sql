-- Rows beside runs that nobody asks for any more.

-- name: forget_handouts
-- Of executors that ended long enough ago for all that they held to be taken back.
WITH ended AS MATERIALIZED (
    SELECT e.id
    FROM executors e
    WHERE e.ended_at < :before::timestamptz
      AND EXISTS (SELECT FROM handouts h WHERE h.executor = e.id)
    LIMIT :limit
)
DELETE FROM handouts h
USING ended e
WHERE h.executor = e.id
  AND NOT EXISTS (
      SELECT
      FROM unnest(h.run_ids) AS given (run_id)
      JOIN runs r ON r.id = given.run_id AND r.due_at = run_due_at(given.run_id)
      WHERE r.state = 'running' AND r.executor = h.executor
  )

-- name: delete_executors
DELETE FROM executors
WHERE id = ANY (ARRAY(
    SELECT e.id
    FROM executors e
    WHERE e.ended_at < :before::timestamptz
      AND NOT EXISTS (SELECT FROM handouts h WHERE h.executor = e.id)
    LIMIT :limit
))
RETURNING id

-- name: delete_trigger_keys
-- By trigger_keys_made.
DELETE FROM trigger_keys
WHERE (job_id, key) IN (
    SELECT job_id, key FROM trigger_keys WHERE made_at < :before::timestamptz LIMIT :limit
)
RETURNING job_id

-- name: delete_revisions
-- By revisions_changed: what was replaced, in a page by the instant of what replaced it. The one
-- that was in force at `before` stays, and all of a job with an unfinished backfill.
WITH newer AS (
    SELECT job_id, revision, effective_at
    FROM revisions
    WHERE effective_at > coalesce(
              (SELECT revisions_until FROM history), timestamptz '-infinity'
          )
      AND effective_at < :before::timestamptz
    ORDER BY effective_at
    FETCH FIRST :limit ROWS WITH TIES
),
gone AS (
    DELETE FROM revisions r
    USING newer n
    WHERE r.job_id = n.job_id AND r.revision < n.revision
      AND NOT EXISTS (
          SELECT FROM backfills b WHERE b.job_id = r.job_id AND b.finished_at IS NULL
      )
),
noted AS (
    UPDATE history
    SET revisions_until = (SELECT max(effective_at) FROM newer)
    WHERE EXISTS (SELECT FROM newer)
)
SELECT count(*)::integer AS looked_at FROM newer

-- name: delete_backfills
-- By backfills_finished; what they left out goes with them.
DELETE FROM backfills
WHERE id = ANY (ARRAY(
    SELECT id FROM backfills WHERE finished_at < :before::timestamptz LIMIT :limit
))
RETURNING id

-- name: delete_replays
-- By replays_finished.
DELETE FROM replays
WHERE id = ANY (ARRAY(
    SELECT id FROM replays WHERE finished_at < :before::timestamptz LIMIT :limit
))
RETURNING id
