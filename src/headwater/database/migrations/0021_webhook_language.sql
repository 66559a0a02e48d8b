-- The language in which a webhook's topic and mapping are written. Rows that are here already, and
-- those that a process of 0.1.0 still adds, hold its expressions, which are translated when they
-- are read.
ALTER TABLE webhooks
    ADD COLUMN language text NOT NULL DEFAULT 'paths' CHECK (language IN ('paths', 'jmespath'));
