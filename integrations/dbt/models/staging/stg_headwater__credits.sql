-- Credits: each touchpoint's share of an event's amount, in the event's and the Space's currency.
select
    id as event_id,
    touchpoint_id,
    event_name,
    event_time_utc as event_time,
    {{ headwater_day('event_time_utc') }} as event_day,
    source,
    campaign_id,
    campaign_name,
    amount as credit,
    currency,
    amount_in_space_currency as credit_in_space_currency
from {{ source('headwater', 'credits') }}
