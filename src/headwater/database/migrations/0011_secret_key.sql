-- `serve` moves the secret key out of its own database into a file of the data directory, so that a
-- copy of the database does not open the secrets sealed in it. An external database keeps it, for
-- as long as the operator gives none: several machines then find it there.
ALTER TABLE installation ALTER COLUMN secret_key DROP NOT NULL;
