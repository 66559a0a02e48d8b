-- Rows that are wrong: the credits of an event never add up to more than its amount, on either side of 0.
select
    credits.event_id,
    sum(credits.credit) as credited,
    max(events.amount) as amount
from {{ ref('stg_headwater__credits') }} as credits
inner join {{ ref('stg_headwater__events') }} as events on events.event_id = credits.event_id
group by credits.event_id
having abs(sum(credits.credit)) > abs(max(events.amount))
