// A program that sends orders with Segment's library for Node, for test_libraries.py.
import { Analytics } from '@segment/analytics-node';

const [host, writeKey, count] = process.argv.slice(2);
const failed = [];
const analytics = new Analytics({ writeKey, host, path: '/segment/v1/batch', flushAt: 50, maxRetries: 100 });
analytics.on('error', (error) => failed.push(error));

const track = (userId, event, properties) =>
  new Promise((resolve) => {
    analytics.track({ userId, event, properties: { ...properties, currency: 'EUR' } }, resolve);
  });

let waiting = [];
for (let number = 0; number < Number(count); number += 1) {
  const [order_id, user] = [`js-${number}`, `js-${number % 50}`];
  waiting.push(track(user, 'Order Completed', { order_id, revenue: (100 + ((number * 37) % 99900)) / 100 }));
  if (number % 10 === 0) waiting.push(track(user, 'Order Refunded', { order_id, total: 0.35 }));
  if (waiting.length >= 1000) {
    await Promise.all(waiting);
    waiting = [];
  }
}
await analytics.closeAndFlush({ timeout: 600_000 });
if (failed.length) throw new Error(JSON.stringify(failed[0]));
