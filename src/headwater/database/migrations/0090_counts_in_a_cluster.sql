-- The counts of deliveries in a cluster (Citus), where what a trigger adds to them goes through its
-- planner, which finds none of the rows that the trigger is about: these are counted first, and the
-- counts added one by one, of which a statement has few.
CREATE OR REPLACE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counts delivery_counts[];
    counted delivery_counts;
    backend int := pg_backend_pid();
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(g::delivery_counts) INTO counts FROM (
            SELECT a.space_id, a.destination_id, quarter_of(a.created_at), a.status, backend,
                   count(*), min(a.id), max(a.id)
            FROM added a
            GROUP BY 1, 2, 3, 4
        ) g;
    ELSE
        SELECT array_agg(g::delivery_counts) INTO counts FROM (
            SELECT a.space_id, a.destination_id, quarter_of(a.created_at), side.status, backend,
                   sum(side.number)::bigint, min(a.id), max(a.id)
            FROM added a
            JOIN taken t ON t.space_id = a.space_id AND t.id = a.id AND t.status <> a.status
            CROSS JOIN LATERAL (VALUES (a.status, 1), (t.status, -1)) AS side (status, number)
            GROUP BY 1, 2, 3, 4
        ) g;
    END IF;
    FOREACH counted IN ARRAY coalesce(counts, '{}') LOOP
        INSERT INTO delivery_counts AS c (space_id, destination_id, quarter, status, writer,
                                          deliveries, first_id, last_id)
        VALUES (counted.space_id, counted.destination_id, counted.quarter, counted.status,
                counted.writer, counted.deliveries, counted.first_id, counted.last_id)
        ON CONFLICT (space_id, destination_id, quarter, status, writer) DO UPDATE
        SET deliveries = c.deliveries + excluded.deliveries,
            first_id = least(c.first_id, excluded.first_id),
            last_id = greatest(c.last_id, excluded.last_id);
    END LOOP;
    RETURN NULL;
END
$$;
