/* Search over the sections of all pages, in the browser alone. `search-data.js` holds them.
 *
 * A section counts by how rare its words are (their inverse frequency) and where they stand: in the
 * page's title, in the heading, in the text. A page is as good as its best section.
 */
((root) => {
  'use strict';

  const EMPTY = new Set(('a an and are as at be by can do does for from has have how i if in is it its me my '
    + 'not of on or our so that the their there this to we what when where which who why will with you your').split(' '));
  const WEIGHTS = { title: 5, heading: 4, text: 1 };
  const ASIDE = /^(decisions\/|changelog|architecture)/; // pages that few people look for
  const FULL = 12; // the number of words after which another one adds little

  const stem = (word) => word.length < 4 ? word
    : word.replace(/ies$/, 'y').replace(/(ations?|ing|ed|ers?|s)$/, '').replace(/e$/, '');

  const words = (text) => (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [])
    .flatMap((word) => word.includes('_') ? [word, ...word.split('_')] : [word])
    .filter((word) => word && !EMPTY.has(word)).map(stem);

  const counts = (text) => {
    const found = new Map();
    words(text).forEach((word) => found.set(word, (found.get(word) || 0) + 1));
    return found;
  };

  const index = (sections) => {
    const pages = new Map();
    const indexed = sections.map((section) => {
      const fields = { title: counts(section.title), heading: counts(section.heading), text: counts(section.text) };
      Object.values(fields).forEach((field) => field.forEach((_, word) => {
        pages.set(word, (pages.get(word) || new Set()).add(section.page));
      }));
      return { section, fields };
    });
    const total = new Set(sections.map((section) => section.page)).size;
    const rarity = (word) => Math.log(1 + total / pages.get(word).size);
    return { indexed, rarity, known: [...pages.keys()] };
  };

  /* Return the words of the index that match a word of the question: itself, or words that begin with it. */
  const meant = (made, word) => made.known.includes(word) ? [word]
    : word.length < 3 ? [] : made.known.filter((known) => known.startsWith(word)).slice(0, 20);

  const search = (made, question) => {
    const wanted = [...new Set(words(question))].map((word) => meant(made, word));
    const best = new Map();
    made.indexed.forEach(({ section, fields }) => {
      let score = 0;
      wanted.forEach((choices) => {
        score += Math.max(0, ...choices.map((word) => Object.keys(WEIGHTS).reduce((sum, name) => {
          const count = fields[name].get(word) || 0;
          return sum + WEIGHTS[name] * made.rarity(word) * count / (count + (name === 'text' ? FULL / 8 : 1));
        }, 0)));
      });
      if (ASIDE.test(section.page)) score *= 0.6;
      const known = best.get(section.page);
      if (score > 0 && (!known || known.score < score)) best.set(section.page, { score, section });
    });
    return [...best.values()].sort((one, other) => other.score - one.score).slice(0, 10)
      .map((found) => found.section);
  };

  if (typeof module === 'object') {
    module.exports = { index, search };
    return;
  }

  const form = root.document.getElementById('search');
  const results = root.document.getElementById('results');
  const base = root.document.body.dataset.root;
  let made;

  const show = () => {
    const question = form.elements.query.value;
    made = made || index(root.searchData);
    const found = search(made, question);
    results.replaceChildren(...found.map((section) => {
      const line = root.document.createElement('p');
      const link = root.document.createElement('a');
      link.href = base + section.url;
      link.textContent = section.heading === section.title ? section.title : section.title + ': ' + section.heading;
      line.append(link);
      return line;
    }));
    if (question.trim() && !found.length) results.textContent = 'Nothing has these words.';
    results.hidden = !question.trim();
  };

  form.hidden = false;
  form.addEventListener('input', show);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    show();
  });
})(globalThis);
