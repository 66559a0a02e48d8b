// Runs a script of an ad account's script editor in a pretend editor, and prints the requests that it sends.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const [file, booksJson, status] = process.argv.slice(2);
const books = JSON.parse(booksJson);
const sent = [];

const iterate = (items) => {
  let at = 0;
  return { hasNext: () => at < items.length, next: () => items[at++] };
};
const between = (question) => question.match(/BETWEEN '([-0-9]{10})' AND '([-0-9]{10})'/).slice(1);

const account = {
  getCustomerId: () => books.account,
  getAccountId: () => Number(books.account),
  getCurrencyCode: () => books.currency,
  getTimeZone: () => books.timezone,
};
const googleRow = (row) => ({
  campaign: { id: row.campaign, name: row.name },
  segments: { date: row.date },
  metrics: { costMicros: String(row.micros), impressions: "1000", clicks: "20", conversions: 1.5, conversionsValue: 12.5 },
});
const selector = (kind) => ({
  forDateRange: (first) => ({
    get: () => iterate(books.rows.filter((row) => row.kind === kind && row.date.replaceAll("-", "") === first).map(microsoftCampaign)),
  }),
});
const microsoftCampaign = (row) => ({
  getId: () => Number(row.campaign),
  getName: () => row.name,
  getStats: () => ({
    getCost: () => row.micros / 1e6,
    getImpressions: () => 1000,
    getClicks: () => 20,
    getConversions: () => 1.5,
  }),
});

const editor = {
  AdsApp: {
    currentAccount: () => account,
    search: (question) => {
      const [first, last] = between(question);
      return iterate(books.rows.filter((row) => first <= row.date && row.date <= last).map(googleRow));
    },
    campaigns: () => selector("search"),
    performanceMaxCampaigns: () => selector("performance_max"),
  },
  Utilities: { formatDate: (moment) => moment.toISOString().slice(0, 10) },
  UrlFetchApp: {
    fetch: (url, options) => {
      sent.push({ url, ...options });
      return { getResponseCode: () => Number(status), getContentText: () => "no" };
    },
  },
  Logger: { log: () => undefined },
};

const context = vm.createContext(editor);
vm.runInContext(`${readFileSync(file, "utf8")}\nmain();`, context);
console.log(JSON.stringify(sent));
