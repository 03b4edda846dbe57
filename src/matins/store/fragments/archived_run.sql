-- A run with all that the archive tells of it.
r.id, r.due_at, to_jsonb(r) || jsonb_build_object(
    'team', t.name, 'job', j.name,
    'attempts', (
        SELECT coalesce(jsonb_agg(to_jsonb(a) - 'run_id' - 'due_at' ORDER BY a.number), '[]')
        FROM past_attempts a
        WHERE a.run_id = r.id AND a.due_at = r.due_at
          AND a.due_at >= :first::timestamptz AND a.due_at < :past::timestamptz
    )
) AS line
