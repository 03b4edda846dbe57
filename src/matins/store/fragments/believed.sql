-- The teams whose rules are still those by which it was decided.
SELECT t.id
FROM unnest(:team_ids::integer[], :rules_revisions::bigint[], :valid_untils::timestamptz[])
    AS b (team_id, revision, valid_until)
JOIN teams t ON t.id = b.team_id AND t.rules_revision = b.revision
WHERE coalesce(b.valid_until, 'infinity') > coalesce(:now::timestamptz, clock_timestamp())
