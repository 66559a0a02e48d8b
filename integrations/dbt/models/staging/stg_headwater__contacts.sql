-- Contacts, by the fields that most Spaces have; the thirty profile fields stay in the source.
select
    id as contact_id,
    email,
    name,
    phone,
    location,
    emails
from {{ source('headwater', 'contacts') }}
