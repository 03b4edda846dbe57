-- Ends as they were reported; a column that came empty says the same of all.
SELECT run_id, due_at, number, coalesce(outcome, 'succeeded') AS outcome,
       coalesce(state, 'succeeded') AS state, coalesce(reason, '') AS reason, retry_in,
       exit_code, http_status, coalesce(attempt_reason, '') AS attempt_reason,
       coalesce(output, '') AS output, coalesce(output_cut, 0) AS output_cut,
       coalesce(shared, false) AS shared, nullif(fingerprint, '') AS fingerprint,
       coalesce(error, '') AS error, nullif(results, '')::jsonb AS results
FROM unnest(
    :run_ids::uuid[], :due_ats::timestamptz[], :numbers::integer[], :outcomes::text[],
    :states::text[], :reasons::text[], :retry_ins::float8[], :exit_codes::integer[],
    :http_statuses::integer[], :attempt_reasons::text[], :outputs::text[],
    :output_cuts::bigint[], :shared::boolean[], :fingerprints::text[], :errors::text[],
    :results::text[]
) AS e (run_id, due_at, number, outcome, state, reason, retry_in, exit_code, http_status,
        attempt_reason, output, output_cut, shared, fingerprint, error, results)
