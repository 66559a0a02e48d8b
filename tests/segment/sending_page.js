// Sends orders with Segment's library for browsers, for test_libraries.py. They are made as in orders.py.
const failed = [];

async function sendOrders({ writeKey, cdnURL, count }) {
  const [analytics] = await AnalyticsNext.AnalyticsBrowser.load({ writeKey, cdnURL });
  analytics.on('error', (error) => failed.push(String(error.reason)));
  for (let begin = 0; begin < count; begin += 100) {
    const numbers = Array.from({ length: Math.min(100, count - begin) }, (_, index) => begin + index);
    const sent = numbers.map((number) =>
      analytics.track('Order Completed', {
        order_id: `page-${number}`,
        revenue: (100 + ((number * 37) % 99900)) / 100,
        currency: 'EUR',
      }),
    );
    await Promise.all(sent);
  }
}
