// A program that sends orders with Segment's or RudderStack's library for Node, for test_libraries.py.
import { Analytics } from '@segment/analytics-node';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';

const [library, host, writeKey, count] = process.argv.slice(2);
const failed = [];

function openSegment() {
  const analytics = new Analytics({ writeKey, host, path: '/segment/v1/batch', flushAt: 50, maxRetries: 100 });
  analytics.on('error', (error) => failed.push(error));
  return {
    send: (message) => new Promise((resolve) => analytics.track(message, resolve)),
    close: () => analytics.closeAndFlush({ timeout: 600_000 }),
  };
}

function openRudder() {
  const analytics = new RudderAnalytics(writeKey, {
    dataPlaneUrl: `${host}/segment`,
    flushAt: 50,
    flushInterval: 50,
    retryCount: 100,
    axiosRetryConfig: { retryDelay: () => 200 },
    errorHandler: (error) => failed.push(String(error)),
    logLevel: 'none',
  });
  return {
    send: (message) => new Promise((resolve) => analytics.track(message, resolve)),
    close: () => analytics.flush(),
  };
}

const client = library === 'js' ? openSegment() : openRudder();
const track = (userId, event, properties) =>
  client.send({ userId, event, properties: { ...properties, currency: 'EUR' } });

let waiting = [];
for (let number = 0; number < Number(count); number += 1) {
  const [order_id, user] = [`${library}-${number}`, `${library}-${number % 50}`];
  waiting.push(track(user, 'Order Completed', { order_id, revenue: (100 + ((number * 37) % 99900)) / 100 }));
  if (number % 10 === 0) waiting.push(track(user, 'Order Refunded', { order_id, total: 0.35 }));
  if (waiting.length >= 1000) {
    await Promise.all(waiting);
    waiting = [];
  }
}
if (library !== 'js') await Promise.all(waiting);
await client.close();
if (failed.length) throw new Error(JSON.stringify(failed[0]));
