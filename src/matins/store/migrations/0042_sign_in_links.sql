-- Links by which a browser is signed in once, as the hash of their code.
CREATE TABLE sign_in_links (
    code_hash bytea PRIMARY KEY,
    principal text NOT NULL,
    expires_at timestamptz NOT NULL
);
