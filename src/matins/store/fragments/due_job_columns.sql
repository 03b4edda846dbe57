j.id, j.partition, j.revision, j.state, j.schedule::text AS schedule, j.anchor, j.since,
j.overrides::text AS overrides, j.calendars, j.misfire::text AS misfire, j.pool, j.next_due_at,
j.next_fire_at, j.team_id, j.priority, j.overlap, j.open_since
