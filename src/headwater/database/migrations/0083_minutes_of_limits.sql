-- The minute that a rate limit is counted in, as minutes since 1970: a number is compared and returned
-- faster than a moment, and alike on every node of a cluster. What was counted in this minute is lost.
TRUNCATE rate_limits;
ALTER TABLE rate_limits DROP COLUMN window_start, ADD COLUMN minute bigint NOT NULL;
