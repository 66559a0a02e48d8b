-- What an amount is made of is worked out once an event, not in the share of each of its touches: the
-- functions that did both are of no use any more.
DROP FUNCTION linear_credit(numeric, bigint, bigint), u_shaped_credit(numeric, bigint, bigint);
