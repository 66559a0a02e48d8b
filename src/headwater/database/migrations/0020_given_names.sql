-- How a name divides into first and last name, where somebody said so and it is not at the first
-- blank, as names are divided otherwise. Of identifiers of the kind `name` only. No samples are kept
-- of either, as of all that is personal.
ALTER TABLE contact_identifiers ADD COLUMN first_name text, ADD COLUMN last_name text;
ALTER TABLE contact_identifiers
    ALTER COLUMN first_name SET STATISTICS 0, ALTER COLUMN last_name SET STATISTICS 0;
