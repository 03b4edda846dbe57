-- Where a backfill stands after a step.
UPDATE backfills b
SET step = b.step + 1, state = :state, mark = :mark::timestamptz, walked = :walked,
    reason = CASE :reason WHEN '' THEN b.reason ELSE :reason END,
    finished_at = CASE WHEN :finished THEN c.now END,
    made = b.made + (SELECT count(*) FROM made),
    left_out = b.left_out + :left_out::integer,
    succeeded = b.succeeded + :succeeded::integer, dead = b.dead + :dead::integer,
    cancelled = b.cancelled + :cancelled::integer, skipped = b.skipped + :skipped::integer
FROM current c
WHERE b.id = c.id
RETURNING b.job_id, b.finished_at
