-- The gates that are passed or lined up at, locked in the order of their ids, and whether they are still
-- as they were when it was decided; who only lines up (no revision) does not mind.
SELECT g.id, coalesce(g.revision = b.revision, true) AS is_current
FROM unnest(:gate_ids::bigint[], :gate_revisions::bigint[]) AS b (id, revision)
JOIN gates g ON g.id = b.id
ORDER BY g.id
FOR NO KEY UPDATE OF g
