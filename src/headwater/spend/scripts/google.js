// Sends the cost of each campaign and day to Headwater. Schedule it hourly or daily.
// It reads the last 30 days each time, so later corrections by Google arrive, too.
const ADDRESS = "{address}";
const KEY = "{key}"; // Can store and delete spend, and nothing else.
const DAYS = 30;

function main() {
  const account = AdsApp.currentAccount();
  const zone = account.getTimeZone();
  const day = (back) => Utilities.formatDate(new Date(Date.now() - back * 86400000), zone, "yyyy-MM-dd");
  const rows = [];
  const found = AdsApp.search(
    "SELECT campaign.id, campaign.name, segments.date, metrics.cost_micros, metrics.impressions, " +
      "metrics.clicks, metrics.conversions, metrics.conversions_value FROM campaign " +
      `WHERE segments.date BETWEEN '${day(DAYS - 1)}' AND '${day(0)}'`
  );
  while (found.hasNext()) {
    const row = found.next();
    rows.push({
      date: row.segments.date,
      platform: "google",
      account_id: account.getCustomerId(),
      campaign_id: String(row.campaign.id),
      campaign_name: row.campaign.name,
      amount: (Number(row.metrics.costMicros || 0) / 1e6).toFixed(6),
      currency: account.getCurrencyCode(),
      impressions: Number(row.metrics.impressions || 0),
      clicks: Number(row.metrics.clicks || 0),
      platform_conversions: Number(row.metrics.conversions || 0),
      platform_revenue: Number(row.metrics.conversionsValue || 0),
      timezone: zone,
    });
  }
  send(rows);
}
