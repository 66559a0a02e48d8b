const MOST_ROWS = 5000; // Of a request.

function send(rows) {
  for (let start = 0; start < rows.length; start += MOST_ROWS) {
    const answer = UrlFetchApp.fetch(ADDRESS, {
      method: "put",
      contentType: "application/json",
      headers: { Authorization: `Bearer ${KEY}` },
      payload: JSON.stringify({ spend: rows.slice(start, start + MOST_ROWS) }),
      muteHttpExceptions: true,
    });
    if (answer.getResponseCode() !== 200) {
      throw new Error(`Headwater answered ${answer.getResponseCode()}: ${answer.getContentText()}`);
    }
  }
  Logger.log(`${rows.length} rows are sent.`);
}
