/* Puts questions to the site's search: prints the first pages for each. */
const [folder, questions] = process.argv.slice(2);
require(`${folder}/search-data.js`);
const { index, search } = require(`${folder}/search.js`);
const made = index(globalThis.searchData);
const found = JSON.parse(questions).map((question) => search(made, question).map((section) => section.page));
process.stdout.write(JSON.stringify(found));
