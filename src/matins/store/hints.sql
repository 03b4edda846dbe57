-- name: send
SELECT pg_notify(:channel::text, word) FROM unnest(:words::text[]) AS word
