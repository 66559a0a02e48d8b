-- What a Space is locked by. On a single PostgreSQL it is the Space's own row, which versions from
-- before lock as well. A cluster has `spaces` on every node, where a lock of one row holds up all
-- others: there `headwater distribute` makes this a table, distributed like what the locks are about.
CREATE VIEW space_locks WITH (security_invoker = true) AS SELECT s.id AS space_id FROM spaces s;
-- A Space's row is in the view as soon as there is the Space.
CREATE RULE is_there AS ON INSERT TO space_locks DO INSTEAD NOTHING;
