-- Files of spend may have lines before their header: a title, the days, the account.

ALTER TABLE import_jobs ADD COLUMN lines_before integer NOT NULL DEFAULT 0 CHECK (lines_before >= 0);
