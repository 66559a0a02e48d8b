-- By contact: events with an amount, their sum in the Space's currency, the first and the last one. Amounts
-- without an exchange rate are left out, like in reports.
select
    contacts.contact_id,
    contacts.email,
    count(events.event_id) as paid_events,
    coalesce(sum(events.amount_in_space_currency), 0) as revenue,
    min(events.event_time) as first_paid_at,
    max(events.event_time) as last_paid_at
from {{ ref('stg_headwater__contacts') }} as contacts
left join {{ ref('stg_headwater__events') }} as events
    on events.contact_id = contacts.contact_id and events.amount is not null
group by contacts.contact_id, contacts.email
