-- Whether the runs of `j` pass gates. By the unique key (team_id, kind, name).
(j.gates <> '{}' OR EXISTS (
    SELECT
    FROM gates
    WHERE team_id = j.team_id AND kind = 'team' AND (run_limit IS NOT NULL OR rate IS NOT NULL)
))
