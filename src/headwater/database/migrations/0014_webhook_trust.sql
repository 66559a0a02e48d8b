-- Deliveries that nothing proved to be the sender's are kept apart, so that strangers cannot push
-- out those that were believed. Until now only the missing body told them apart.
ALTER TABLE webhook_deliveries ADD COLUMN believed boolean NOT NULL DEFAULT true;
UPDATE webhook_deliveries SET believed = false WHERE body IS NULL;
DROP INDEX webhook_deliveries_latest;
CREATE INDEX webhook_deliveries_latest ON webhook_deliveries (space_id, webhook_id, believed, id);
