-- Contacts with common fields; profile fields stay in the source.
select
    id as contact_id,
    email,
    name,
    phone,
    location,
    emails
from {{ source('headwater', 'contacts') }}
