-- Credits: what each touchpoint gets of an event's amount.
select
    id as event_id,
    touchpoint_id,
    event_name,
    event_time_utc as event_time,
    {{ headwater_day('event_time_utc') }} as event_day,
    source,
    campaign_id,
    campaign_name,
    amount as credit
from {{ source('headwater', 'credits') }}
