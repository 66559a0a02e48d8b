-- Companies.
select
    id as company_id,
    domain,
    external_id,
    name,
    created_at
from {{ source('headwater', 'companies') }}
