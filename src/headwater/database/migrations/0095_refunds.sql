-- Money that came back, by order. What senders report of an order is kept as they reported it, so
-- that the refunds that follow from it are the same in whatever order the reports arrive.
CREATE TABLE order_refunds (
    space_id bigint NOT NULL,
    order_id text NOT NULL,
    -- The order under which its reports are kept, if this is another id of the same order.
    main_id text,
    -- All ids of the order that are known.
    order_ids text[] NOT NULL,
    -- refunds/reports.py has the form of both.
    reports jsonb NOT NULL,
    counted jsonb NOT NULL,
    -- When money first came back while the order was unknown; NULL when nothing waits.
    waiting_since timestamptz,
    PRIMARY KEY (space_id, order_id)
);
ALTER TABLE order_refunds
    ALTER COLUMN order_id SET STATISTICS 0,
    ALTER COLUMN main_id SET STATISTICS 0,
    ALTER COLUMN order_ids SET STATISTICS 0,
    ALTER COLUMN reports SET STATISTICS 0,
    ALTER COLUMN counted SET STATISTICS 0;
CREATE INDEX order_refunds_waiting ON order_refunds (space_id, waiting_since)
    WHERE waiting_since IS NOT NULL;

-- A report of a refund that was counted before.
ALTER TABLE duplicates
    DROP CONSTRAINT duplicates_reason_check,
    DROP CONSTRAINT duplicates_check,
    ADD CONSTRAINT duplicates_reason_check CHECK (reason IN
        ('idempotency_key', 'order_id', 'repeated_touch', 'repeated_hit', 'refund')),
    ADD CONSTRAINT duplicates_check CHECK (
        (event_id IS NULL) = (reason IN ('repeated_touch', 'repeated_hit')) OR reason = 'refund');

-- Test orders are counted, and make no events unless the webhook says so.
ALTER TABLE webhook_deliveries ADD COLUMN is_test boolean NOT NULL DEFAULT false;
ALTER TABLE webhooks ADD COLUMN takes_tests boolean NOT NULL DEFAULT false;
