-- How an amount is shared out over a path's touches, exactly. A credit is a whole number of units:
-- 0.01, or the amount's own last decimal when that is finer. Every touch gets its share rounded
-- down; the units left over go one each to the largest remainders, ties to the earlier touch.
-- Negative amounts mirror positive ones, and no amount gives no credit.
--
-- The closed forms below need only a touch's position (from 1) and the number of touches, so a
-- credit is computed for the rows shown and for no others. None is STRICT: that would keep the
-- planner from inlining them. An amount of at most 1e14 has at most 1e18 units, twice which fits
-- a bigint.

CREATE FUNCTION credit_unit(amount numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE scale(trim_scale(amount)) WHEN 4 THEN 0.0001 WHEN 3 THEN 0.001 ELSE 0.01 END;

CREATE FUNCTION credit_units(amount numeric) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN div(abs(amount), credit_unit(amount))::bigint;

-- Equal shares: the remainders are equal too, so the left-over units go to the first touches.
CREATE FUNCTION linear_units(units bigint, place bigint, touches bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN units / touches + (place <= units % touches)::int;

-- Two fifths to each end and one fifth shared by the m touches between: over the denominator 5m
-- an end has 2m parts and a middle touch 1, hence two remainders, `ends` and `middles`. Whichever
-- is larger has its touches served first.
CREATE FUNCTION u_shaped_left_over(units bigint, m bigint, ends bigint, middles bigint, place bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (CASE
    WHEN ends = middles THEN place
    WHEN ends > middles THEN CASE place WHEN 1 THEN 1 WHEN m + 2 THEN 2 ELSE place + 1 END
    ELSE CASE place WHEN 1 THEN m + 1 WHEN m + 2 THEN m + 2 ELSE place - 1 END
END <= units - 2 * (2 * units / 5) - m * (units / (5 * m)))::int;

CREATE FUNCTION u_shaped_units(units bigint, place bigint, touches bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN touches < 3 THEN linear_units(units, place, touches) ELSE
    CASE WHEN place IN (1, touches) THEN 2 * units / 5 ELSE units / (5 * (touches - 2)) END
    + u_shaped_left_over(
        units, touches - 2, 2 * units % 5 * (touches - 2), units % (5 * (touches - 2)), place)
END;

CREATE FUNCTION linear_credit(amount numeric, place bigint, touches bigint)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sign(amount) * linear_units(credit_units(amount), place, touches) * credit_unit(amount);

CREATE FUNCTION u_shaped_credit(amount numeric, place bigint, touches bigint)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sign(amount) * u_shaped_units(credit_units(amount), place, touches) * credit_unit(amount);
