{# The day of a timestamp in the Space's time zone. #}
{% macro headwater_day(moment) %}
  {{ return(adapter.dispatch('headwater_day', 'headwater')(moment)) }}
{% endmacro %}

{% macro default__headwater_day(moment) %}
  cast({{ moment }} at time zone '{{ var("headwater_timezone") }}' as date)
{% endmacro %}

{% macro bigquery__headwater_day(moment) %}
  date({{ moment }}, '{{ var("headwater_timezone") }}')
{% endmacro %}

{% macro snowflake__headwater_day(moment) %}
  to_date(convert_timezone('{{ var("headwater_timezone") }}', {{ moment }}))
{% endmacro %}
