-- An import that was asked for over the API has no user: it belongs to the Space's key.
ALTER TABLE import_jobs ALTER COLUMN user_id DROP NOT NULL;
