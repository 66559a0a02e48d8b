-- Time decay: the credit of a touch halves with every half-life by which it is older than the latest
-- touch of its path. Weights are whole numbers, the same as those of attribution/decay.py.

ALTER TABLE spaces ADD COLUMN half_life_days smallint NOT NULL DEFAULT 7
    CHECK (half_life_days BETWEEN 1 AND 365);

CREATE FUNCTION whole_seconds(moment timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor(extract(epoch FROM moment))::bigint;

-- The function is written with a table of the weights in the first half-life, in 1024 equal steps:
-- 2^20 / 2^(step / 1024) to the nearest whole number. Later ones are halves of these, rounded down;
-- a half-life's seconds times 1024 fit a bigint for any time that a timestamp can have. Not STRICT,
-- as that would keep the planner from inlining it.
DO $$
BEGIN
    EXECUTE format(
        'CREATE FUNCTION decayed_weight(seconds bigint, half_life_days bigint) RETURNS bigint'
        ' LANGUAGE sql IMMUTABLE PARALLEL SAFE'
        ' RETURN (%L::bigint[])[1 + seconds * 1024 / (half_life_days * 86400) %% 1024]'
        ' >> least(seconds / (half_life_days * 86400), 63)::int',
        (SELECT array_agg(round(1048576 / power(2, step / 1024.0))::bigint ORDER BY step)
         FROM generate_series(0, 1023) step));
END
$$;
