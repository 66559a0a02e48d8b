-- Leases and pauses go by the database's clock, which may be put back, or be another machine's after
-- a failover. A moment that was set at most `longest` ahead and lies further ahead than that was
-- set by a clock that has been put back since: it would be waited for as long as the clock jumped.
-- Twice as far is allowed for, so that clocks that differ by seconds take no lease from anybody. A
-- lease ended too early does no harm: whoever held it finds its token gone.
CREATE FUNCTION has_come(moment timestamptz, longest interval)
RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN moment <= now() OR moment > now() + 2 * longest;
