-- The last of the runs in `walked`, and how many they are.
SELECT id, row_number() OVER (ORDER BY id DESC) AS number
FROM walked
ORDER BY id
LIMIT 1
