-- People look for an order by its id or by its name: every event of it has one of them. The operator
-- class serves refunds, too, whose ids begin with that of their order.
CREATE INDEX events_by_order_id ON events (space_id, order_id text_pattern_ops)
    WHERE order_id IS NOT NULL;
CREATE INDEX events_by_order_name ON events (space_id, order_name) WHERE order_name IS NOT NULL;
