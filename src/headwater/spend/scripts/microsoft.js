// Sends the cost of each campaign and day to Headwater. Schedule it daily.
// It reads the last 14 days each time, so later corrections by Microsoft arrive, too.
const ADDRESS = "{address}";
const KEY = "{key}"; // Can store and delete spend, and nothing else.
const DAYS = 14;

function main() {
  const account = AdsApp.currentAccount();
  const rows = [];
  for (let back = 0; back < DAYS; back += 1) {
    const day = new Date(Date.now() - back * 86400000).toISOString().slice(0, 10);
    for (const selector of [AdsApp.campaigns(), AdsApp.performanceMaxCampaigns()]) {
      const compact = day.replace(/-/g, "");
      const campaigns = selector.forDateRange(compact, compact).get();
      while (campaigns.hasNext()) {
        const campaign = campaigns.next();
        const row = readRow(campaign, day, account);
        if (row) rows.push(row);
      }
    }
  }
  send(rows);
}

// Campaigns without cost are left out, unless they had impressions.
function readRow(campaign, day, account) {
  const stats = campaign.getStats();
  if (!stats.getCost() && !stats.getImpressions()) return null;
  return {
    date: day,
    platform: "microsoft",
    account_id: String(account.getAccountId()),
    campaign_id: String(campaign.getId()),
    campaign_name: campaign.getName(),
    amount: Number(stats.getCost()).toFixed(6),
    currency: account.getCurrencyCode(),
    impressions: stats.getImpressions(),
    clicks: stats.getClicks(),
    platform_conversions: stats.getConversions(),
  };
}
