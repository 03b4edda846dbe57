-- How many runs a window holds, by waiting_asked.
SELECT count(*)
FROM waiting h
WHERE h.team_id = w.team_id AND h.asked IS NOT NULL AND h.cause = 'window' AND h.blocker = w.name
