-- What the gates note of them.
UPDATE gates g
SET revision = g.revision + 1,
    next_start_at = p.next_start_at,
    minute_at = date_trunc('minute', coalesce(:now, clock_timestamp())),
    minute_starts = p.starts + CASE g.minute_at
        WHEN date_trunc('minute', coalesce(:now, clock_timestamp())) THEN g.minute_starts ELSE 0
    END
FROM (
    SELECT gate_id, max(next_start_at) AS next_start_at, count(*) AS starts
    FROM promised
    WHERE (run_id IN (SELECT id FROM moved)) IS TRUE
    GROUP BY gate_id
) AS p
WHERE g.id = p.gate_id
