-- The attempts that have ended. One that is tried again ended when its wait begins.
INSERT INTO attempts (
    run_id, due_at, number, executor, started_at, finished_at, outcome, reason, exit_code,
    http_status, output, output_cut, fingerprint, results
)
SELECT id, due_at, attempt, :executor, started_at,
       coalesce(finished_at, retry_at - make_interval(secs => retry_in)), outcome, attempt_reason,
       exit_code, http_status, output, output_cut, fingerprint, results
FROM moved
