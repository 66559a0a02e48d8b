-- Faulty rows: credits of an event whose sum exceeds its amount in absolute value.
select
    credits.event_id,
    sum(credits.credit) as credited,
    max(events.amount) as amount,
    sum(credits.credit_in_space_currency) as credited_in_space_currency,
    max(events.amount_in_space_currency) as amount_in_space_currency
from {{ ref('stg_headwater__credits') }} as credits
inner join {{ ref('stg_headwater__events') }} as events on events.event_id = credits.event_id
group by credits.event_id
having abs(sum(credits.credit)) > abs(max(events.amount))
    or abs(sum(credits.credit_in_space_currency)) > abs(max(events.amount_in_space_currency))
