-- Whole outputs of attempts, in chunks.

-- name: append
-- A chunk that is there already, from a message whose answer was lost, stays as it is.
INSERT INTO outputs (run_id, due_at, number, begins, length, packed)
SELECT *
FROM unnest(
    :run_ids::uuid[], :due_ats::timestamptz[], :numbers::integer[], :begins::bigint[],
    :lengths::integer[], :packed::bytea[]
)
ON CONFLICT DO NOTHING

-- name: ensure_output_day
SELECT ensure_output_day(:day::date)

-- name: length
-- By the primary key, backwards.
SELECT begins + length AS length
FROM outputs
WHERE run_id = :run_id::uuid AND number = :number::integer AND due_at = :due_at::timestamptz
ORDER BY begins DESC
LIMIT 1

-- name: chunks
-- By the primary key: those that begin before the end, and not so long before the start that they end
-- before it.
SELECT begins, packed
FROM outputs
WHERE run_id = :run_id::uuid AND number = :number::integer AND due_at = :due_at::timestamptz
  AND begins < :end::bigint AND begins > :start::bigint - :longest::integer
ORDER BY begins
