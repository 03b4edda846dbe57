-- What an audit compares: jobs with their revisions, and the rows of the ledger.

-- name: subjects
-- By the primary key. Where no scheduler has ever been, nothing is claimed yet.
SELECT j.id, t.name AS team, j.name, coalesce(l.watermark, timestamptz 'epoch') AS watermark,
       greatest(h.dropped_until, p.succeeded_until, p.others_until) AS purged_until
FROM jobs j
JOIN teams t ON t.id = j.team_id
JOIN leases l ON l.partition = j.partition
CROSS JOIN history h
LEFT JOIN purges p ON p.job_id = j.id
WHERE j.id > :after::uuid
  AND j.created_at < :until::timestamptz
  AND (j.state <> 'deleted' OR j.changed_at >= :since::timestamptz)
ORDER BY j.id
LIMIT :limit

-- name: subjects_of_team
-- By jobs_name_ever.
SELECT j.id, :team::text AS team, j.name, coalesce(l.watermark, timestamptz 'epoch') AS watermark,
       greatest(h.dropped_until, p.succeeded_until, p.others_until) AS purged_until
FROM jobs j
JOIN leases l ON l.partition = j.partition
CROSS JOIN history h
LEFT JOIN purges p ON p.job_id = j.id
WHERE j.team_id = (SELECT id FROM teams WHERE name = :team)
  AND j.name >= coalesce((SELECT name FROM jobs WHERE id = :after::uuid), '')
  AND (j.name, j.id) > (coalesce((SELECT name FROM jobs WHERE id = :after), ''), :after)
  AND j.created_at < :until::timestamptz
  AND (j.state <> 'deleted' OR j.changed_at >= :since::timestamptz)
ORDER BY j.name, j.id
LIMIT :limit

-- name: subjects_of_name
-- By jobs_name_ever.
SELECT j.id, :team::text AS team, j.name, coalesce(l.watermark, timestamptz 'epoch') AS watermark,
       greatest(h.dropped_until, p.succeeded_until, p.others_until) AS purged_until
FROM jobs j
JOIN leases l ON l.partition = j.partition
CROSS JOIN history h
LEFT JOIN purges p ON p.job_id = j.id
WHERE j.team_id = (SELECT id FROM teams WHERE name = :team)
  AND j.name = :name
  AND j.id > :after::uuid
  AND j.created_at < :until::timestamptz
  AND (j.state <> 'deleted' OR j.changed_at >= :since::timestamptz)
ORDER BY j.id
LIMIT :limit

-- name: rows
-- By the unique key (job_id, due_at, kind), in a stretch of days.
SELECT due_at, due_until, state, reason, finished_at, claimed_at, retry_at, attempt, pool
FROM all_runs
WHERE job_id = :job_id::uuid
  AND due_at >= :since::timestamptz
  AND due_at < :until::timestamptz
  AND kind = 'scheduled'
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
