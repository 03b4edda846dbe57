b.id, t.name AS team, j.name AS job, b.state, b.since, b.until, b."order", b.run_limit, b.again,
b.reason, b.made_at, b.finished_at, b.walked, b.planned, b.made, b.left_out, b.succeeded, b.dead,
b.cancelled, b.skipped, b.rated_at, b.rated_ended,
coalesce(:now::timestamptz, clock_timestamp()) AS now
