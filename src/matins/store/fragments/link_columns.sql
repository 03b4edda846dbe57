j.id AS job_id, j.partition, j.revision, j.pool,
coalesce(j.schedule -> 'after' ->> 'when', 'all_success') AS "when",
r.due_at, r.due_until, r.due_count,
(
    SELECT json_agg(o ORDER BY position)
    FROM (
        SELECT u.position, u.name AS job, r.state, r.reason, r.finished_at
        FROM upstreams u
        WHERE u.job_id = j.id AND u.position = 0
        UNION ALL
        SELECT u.position, u.name, o.state, o.reason, o.finished_at
        FROM upstreams u
        CROSS JOIN LATERAL upstream_run(
            u.team_id, u.name, r.due_at,
            r.kind = 'manual' OR coalesce(j.schedule -> 'after' ->> 'join' = 'latest', false)
        ) AS o
        WHERE u.job_id = j.id AND u.position > 0
    ) AS o
)::text AS upstream
