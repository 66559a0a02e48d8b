-- Which types of webhooks there are is the program's to know: a new one is a module, no migration.
ALTER TABLE webhooks DROP CONSTRAINT IF EXISTS webhooks_type_check;
