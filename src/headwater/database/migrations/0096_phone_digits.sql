-- Contacts by telephone number: the same number is written in many ways, and all end in the same
-- digits. A column of its own, because row-level security keeps a search by an expression out of an
-- index.
ALTER TABLE contact_identifiers ADD COLUMN phone_digits text
    GENERATED ALWAYS AS (
        CASE WHEN kind = 'phone' THEN right(regexp_replace(value, '[^0-9]', '', 'g'), 7) END
    ) STORED;
-- No samples of numbers are kept. A cluster (Citus) refuses this change of a distributed table, so it
-- is made to the table that its parts are created from; elsewhere the setting means nothing.
SELECT set_config('citus.enable_ddl_propagation', 'off', true);
ALTER TABLE contact_identifiers ALTER COLUMN phone_digits SET STATISTICS 0;
SELECT set_config('citus.enable_ddl_propagation', 'on', true);
CREATE INDEX contact_identifiers_phone ON contact_identifiers (space_id, phone_digits)
    WHERE kind = 'phone';
