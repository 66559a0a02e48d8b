#!/bin/sh
# Export a Space into the folder headwater, as the dbt package reads it.
# export.sh SPACE FORMAT MODEL WINDOW [OPTION…]: FORMAT is parquet or ndjson; each `headwater` gets the options.
set -eu
space=$1 format=$2 model=$3 window=$4
shift 4

# All sources of headwater itself, and the Space's own paid networks.
sources="
  facebook_ads google_ads linkedin_ads tiktok_ads youtube_ads instagram_ads bing_ads yahoo_ads pinterest_ads
  reddit_ads snapchat_ads telegram_ads twitch_ads x_ads quora_ads duckduckgo_ads whop_ads facebook_organic
  google_organic linkedin_organic tiktok_organic youtube_organic instagram_organic bing_organic
  yahoo_organic pinterest_organic reddit_organic snapchat_organic telegram_organic twitch_organic x_organic
  quora_organic duckduckgo_organic messenger_organic brave_organic threads_organic ai_chat_gpt ai_perplexity
  ai_copilot ai_claude ai_grok ai_gemini ai_deepseek email sms referral direct shop_app substack capterra
  trustpilot g2 yelp chatgpt_ads
"
networks=$(headwater network list --space "$space" "$@" | sed -n 's/^\([a-z0-9_]*_ads\) .*/\1/p')

mkdir -p headwater
rm -f headwater/events.* headwater/credits-*.* headwater/contacts.* headwater/companies.*

# Credits come first: events that arrive meanwhile then have none, instead of credits without their event.
number=0
echo $sources $networks | xargs -n 15 | while read -r group; do # a request takes 15 sources
  number=$((number + 1))
  headwater export events --space "$space" --whole-range --query-mode profile \
    --attribution-model "$model" --attribution-window "$window" $(printf -- '--source %s ' $group) \
    --field event_name --field amount --field currency --field amount_in_space_currency \
    --field campaign_id --field campaign_name --output "headwater/credits-$number.$format" "$@" </dev/null
done
headwater export events --space "$space" --whole-range --query-mode profile \
  --field profile_id --field company_id --field event_name --field amount --field currency \
  --field amount_in_space_currency --field is_upsell --field order_id --field order_name \
  --output "headwater/events.$format" "$@"
headwater export contacts --space "$space" --whole-range --output "headwater/contacts.$format" "$@"
headwater export companies --space "$space" --whole-range --output "headwater/companies.$format" "$@"
