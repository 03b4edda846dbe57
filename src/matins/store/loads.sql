-- What lies on the system now. Nothing is looked at beyond :most rows of each table, and their runs are
-- found by id.

-- name: loads
SELECT l.room, t.name AS team, l.pool, count(*)::integer AS runs
FROM (
    SELECT 'running' AS room, r.team_id, r.pool
    FROM (
        SELECT given.run_id
        FROM handouts CROSS JOIN LATERAL unnest(run_ids) AS given (run_id)
        LIMIT :most::integer
    ) AS held
    JOIN runs r ON r.id = held.run_id AND r.due_at = run_due_at(held.run_id)
    WHERE r.state = 'running'
    UNION ALL
    SELECT 'queued', r.team_id, r.pool
    FROM (SELECT run_id, due_at FROM dispatch LIMIT :most) AS q
    JOIN runs r ON r.id = q.run_id AND r.due_at = q.due_at
    UNION ALL
    SELECT 'waiting', w.team_id, r.pool
    FROM (SELECT run_id, due_at, team_id FROM waiting LIMIT :most) AS w
    JOIN runs r ON r.id = w.run_id AND r.due_at = w.due_at
) AS l
JOIN teams t ON t.id = l.team_id
GROUP BY l.room, t.name, l.pool
ORDER BY l.room, t.name, l.pool

-- name: engine
SELECT current_setting('server_version') AS version,
       pg_database_size(current_database()) AS size,
       (SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend')
           AS connections,
       current_setting('max_connections')::integer AS connections_max
