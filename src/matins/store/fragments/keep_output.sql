-- How many bytes of the output are kept whole; NULL: none, 0: as many as is usual.
CASE WHEN t.output ->> 'keep' = 'all' THEN coalesce((t.output ->> 'max_bytes')::bigint, 0) END AS keep_output,
