-- The teams whose runs must be asked about before they start. By windows_ends: a window is in force,
-- or one that skips was when the oldest of these claims was to fire.
SELECT team_id
FROM windows
WHERE ends_at > :oldest_fire_at::timestamptz
  AND starts_at <= coalesce(:now::timestamptz, clock_timestamp())
  AND (policy = 'skip' OR ends_at > coalesce(:now, clock_timestamp()))
UNION ALL
-- By gates_of_teams: quotas.
SELECT team_id FROM gates WHERE kind = 'team' AND (run_limit IS NOT NULL OR rate IS NOT NULL)
