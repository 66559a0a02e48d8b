/* The tracker: reports page views, who somebody says they are, and what they do, to the Headwater
 * it was loaded from.
 *
 * It must never disturb its page: whatever the page calls is guarded, and so is every listener.
 * Nothing is taken for granted: storage, cookies and whole interfaces may be missing, empty or
 * throw. Its globals are trk, trkToken and trkFingerprint. Comments and white space are removed
 * before it is served; names are not shortened, as compression does that as well.
 */
((window, document, navigator) => {
  'use strict';

  const TOKEN = 'trk_token';
  const TOKEN_FORM = /^[\w.~-]{1,255}$/;
  const COOKIE_SECONDS = 34560000; // 400 days, the longest that browsers allow
  const MOST = 50; // items in a report, and waiting
  const OLDEST = 86400000; // what could not be sent for a day is let go
  const LONGEST_URL = 2048;
  const LONGEST_KEPT_ALIVE = 20000; // letters; browsers bound what may outlive its page, in bytes

  /* An error stays in here. */
  const guard = (action) => function () {
    try {
      return action.apply(this, arguments);
    } catch (error) {
      return undefined;
    }
  };

  const listen = (target, type, action) => target.addEventListener(type, guard(action), true);

  // Storage. Reading the property itself may throw, as in a frame whose storage is blocked.

  const read = guard((key) => window.localStorage.getItem(key));

  const write = guard((key, value) => {
    if (value) window.localStorage.setItem(key, value);
    else window.localStorage.removeItem(key);
    return true;
  });

  const readCookie = guard((name) => {
    const match = document.cookie.match('(?:^|; ?)' + name + '=([^;]+)');
    return match && match[1];
  });

  const writeCookie = guard((value, seconds, domain) => {
    document.cookie = TOKEN + '=' + value + ';path=/;max-age=' + seconds + ';samesite=lax' +
      (domain ? ';domain=' + domain : '') + (location.protocol === 'https:' ? ';secure' : '');
  });

  const parse = guard((text) => JSON.parse(text));

  /* A random UUID; crypto.randomUUID is missing on pages without TLS. */
  const uuid = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    return Array.from(bytes, (byte, index) =>
      (/^(4|6|8|10)$/.test(index) ? '-' : '') + (byte + 256).toString(16).slice(1)
    ).join('');
  };

  const track = () => {
    const script = document.currentScript || document.querySelector('script[data-site]');
    const trk = window.trk && typeof window.trk === 'object' ? window.trk : {};
    // Tag managers may load a script and not give it attributes: its address has them then.
    const address = new URL(script.src);
    const options = Object.assign(Object.fromEntries(address.searchParams), script.dataset);
    const site = options.site;
    if (!site || trk.site) return; // a second copy on the page stays quiet

    // Relative to this script, so that a proxy may put both below any path.
    const endpoint = new URL('__ENDPOINT__', address).href;
    const QUEUE = 'trk_queue.' + site;
    const CONSENT = 'trk_consent.' + site;

    let token;
    let queue = [];
    let flying = []; // of the queue, what a request is on its way with
    let failures = 0;
    let timer;
    let previous = document.referrer;
    let shown;

    // Consent: what the visitor said to this site. Where they said nothing, the site's own rule and
    // what their browser asks for decide.

    const wary = options.consent === 'required' ||
      navigator.doNotTrack === '1' || navigator.globalPrivacyControl === true;
    let choice = parse(read(CONSENT)); // true, false, or what they agree to in advertising

    const allowed = () => choice === undefined || choice === null ? !wary : choice !== false;

    const consent = (given) => {
      const before = allowed();
      choice = given && typeof given === 'object' ? {
        ad_user_data: given.ad_user_data,
        ad_personalization: given.ad_personalization
      } : !!given;
      if (!choice) {
        // That somebody refused is stored only where it would not be taken for granted.
        write(CONSENT, wary ? '' : 'false');
        forget();
        return;
      }
      write(CONSENT, JSON.stringify(choice));
      if (!before) {
        queue = stored().concat(queue);
        store(queue);
        moved();
      }
      flush();
    };

    const forget = () => {
      queue = [];
      token = shown = undefined;
      previous = document.referrer;
      write(QUEUE);
      write(TOKEN);
      // The server set the cookie for the registrable domain, which is one of these.
      location.hostname.split('.').forEach((_, index, labels) => {
        writeCookie('', 0, labels.slice(index).join('.'));
      });
      writeCookie('', 0);
    };

    // The token: from the cookie, else from storage, else as this page remembers it. One that
    // nothing keeps would make a new visitor of every page, so it is never sent.

    const trkToken = () => {
      if (!allowed()) return '';
      const isToken = (value) => TOKEN_FORM.test(value || '');
      token = [readCookie(TOKEN), read(TOKEN), token].find(isToken);
      if (!token) keep(uuid());
      return token || '';
    };

    const keep = (value) => {
      token = value;
      if (write(TOKEN, value)) return;
      writeCookie(value, COOKIE_SECONDS);
      token = readCookie(TOKEN);
    };

    /* What the server says the token is. Where it could not set the cookie, we do. */
    const adopt = (value) => {
      if (!value) return;
      keep(value);
      if (readCookie(TOKEN) !== value) writeCookie(value, COOKIE_SECONDS);
    };

    // The fingerprint: what the browser tells of itself, hashed. Many people share one.

    const hash = (text, seed) => {
      for (const letter of text) {
        seed = Math.imul(seed ^ letter.codePointAt(0), 16777619);
        seed ^= seed >>> 15;
      }
      return (seed >>> 0).toString(16).padStart(8, '0');
    };

    const trkFingerprint = () => {
      if (!allowed()) return '';
      const text = [
        navigator.userAgent, Math.max(screen.width, screen.height),
        Math.min(screen.width, screen.height), screen.colorDepth,
        Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.languages,
        navigator.platform, navigator.hardwareConcurrency
      ].join();
      return hash(text, 2166136261) + hash(text, 374761393);
    };

    // The queue. Storage has what is not known to have arrived; the next page sends it again, under
    // the same keys, by which the server drops what comes twice.

    const store = (items) => write(QUEUE, items.length && JSON.stringify(items));

    /* What this and other pages of the site have not yet seen arrive. */
    const stored = () => {
      const items = parse(read(QUEUE));
      return Array.isArray(items) ? items.filter((item) => Date.now() - item.at < OLDEST) : [];
    };

    const put = (type, fields) => {
      if (choice === false) return;
      // As it is now: what JSON cannot write, today or after a change, must not hold up the others.
      let plain;
      try {
        plain = JSON.parse(JSON.stringify(Object.assign({}, fields)));
      } catch (error) {
        console.warn('trk: JSON cannot write this ' + type, error);
        return;
      }
      const item = Object.assign({}, plain, { type: type, key: uuid(), at: Date.now() });
      queue = queue.concat(item).slice(-MOST);
      if (!allowed()) return;
      store(stored().concat(item).slice(-MOST));
      plan(0); // what a page calls in one go makes one report
    };

    const plan = (pause) => {
      clearTimeout(timer);
      timer = setTimeout(guard(flush), pause);
    };

    const without = (items, gone) =>
      items.filter((item) => !gone.some((other) => other.key === item.key));

    /* A report of some items. Ages instead of times: the clock may be wrong. */
    const report = (items) => {
      const ads = typeof choice === 'object' && choice || {};
      const cookies = {};
      ['fbp', 'fbc', 'ttp', 'scid', 'rdt_uuid'].forEach((name) => {
        if (ads.ad_user_data !== false) cookies[name] = readCookie('_' + name) || undefined;
      });
      return JSON.stringify({
        site: site,
        token: trkToken() || undefined,
        fingerprint: guard(trkFingerprint)(),
        language: navigator.language,
        consent: ads,
        cookies: cookies,
        items: items.map((item) => Object.assign({}, item, {
          ago: Math.max(0, Date.now() - item.at), at: undefined
        }))
      });
    };

    const flush = () => {
      if (flying.length || !queue.length || !allowed()) return;
      clearTimeout(timer);
      let length = 0;
      const items = queue.slice(0, MOST).filter((item, index) => {
        length += JSON.stringify(item).length;
        return !index || length < LONGEST_KEPT_ALIVE;
      });
      flying = items;
      const sent = Date.now();
      // A text body needs no question beforehand.
      fetch(endpoint, {
        method: 'POST', body: report(items), credentials: 'include',
        keepalive: JSON.stringify(items).length < LONGEST_KEPT_ALIVE
      }).then((answer) => {
        // Refused for good, unless the server was away or busy.
        if (answer.status > 499 || /^4(08|25|29)$/.test(answer.status)) throw answer;
        queue = without(queue, items);
        store(without(stored(), items));
        failures = 0;
        return answer.json();
      }).then((told) => {
        flying = [];
        // The server takes an age from when a report arrives. A report on a new connection takes
        // longer: what happened meanwhile must not seem to have come before it.
        queue.forEach((item) => {
          if (item.at >= sent) item.at = Date.now();
        });
        if (allowed()) adopt(told.token);
        else forget(); // consent was withdrawn meanwhile
        flush();
      }).catch(guard(() => {
        flying = [];
        const pause = Math.min(300, Math.pow(2, failures++)) * (750 + Math.random() * 500);
        if (queue.length) plan(pause);
      }));
    };

    /* The page may be ending: what no request is on its way with goes as it is. */
    const leave = () => {
      const items = without(queue, flying);
      if (items.length && allowed()) navigator.sendBeacon(endpoint, report(items));
    };

    // Page views.

    const page = () => {
      const url = location.href;
      put('page', { url: url.slice(0, LONGEST_URL), referrer: previous.slice(0, LONGEST_URL) });
      previous = url;
    };

    /* Counts when the path or the query has changed; the fragment only where the site asks. */
    const moved = () => {
      const place = location.pathname + location.search + ('hash' in options ? location.hash : '');
      if (place === shown || choice === false) return;
      shown = place;
      page();
    };

    const follow = (name) => {
      const original = history[name];
      history[name] = function () {
        const result = original.apply(this, arguments); // what this throws is the page's
        guard(moved)();
        return result;
      };
    };

    // Forms: who sends one is often who it says.

    const FIELDS = [
      ['email', /^email$|e-?mail/i],
      ['phone', /^tel|phone|mobile/i],
      ['first_name', /^given-name$|first.?name|fname/i],
      ['last_name', /^family-name$|last.?name|surname|lname/i],
      ['full_name', /^(full|your)?[-_ ]?name$/i]
    ];

    const submitted = (event) => {
      const form = event.target;
      const asked = form.getAttribute('data-trk');
      const found = {};
      if (asked === 'off' || asked === null && !('forms' in options)) return;
      Array.from(form.elements).forEach((field) => {
        const purpose = field.getAttribute('autocomplete') || form.getAttribute('autocomplete') || '';
        const value = /^(text|email|tel)$/.test(field.type) && field.value.trim();
        const words = [purpose.split(' ').pop(), field.type, field.name, field.id];
        if (!value || /^off$|cc-|pass|one-time/i.test(purpose)) return;
        if (/card|cvc|cvv|iban|pass/i.test(words)) return;
        const known = FIELDS.find((each) => words.some((word) => each[1].test(word)));
        if (known && (known[0] !== 'email' || /@/.test(value))) found[known[0]] = value;
      });
      if (found.email || found.phone) put('identify', found);
    };

    // What the page calls.

    const calls = {
      page: page,
      identify: (person) => put('identify', person),
      track: (name, fields) => put('event', Object.assign(
        { url: location.href.slice(0, LONGEST_URL) }, fields, { event_name: name }
      )),
      consent: consent
    };

    /* What was called before we came: ['track', arguments], or a function to run now. */
    const replay = guard((call) => {
      if (typeof call === 'function') call();
      else trk[call[0]].apply(trk, call[1]);
    });

    const start = guard(() => {
      const waiting = trk.q || [];
      Object.keys(calls).forEach((name) => {
        trk[name] = guard(calls[name]);
      });
      trk.q = { push: replay };
      if (allowed()) queue = stored();
      ['pushState', 'replaceState'].forEach(follow);
      listen(window, 'popstate', moved);
      listen(window, 'hashchange', moved);
      listen(window, 'pageshow', (event) => event.persisted && page());
      listen(window, 'pagehide', leave);
      listen(window, 'online', flush);
      listen(document, 'visibilitychange', () => document.hidden && flush());
      listen(document, 'submit', submitted);
      moved();
      waiting.forEach(replay);
    });

    trk.site = site;
    window.trk = trk;
    window.trkToken = guard(trkToken);
    window.trkFingerprint = guard(trkFingerprint);
    // A page made ready beforehand counts when somebody looks at it.
    if (document.prerendering) listen(document, 'prerenderingchange', start);
    else start();
  };

  guard(track)();
})(window, document, navigator);
