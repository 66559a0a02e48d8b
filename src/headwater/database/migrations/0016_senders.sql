-- Who said it: an API key, a webhook, an import, an assistant, a page, or a page with a signature of
-- the site's. A page is not believed what the business is (identity/senders.py).

-- NULL in what was accepted before: then the kind of the row tells as much as there is to know.
ALTER TABLE inbox ADD COLUMN sender text;
ALTER TABLE rejected ADD COLUMN sender text;
ALTER TABLE duplicates ADD COLUMN sender text;
ALTER TABLE events ADD COLUMN sender text;
ALTER TABLE touchpoints ADD COLUMN sender text;
ALTER TABLE merges ADD COLUMN sender text;

-- The keys and orders of pages are told apart among themselves: none of them keeps out an event of
-- the business's own.
DROP INDEX events_idempotency;
CREATE UNIQUE INDEX events_idempotency ON events (space_id, event_name, idempotency_key)
    WHERE idempotency_key IS NOT NULL AND sender IS DISTINCT FROM 'browser';
CREATE UNIQUE INDEX events_browser_idempotency ON events (space_id, event_name, idempotency_key)
    WHERE idempotency_key IS NOT NULL AND sender = 'browser';
DROP INDEX events_order;
CREATE UNIQUE INDEX events_order ON events (space_id, event_name, order_id)
    WHERE order_id IS NOT NULL AND NOT is_upsell AND event_name <> 'upsell_purchase'
      AND sender IS DISTINCT FROM 'browser';
CREATE UNIQUE INDEX events_browser_order ON events (space_id, event_name, order_id)
    WHERE order_id IS NOT NULL AND NOT is_upsell AND event_name <> 'upsell_purchase'
      AND sender = 'browser';

-- Merges of the last hour are counted: a burst of them is an alert.
CREATE INDEX merges_lately ON merges (space_id, merged_at);

ALTER TABLE sites
    -- Whether pages may say how much money an event is about.
    ADD COLUMN accepts_amounts boolean NOT NULL DEFAULT true,
    -- The secret that the shop's server signs identifiers with, encrypted; and the one before,
    -- which is believed for as long as its signatures hold.
    ADD COLUMN signing_secret bytea,
    ADD COLUMN former_secret bytea,
    ADD COLUMN former_until timestamptz;
