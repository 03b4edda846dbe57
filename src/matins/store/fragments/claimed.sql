SELECT CASE WHEN (SELECT count(*) FROM made) < cardinality(:run_ids)
            THEN array(SELECT id FROM made) END AS made,
       array(SELECT partition FROM fence) AS fenced,
       array(SELECT DISTINCT job_id FROM due WHERE NOT fresh) AS stale,
       array(SELECT run_id FROM asked) AS asked,
       array(SELECT partition FROM asked) AS asked_partitions,
       array(SELECT ready_at FROM asked) AS asked_ready_ats,
       array(SELECT team_id FROM asked) AS asked_team_ids
