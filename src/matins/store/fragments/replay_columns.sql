r.id, r.state, r.rate, r.planned, r.replayed, r.left_out, r.made_at, r.made_by, r.until, r.job,
r.fingerprint, r.since, r.finished_at, t.name AS team, coalesce(:now::timestamptz, clock_timestamp()) AS now
