w.name, w.starts_at, w.ends_at, w.policy, w.labels::text AS labels, w.reason
