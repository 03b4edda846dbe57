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
-- By the unique key (job_id, due_at, kind), in a range of days.
SELECT due_at, due_until, state, reason, finished_at, claimed_at, retry_at, attempt, pool
FROM all_runs
WHERE job_id = :job_id::uuid
  AND due_at >= :since::timestamptz
  AND due_at < :until::timestamptz
  AND kind = 'scheduled'
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz

-- name: chained_rows
-- As `rows`, of what a job was due with other jobs' runs.
SELECT due_at, due_until, state, reason, finished_at, claimed_at, retry_at, attempt, pool
FROM all_runs
WHERE job_id = :job_id::uuid
  AND due_at >= :since::timestamptz
  AND due_at < :until::timestamptz
  AND kind = 'chained'
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz

-- name: leader_rows
-- By jobs_name_ever, then the unique key. What it waits for is looked up where the chain has no row.
SELECT l.name AS job, r.due_at, r.claimed_at, r.due_until, r.due_count,
       CASE WHEN c.id IS NULL AND r.finished_at IS NOT NULL THEN (
           SELECT CASE WHEN bool_and(o.finished_at IS NOT NULL)
                       THEN greatest(max(o.finished_at), r.finished_at) END
           FROM upstreams u
           CROSS JOIN LATERAL upstream_run(
               u.team_id, u.name, r.due_at,
               r.kind = 'manual' OR coalesce(j.schedule -> 'after' ->> 'join' = 'latest', false)
           ) AS o
           WHERE u.job_id = j.id AND u.name <> l.name
           HAVING count(*) > 0
           UNION ALL
           SELECT r.finished_at
           WHERE NOT EXISTS (SELECT FROM upstreams WHERE job_id = j.id AND name <> l.name)
       ) END AS open_since
FROM jobs j
JOIN jobs l ON l.team_id = j.team_id AND l.name = ANY (:names::text[])
JOIN all_runs r ON r.job_id = l.id
LEFT JOIN all_runs c ON c.job_id = j.id AND c.due_at = r.due_at AND c.kind = 'chained'
                    AND c.due_at >= :first::timestamptz AND c.due_at < :past::timestamptz
WHERE j.id = :job_id::uuid
  AND r.due_at >= :since::timestamptz AND r.due_at < :until::timestamptz
  AND r.due_at >= :first AND r.due_at < :past
  AND r.kind IN ('scheduled', 'chained', 'manual')
