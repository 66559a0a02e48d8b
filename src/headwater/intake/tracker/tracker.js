/* The tracker reports page views, identities and events to the Headwater it was loaded from.
 *
 * It must never disturb its page: all public functions and listeners are guarded. Storage, cookies
 * and whole APIs may be missing, empty or throw, and libraries may have changed the methods of
 * Array, Object and JSON. So it writes its own JSON, iterates by index, and ignores inherited
 * properties. Its globals are trk, trkToken and trkFingerprint. Comments and white space are
 * removed before it is served; names stay long, because compression shortens them.
 */
((window, document, navigator) => {
  'use strict';

  const TOKEN = 'trk_token';
  const TOKEN_FORM = /^[\w.~-]{1,255}$/;
  const COOKIE_SECONDS = 34560000; // 400 days, the browsers' maximum
  const MAX_AGE = 86400000; // unsent items are dropped after a day
  const MAX_URL = 2048;
  const MAX_COOKIE = 1024;
  const MAX_ITEM = 250000; // bytes; the server's limit is slightly higher
  const MAX_ITEMS = 50; // per report
  const MAX_BYTES = 20000; // per report: browsers send up to 64 KB after a page ends
  const MAX_ANSWER_TIME = 30000;

  // The queue is bounded, except for items of the highest rank.
  const PLAIN_VIEW = 0;
  const PLAIN_EVENT = 1;
  const TAGGED = 2; // a view with a campaign, or an identity
  const NEVER_DROPPED = 3; // a conversion, or the visitor's first view
  const MAX_WAITING = 200;
  const MAX_WAITING_BYTES = 500000;
  const CAMPAIGN = /[?&#](utm_|trk_|mtm_|pk_|hsa_|\w*clid|\w*click_?id|\w*braid|\w*_cid|\w*fat_id|epik|oppref)[^&=]*=/i;
  const CONVERSION = /purchase|order|pay|lead|sign|regist|subscri|book|checkout|trial|conver/i;

  /* Catch all errors. */
  const guard = (action) => function (first, second, third) {
    try {
      return action(first, second, third);
    } catch (error) {
      return undefined;
    }
  };

  const listen = guard((target, type, action) => target.addEventListener(type, guard(action), true));

  const later = guard((action, pause) => setTimeout(guard(action), pause));

  const now = () => guard(() => +Date.now())() || guard(() => +new Date())() || 0;

  const each = (list, action) => {
    for (let index = 0; index < list.length; index++) action(list[index], index);
  };

  const filter = (list, test) => {
    const found = [];
    each(list, (value, index) => {
      if (test(value, index)) found[found.length] = value;
    });
    return found;
  };

  /* Visit own properties only. */
  const members = (object, action) => {
    if (object && typeof object === 'object') {
      for (const name in object) {
        if (Object.prototype.hasOwnProperty.call(object, name)) action(name, object[name]);
      }
    }
  };

  // JSON in ASCII, so that length is bytes. JSON.stringify may be replaced, and calls toJSON
  // methods that libraries add to arrays and strings.

  const quote = (text) => '"' + text
    .replace(/[\0\ud800-\udfff]/gu, '\ufffd') // NUL and lone surrogates can't be stored
    .replace(/["\\\u0001-\u001f\u007f-\uffff]/g, (letter) =>
      '\\u' + ('000' + letter.charCodeAt(0).toString(16)).slice(-4)) + '"';

  const kindOf = (value) => Object.prototype.toString.call(value);

  const json = (value, above) => {
    if (value && typeof value === 'object') {
      if (typeof value.toISOString === 'function') value = value.toISOString();
      else if (/String|Number|Boolean/.test(kindOf(value))) value = value.valueOf();
      else if (typeof value.toJSON === 'function' && !Array.isArray(value) &&
        value.toJSON !== Object.prototype.toJSON) value = value.toJSON();
    }
    if (typeof value === 'string') return quote(value);
    if (typeof value === 'number') return isFinite(value) ? '' + value : 'null';
    if (value === null || typeof value === 'boolean') return '' + value;
    if (typeof value === 'bigint') throw value;
    if (typeof value !== 'object') return undefined;
    for (let one = above; one; one = one.above) if (one.value === value) throw value;
    const inside = { value: value, above: above };
    let text = '';
    if (Array.isArray(value)) {
      each(value, (one) => {
        text += ',' + (json(one, inside) || 'null');
      });
      return '[' + text.slice(1) + ']';
    }
    members(value, (name, one) => {
      const written = json(one, inside);
      if (written) text += ',' + quote(name) + ':' + written;
    });
    return '{' + text.slice(1) + '}';
  };

  // Storage. Even reading the property throws in frames with blocked storage.

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

  /* A random UUID; crypto.randomUUID is missing on pages without TLS. A counter keeps them unique
   * even if the page has replaced the random functions. */
  let made = 0;
  const uuid = () => {
    const strong = guard(() => crypto.getRandomValues(new Uint8Array(16)))() || [];
    let text = '';
    made++;
    for (let index = 0; index < 16; index++) {
      let byte = (strong[index] ^ Math.random() * 256 ^ (index < 2 ? made >> 8 * index : 0)) & 255;
      if (index === 6) byte = (byte & 15) | 64;
      if (index === 8) byte = (byte & 63) | 128;
      text += (/^(4|6|8|10)$/.test(index) ? '-' : '') + (byte + 256).toString(16).slice(1);
    }
    return text;
  };

  const track = () => {
    const script = document.currentScript || document.querySelector('script[data-site]');
    const trk = window.trk && typeof window.trk === 'object' ? window.trk : {};
    /* An attribute of the tag, or a parameter of its URL, because tag managers may not set
     * attributes. */
    const option = (name) => {
      const match = script.src.match('[?&]' + name + '(?:=([^&#]*))?(?=[&#]|$)');
      const value = script.getAttribute('data-' + name);
      return value !== null || !match ? value : decodeURIComponent(match[1] || '');
    };
    const site = option('site');
    if (!site) guard(() => console.warn('trk: the script tag has no data-site'))();
    if (!site || trk.site) return; // ignore a second copy on the page

    // Relative to this script, so that a proxy can move both.
    const endpoint = script.src.replace(/[?#].*/, '').replace(/[^/]*$/, '__ENDPOINT__');
    const QUEUE = 'trk_queue.' + site;
    const CONSENT = 'trk_consent.' + site;

    let token;
    let queue = [];
    let flying = []; // queued items in the current request
    let failures = 0;
    let together = MAX_ITEMS;
    let timer;
    let previous = '' + (document.referrer || '');
    let shown;
    let landing; // the first view of this page

    // Consent: the visitor's choice on this site, otherwise the site's rule and the browser's
    // privacy signals. A managed choice is stored by the page's consent manager, not here.

    const managed = option('consent') === 'managed';
    const wary = managed || option('consent') === 'required' ||
      navigator.doNotTrack === '1' || navigator.globalPrivacyControl === true;

    const remember = (value) => managed || write(CONSENT, value);

    /* True, false, or consent to ad uses; undefined before a choice. */
    const readChoice = guard((text) => {
      const part = (name) => {
        const match = text.match('"' + name + '":(true|false)');
        return match ? match[1] === 'true' : undefined;
      };
      if (!text) return undefined;
      return text[0] !== '{' ? text !== 'false' : {
        ad_user_data: part('ad_user_data'), ad_personalization: part('ad_personalization')
      };
    });

    let choice = managed ? undefined : readChoice(read(CONSENT));

    const allowed = () => choice === undefined ? !wary : choice !== false;

    /* Consent to one use; unknown values mean no. */
    const agreed = (value) =>
      value === undefined || value === null ? undefined : value === true || value === 'granted';

    const consent = (given) => {
      const chosen = given && typeof given === 'object' ? {
        ad_user_data: agreed(given.ad_user_data),
        ad_personalization: agreed(given.ad_personalization)
      } : !!given;
      // Store a refusal only if it isn't the default.
      remember(chosen ? json(chosen) : wary ? '' : 'false');
      apply(chosen);
    };

    const apply = (chosen) => {
      const before = allowed();
      choice = chosen;
      if (!allowed()) forget();
      else if (!before) {
        queue = joined(stored(), queue);
        store();
        moved();
      }
      flush();
    };

    /* Follow a choice made in another tab. It stores nothing, because the other tab may have chosen again. */
    const followChoice = (event) => event.key === CONSENT && apply(readChoice(read(CONSENT)));

    const forget = () => {
      queue = [];
      token = shown = landing = undefined;
      previous = '' + (document.referrer || '');
      write(QUEUE);
      write(TOKEN);
      // The server set the cookie for the registrable domain, one of these.
      for (let host = location.hostname; host; host = host.replace(/^[^.]*\.?/, '')) {
        writeCookie('', 0, host);
      }
      writeCookie('', 0);
    };

    // The token: from the cookie, else storage, else memory. A token that can't be stored would make
    // every page a new visitor, so it is never sent.

    const trkToken = () => {
      if (!allowed()) return '';
      const known = filter([readCookie(TOKEN), read(TOKEN), token], (value) =>
        typeof value === 'string' && TOKEN_FORM.test(value));
      token = known[0];
      if (!token) keep(uuid());
      return token || '';
    };

    const keep = (value) => {
      token = value;
      if (write(TOKEN, value) && read(TOKEN) === value) return;
      writeCookie(value, COOKIE_SECONDS);
      token = readCookie(TOKEN);
    };

    /* Use the token from the server, and set the cookie if the server could not. */
    const adopt = (value) => {
      if (!value) return;
      keep(value);
      if (readCookie(TOKEN) !== value) writeCookie(value, COOKIE_SECONDS);
    };

    // The fingerprint: a hash of the browser's properties, shared by many people.

    const hash = (text, seed) => {
      for (let index = 0; index < text.length; index++) {
        seed = Math.imul(seed ^ text.charCodeAt(index), 16777619);
        seed ^= seed >>> 15;
      }
      return ('0000000' + (seed >>> 0).toString(16)).slice(-8);
    };

    const trkFingerprint = () => {
      if (!allowed()) return '';
      let text = '';
      each([
        navigator.userAgent, Math.max(screen.width, screen.height),
        Math.min(screen.width, screen.height), screen.colorDepth,
        guard(() => Intl.DateTimeFormat().resolvedOptions().timeZone)(), navigator.languages,
        navigator.platform, navigator.hardwareConcurrency
      ], (part) => {
        text += part + ',';
      });
      return hash(text, 2166136261) + hash(text, 374761393);
    };

    // The queue. Storage has a line per unconfirmed item. The next page sends them again with the
    // same keys, and the server drops duplicates.

    const store = (gone) => {
      let text = '';
      each(joined(without(stored(), gone || []), queue), (item) => {
        text += item.at + ' ' + item.rank + ' ' + item.key + ' ' + item.body + '\n';
      });
      write(QUEUE, text);
    };

    /* Unconfirmed items of this and other pages of the site. */
    const stored = () => {
      const items = [];
      ('' + (read(QUEUE) || '')).replace(/^(\d+) (\d) ([\da-f-]{36}) (\{.*)$/gm,
        (line, at, rank, key, body) => {
          if (now() - at < MAX_AGE) items[items.length] = { at: +at, rank: +rank, key: key, body: body };
        });
      return items;
    };

    const without = (items, gone) => filter(items, (item) => {
      let kept = true;
      each(gone, (other) => {
        if (other.key === item.key) kept = false;
      });
      return kept;
    });

    const joined = (items, more) => {
      const all = without(items, more);
      each(more, (item) => {
        all[all.length] = item;
      });
      return bounded(all);
    };

    /* Drop items over the limit: lowest rank first, then oldest. */
    const bounded = (items) => {
      let spare = filter(items, (item) => item.rank < NEVER_DROPPED);
      let bytes = 0;
      each(spare, (item) => {
        bytes += item.body.length;
      });
      while (spare.length > MAX_WAITING || bytes > MAX_WAITING_BYTES) {
        let gone = spare[0];
        each(spare, (item) => {
          if (item.rank < gone.rank) gone = item;
        });
        bytes -= gone.body.length;
        spare = without(spare, [gone]);
        items = without(items, [gone]);
      }
      return items;
    };

    const put = (type, fields, rank) => {
      if (choice === false) return;
      // Serialize now: an item that JSON can't write, now or later, must not block others.
      const key = uuid();
      let body = '{"type":"' + type + '","key":"' + key + '"';
      try {
        members(fields, (name, value) => {
          const written = /^(type|key|ago)$/.test(name) ? undefined : json(value);
          if (written) body += ',' + quote(name) + ':' + written;
        });
        if (body.length > MAX_ITEM) throw new Error('more than ' + MAX_ITEM + ' bytes');
      } catch (error) {
        guard(() => console.warn('trk: JSON cannot write this ' + type, error))();
        return;
      }
      queue = joined(queue, [{ at: now(), rank: rank, key: key, body: body }]);
      if (allowed()) plan(0); // calls in the same task share a report
    };

    const plan = (pause) => {
      guard(clearTimeout)(timer);
      timer = later(flush, pause);
      if (!timer && !pause) flush(); // the page broke its timers
    };

    /* A report of some items. It has ages instead of times, because the clock may be wrong. */
    const report = (items) => {
      const ads = choice && typeof choice === 'object' ? choice : {};
      const cookies = {};
      const age = (at) => Math.min(Math.max(0, now() - at) || 0, MAX_AGE);
      each(['_fbp', '_fbc', '_ttp', '_scid', '_rdt_uuid', '__oppref', '__obref'], (name) => {
        const value = ads.ad_user_data !== false && readCookie(name);
        if (value && value.length <= MAX_COOKIE) cookies[name.replace(/^_+/, '')] = value;
      });
      const known = trkToken();
      const head = json({
        site: site,
        token: known || undefined,
        fingerprint: guard(trkFingerprint)(),
        language: '' + navigator.language,
        consent: ads,
        cookies: cookies,
        // Without a token, the server can't connect this view and this person otherwise.
        landing: known || !landing ? undefined :
          { url: landing.url, referrer: landing.referrer, ago: age(landing.at) }
      });
      let text = '';
      each(items, (item) => {
        text += ',' + item.body + ',"ago":' + age(item.at) + '}';
      });
      return head.slice(0, -1) + ',"items":[' + text.slice(1) + ']}';
    };

    /* The first items that fit in a report. */
    const pack = (items) => {
      let bytes = 0;
      return filter(items, (item, index) => {
        bytes += item.body.length;
        return !index || index < together && bytes < MAX_BYTES;
      });
    };

    const isSmall = (body) => body.length < 3 * MAX_BYTES;

    /* Send a body, and call back with the response's status and text, or status 0 without one.
     * After a failure, use the other API: the page may have broken one. */
    const send = (body, answered) => {
      let over = false;
      const end = guard((status, text) => {
        if (over) return;
        over = true;
        guard(clearTimeout)(patience);
        answered(+status || 0, '' + text);
      });
      const patience = later(() => end(0), MAX_ANSWER_TIME);
      const ways = [() => {
        // A text body needs no preflight request.
        fetch(endpoint, {
          method: 'POST', body: body, credentials: 'include', keepalive: isSmall(body)
        }).then((answer) => answer.text().then((text) => end(answer.status, text))).then(
          undefined, () => end(0));
      }, () => {
        const request = new XMLHttpRequest();
        request.open('POST', endpoint);
        request.withCredentials = true;
        request.onload = () => end(request.status, request.responseText);
        request.onerror = request.onabort = () => end(0);
        request.send(body);
      }];
      try {
        ways[failures % 2]();
      } catch (error) {
        try {
          ways[(failures + 1) % 2]();
        } catch (worse) {
          end(0);
        }
      }
    };

    const flush = () => {
      if (!queue.length || !allowed()) return;
      guard(clearTimeout)(timer);
      store();
      if (flying.length) return;
      const items = flying = pack(queue);
      const sent = now();
      send(report(items), (status, text) => {
        flying = [];
        const refused = status > 399 && status < 500 && !/^4(08|25|29)$/.test(status);
        if (!refused && !/"results"/.test(text)) {
          // The server was down or busy, or a proxy responded.
          const pause = Math.min(300, Math.pow(2, failures++)) * (750 + Math.random() * 500);
          if (queue.length) plan(pause);
          return;
        }
        if (items.length > 1 && /^4(00|13|22)$/.test(status) && !/"results"/.test(text)) {
          together = 1; // one may be invalid: send each alone
        } else {
          arrived(items, sent);
        }
        const match = text.match(/"token":"([\w.~-]{1,255})"/);
        if (!allowed()) forget(); // consent was withdrawn meanwhile
        else if (match) adopt(match[1]);
        flush();
      });
    };

    const arrived = (items, sent) => {
      queue = without(queue, items);
      store(items);
      failures = 0;
      if (!queue.length) together = MAX_ITEMS;
      // The server counts ages from a report's arrival. The first report takes longer to connect;
      // later items must not appear to precede it.
      each(queue, (item) => {
        if (item.at >= sent) item.at = now();
      });
    };

    /* The page may be ending: send all items not in a request, the most important first, because
     * browsers limit requests that outlive a page. */
    const leave = () => {
      if (!allowed()) return;
      if (queue.length) store();
      let items = [];
      for (let rank = NEVER_DROPPED; rank >= PLAIN_VIEW; rank--) {
        each(without(queue, flying), (item) => {
          if (item.rank === rank) items[items.length] = item;
        });
      }
      while (items.length) {
        const packed = pack(items);
        const body = report(packed);
        if (guard(() => navigator.sendBeacon(endpoint, body))() !== true) {
          guard(() => fetch(endpoint, {
            method: 'POST', body: body, credentials: 'include', keepalive: true
          }).then(undefined, () => {}))();
        }
        items = without(items, packed);
      }
    };

    // Page views.

    const hostOf = (url) => url.split('/')[2];

    const tagsOf = (url) => url.replace(/^[^?#]*/, '');

    const page = () => {
      const url = '' + location.href;
      const view = { url: url.slice(0, MAX_URL), referrer: previous.slice(0, MAX_URL) };
      const came = hostOf(previous) !== hostOf(url);
      const hasNewTags = CAMPAIGN.test(url) && tagsOf(url) !== tagsOf(previous);
      if (!landing) landing = { url: view.url, referrer: view.referrer, at: now() };
      previous = url;
      put('page', view, came ? NEVER_DROPPED : hasNewTags ? TAGGED : PLAIN_VIEW);
    };

    /* Count a view if the path or query changed; the fragment only if the site wants it. */
    const moved = () => {
      const place = location.pathname + location.search +
        (option('hash') !== null ? location.hash : '');
      if (place === shown || choice === false) return;
      shown = place;
      page();
    };

    const follow = guard((name) => {
      const original = history[name];
      history[name] = function () {
        const result = original.apply(this, arguments); // its errors belong to the page
        guard(moved)();
        return result;
      };
    });

    // Forms usually identify the person who submits them.

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
      if (asked === 'off' || asked === null && option('forms') === null) return;
      each(form.elements, (field) => {
        const purpose = field.getAttribute('autocomplete') || form.getAttribute('autocomplete') || '';
        const value = /^(text|email|tel)$/.test(field.type) && field.value.trim();
        const words = [purpose.replace(/.* /, ''), field.type, field.name, field.id];
        if (!value || /^off$|cc-|pass|one-time/i.test(purpose)) return;
        if (filter(words, (word) => /card|cvc|cvv|iban|pass/i.test(word)).length) return;
        const known = filter(FIELDS, (one) =>
          filter(words, (word) => one[1].test(word)).length)[0];
        if (known && (known[0] !== 'email' || /@/.test(value))) found[known[0]] = value;
      });
      if (found.email || found.phone) identify(found);
    };

    // Public functions.

    const identify = (person) => put('identify', person, TAGGED);

    const trackEvent = (name, fields) => {
      const event = { url: ('' + location.href).slice(0, MAX_URL) };
      let isConversion = CONVERSION.test(name);
      members(fields, (field, value) => {
        event[field] = value;
        isConversion = isConversion || /^(amount|order_id|checkout_token)$/.test(field);
      });
      event.event_name = name;
      // Events have no landing, so the person goes first.
      if ((event.email || event.tracking_id) && allowed() && !trkToken()) {
        identify({ email: event.email, tracking_id: event.tracking_id });
      }
      put('event', event, isConversion ? NEVER_DROPPED : PLAIN_EVENT);
    };

    const calls = { page: page, identify: identify, track: trackEvent, consent: consent };

    /* A call made before loading: ['track', arguments], or a function to run. */
    const replay = guard((call) => {
      if (typeof call === 'function') call();
      else trk[call[0]](call[1][0], call[1][1]);
    });

    const start = guard(() => {
      const waiting = trk.q || [];
      members(calls, (name, call) => {
        trk[name] = guard(call);
      });
      trk.q = { push: replay };
      if (allowed()) queue = stored();
      follow('pushState');
      follow('replaceState');
      listen(window, 'popstate', moved);
      listen(window, 'hashchange', moved);
      listen(window, 'pageshow', (event) => event.persisted && page());
      listen(window, 'pagehide', leave);
      listen(window, 'online', flush);
      listen(window, 'storage', followChoice);
      listen(document, 'visibilitychange', () => document.hidden && flush());
      listen(document, 'submit', submitted);
      guard(moved)();
      each(waiting, replay);
    });

    trk.site = site;
    window.trk = trk;
    window.trkToken = guard(trkToken);
    window.trkFingerprint = guard(trkFingerprint);
    // A prerendered page counts once it is shown.
    if (document.prerendering) listen(document, 'prerenderingchange', start);
    else start();
  };

  guard(track)();
})(window, document, navigator);
