-- Events, with ids of contacts and companies cast for joins.
select
    id as event_id,
    cast(profile_id as {{ dbt.type_bigint() }}) as contact_id,
    cast(company_id as {{ dbt.type_bigint() }}) as company_id,
    event_name,
    event_time_utc as event_time,
    {{ headwater_day('event_time_utc') }} as event_day,
    amount,
    currency,
    amount_in_space_currency,
    is_upsell,
    order_id,
    order_name
from {{ source('headwater', 'events') }}
