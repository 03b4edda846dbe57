d.id, t.name AS team, c.name AS channel, d.kind, d.state, d.made_at, d.send_at, d.ended_at,
d.tries::text AS tries, (SELECT count(*) FROM notices n WHERE n.delivery_id = d.id) AS notices
