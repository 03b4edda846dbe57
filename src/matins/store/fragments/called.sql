-- By what a run is called: the job's spec as it is now, or as it was at the run's own revision. That
-- is read only where the run has one.
CROSS JOIN LATERAL (
    SELECT CASE WHEN r.revision IS NULL THEN j.spec
                ELSE (
                    SELECT spec FROM revisions WHERE job_id = r.job_id AND revision = r.revision
                )
           END AS spec
) AS called
