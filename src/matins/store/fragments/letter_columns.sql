d.run_id, d.due_at, d.dead_at, d.reason, d.error, d.fingerprint, d.dismissed_at, d.dismissed_by, d.note,
d.replayed_as, t.name AS team, j.name AS job
