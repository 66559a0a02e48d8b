-- Credited revenue by day and name of the event, source and campaign, in the Space's currency: the figures
-- of GET /reports for the exported model and window. Events without a touchpoint in the window, which have
-- no credits, are unattributed.
with credited as (
    select
        event_day,
        event_name,
        source,
        campaign_id,
        campaign_name,
        credit_in_space_currency as credit,
        event_id
    from {{ ref('stg_headwater__credits') }}
),

unattributed as (
    select
        events.event_day,
        events.event_name,
        cast(null as {{ dbt.type_string() }}) as source,
        cast(null as {{ dbt.type_string() }}) as campaign_id,
        cast(null as {{ dbt.type_string() }}) as campaign_name,
        events.amount_in_space_currency as credit,
        events.event_id
    from {{ ref('stg_headwater__events') }} as events
    left join {{ ref('stg_headwater__credits') }} as credits on credits.event_id = events.event_id
    where credits.event_id is null
),

all_rows as (
    select * from credited
    union all
    select * from unattributed
)

select
    event_day,
    event_name,
    coalesce(source, 'unattributed') as source,
    campaign_id,
    max(campaign_name) as campaign_name,
    count(distinct event_id) as events_with_credit,
    sum(credit) as credited_revenue
from all_rows
group by event_day, event_name, coalesce(source, 'unattributed'), campaign_id
