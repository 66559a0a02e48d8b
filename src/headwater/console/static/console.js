// Enhancements for browsers with scripts. All pages work without it.

offerCopies(document);

function offerCopies(within) {
  for (const button of within.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    button.hidden = false;
    button.addEventListener("click", async () => {
      if (!(await copied(source))) return;
      const label = button.firstChild;
      label.data = "Copied";
      announce("Copied.");
      setTimeout(() => { label.data = "Copy"; }, 2000);
    });
  }
}

for (const button of document.querySelectorAll("[data-copy-address]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
    announce("The link is copied.");
  });
}

// Pages on plain http from other hosts have no clipboard, so the text is selected for copying by
// keyboard.
async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}

function announce(text, look = "sr") {
  const place = document.createElement("p");
  place.className = look;
  place.textContent = text;
  document.querySelector("[role=status]").append(place);
}

// The browser's time zone is a better default for a new Space than UTC.
for (const select of document.querySelectorAll("select[data-zone]")) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...select.options].some((option) => option.value === zone)) select.value = zone;
}

// Focus the first invalid field, even if the browser ignored `autofocus`.
document.querySelector("[aria-invalid=true]")?.focus();

// Typed values, except passwords, survive an expired session: this tab keeps them and restores them
// when the same person returns to the page after a login.
const UNSENT = "headwater unsent form";
const isTicked = (field) => field.type === "checkbox" || field.type === "radio";
// Forms of one action differ in hidden fields, such as the member of a row.
const identify = (form) => JSON.stringify([form.getAttribute("action"), ...[...form.elements]
  .filter((field) => field.type === "hidden" && field.name !== "form_token")
  .map((field) => [field.name, field.value])]);
document.addEventListener("submit", ({ target: form }) => {
  const { user } = document.body.dataset;
  if (!user || form.method !== "post" || form.querySelector("[type=password]") || "gate" in form.dataset) return;
  const typed = [...form.elements]
    .filter((field) => field.name && !["hidden", "submit", "file"].includes(field.type))
    .map((field) => [field.name, field.value, isTicked(field) ? field.checked : null]);
  const unsent = { user, form: identify(form), page: "answer" in document.body.dataset ? null : location.href, typed };
  sessionStorage.setItem(UNSENT, JSON.stringify(unsent));
});
restore(JSON.parse(sessionStorage.getItem(UNSENT) ?? "null"));

function restore(unsent) {
  if (!unsent || document.querySelector("form[action='/login'], form[data-gate]")) return;
  sessionStorage.removeItem(UNSENT);
  const cameBack = unsent.isBack || new URLSearchParams(location.search).has("again");
  if (!cameBack || unsent.user !== document.body.dataset.user) return;
  const form = [...document.forms].find((one) => identify(one) === unsent.form);
  if (!form && unsent.page && !unsent.isBack) {
    // The form is on a page that the address of its action does not name.
    sessionStorage.setItem(UNSENT, JSON.stringify({ ...unsent, isBack: true }));
    location.replace(unsent.page);
    return;
  }
  form?.closest("details")?.setAttribute("open", "");
  const fields = form ? [...form.elements] : [];
  for (const [name, value, ticked] of form ? unsent.typed : []) {
    const index = fields.findIndex((field) => field.name === name && (!isTicked(field) || field.value === value));
    if (index < 0) continue;
    const [field] = fields.splice(index, 1);
    if (isTicked(field)) field.checked = ticked;
    else field.value = value;
  }
  const rest = form?.querySelector("[type=file]")
    ? "Choose the file again; the rest of your input is here."
    : "Your input is here again: submit it once more.";
  if (form) announce(`Nothing was saved, because you had to log in or confirm it first. ${rest}`, "note");
}

// Submit a form once, even if its button is pressed repeatedly.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// One open dialog or menu at a time. Escape closes it; a click elsewhere closes a menu.
openOneAtATime(document.querySelectorAll("details.confirm"));
const menus = document.querySelectorAll("details.menu");
openOneAtATime(menus);
document.addEventListener("click", ({ target }) => {
  for (const menu of menus) if (!menu.contains(target)) menu.open = false;
});

function openOneAtATime(all) {
  for (const one of all) {
    // Not on toggle, which those that are open from the start cause, too.
    one.querySelector("summary").addEventListener("click", () => {
      if (!one.open) for (const other of all) if (other !== one) other.open = false;
    });
    one.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !one.open) return;
      one.open = false;
      one.querySelector("summary").focus();
    });
  }
}

// Keyboard shortcuts for periods. They can be turned off because single letters interfere with
// voice control.
const KEYS_OFF = "headwater keys off";
const keysButton = document.querySelector("[data-keys]");
function showKeys() {
  keysButton.hidden = false;
  keysButton.textContent = localStorage.getItem(KEYS_OFF) ? "Turn shortcuts on" : "Turn shortcuts off";
}
if (keysButton) {
  showKeys();
  keysButton.addEventListener("click", () => {
    if (localStorage.getItem(KEYS_OFF)) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "yes");
    showKeys();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || localStorage.getItem(KEYS_OFF)) return;
    if (event.target.closest("input, select, textarea")) return;
    document.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
  });
}

// Opening a row loads a page: restore the scroll position and focus the row.
const LOOKED_AT = "headwater looked at";
for (const link of document.querySelectorAll("a[data-keep]")) {
  link.addEventListener("click", () => {
    sessionStorage.setItem(LOOKED_AT, JSON.stringify({ y: scrollY, row: link.dataset.keep }));
  });
}
const lookedAt = JSON.parse(sessionStorage.getItem(LOOKED_AT) ?? "null");
sessionStorage.removeItem(LOOKED_AT);
if (lookedAt) {
  document.querySelector(`[data-keep="${CSS.escape(lookedAt.row)}"]`)?.focus({ preventScroll: true });
  scrollTo(0, lookedAt.y);
}

// Update the link while typing. The server classifies it by the rules for real visits.
const PREVIEW_MS = 350;
for (const form of document.querySelectorAll("form[data-preview]")) {
  const place = document.getElementById("preview");
  let timer;
  let latest;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value.trim()));
      latest?.abort();
      latest = new AbortController();
      try {
        const answer = await fetch(`${form.dataset.preview}?${query}`, { signal: latest.signal });
        if (answer.redirected || (!answer.ok && answer.status !== 422)) return;
        const open = place.querySelector("details[open]") !== null;
        place.replaceChildren(...parsed(await answer.text()));
        if (open) place.querySelectorAll("details").forEach((each) => { each.open = true; });
        offerCopies(place);
        history.replaceState(null, "", `${form.getAttribute("action")}?${query}`);
        document.getElementById("spoken").textContent =
          place.querySelector(".verdict strong, .refusal")?.textContent ?? "";
      } catch (error) {
        if (error.name !== "AbortError" && !(error instanceof TypeError)) throw error;
      }
    }, PREVIEW_MS);
  });
}

function parsed(text) {
  return new DOMParser().parseFromString(text, "text/html").body.childNodes;
}

// Reload a page that waits for something while it is visible and idle. A reload would lose a focus,
// a selection or an open menu.
const REFRESH_MS = 5000;
const STEPS_DONE = "headwater steps done";
const refreshed = document.querySelector("[data-refresh]");
if (document.querySelector(".checklist")) {
  const done = document.querySelectorAll(".checklist .done").length;
  const [page, before] = (sessionStorage.getItem(STEPS_DONE) ?? " ").split(" ");
  if (page === location.pathname && Number(before) !== done) {
    announce(`${done} of ${document.querySelectorAll(".checklist > li").length} are done.`);
  }
  sessionStorage.setItem(STEPS_DONE, `${location.pathname} ${done}`);
}
if (refreshed) {
  setInterval(() => {
    const busy = document.hidden || document.activeElement !== document.body
      || !getSelection().isCollapsed || document.querySelector("details[open]");
    if (!busy) location.reload();
  }, Number(refreshed.dataset.refresh) || REFRESH_MS);
}

// Unfocus a link that opens in a new tab, so that the page can reload.
for (const link of document.querySelectorAll("a[data-opens]")) {
  link.addEventListener("click", () => link.blur());
}

// Refuse an oversized file before sending; without scripts the server refuses it.
for (const input of document.querySelectorAll("input[type=file][data-most]")) {
  input.addEventListener("change", () => {
    const megabytes = (input.files[0]?.size ?? 0) / 1e6;
    const isLarge = megabytes > Number(input.dataset.most);
    input.setCustomValidity(isLarge ? `The file has ${Math.ceil(megabytes)} MB; the limit is ${input.dataset.most} MB.` : "");
    if (isLarge) input.reportValidity();
  });
}

// Fetch arrivals while the page is visible and not paused, and nothing in the list has the focus or
// a selection, which would be lost.
const LIVE_MS = 5000;
const SPOKEN_EVERY_MS = 20000;
const arrivals = document.querySelector("[data-live]");
if (arrivals) {
  const pause = document.getElementById("pause");
  let { tag } = arrivals.dataset;
  let known = new Set(lines().map((line) => line.dataset.line));
  let unsaid = 0;
  let saidAt = Date.now();
  pause.hidden = false;
  pause.addEventListener("click", () => {
    const paused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", paused);
    arrivals.classList.toggle("paused", paused);
    if (!paused) refresh();
  });
  setInterval(refresh, LIVE_MS);
  document.addEventListener("visibilitychange", refresh);

  function lines() {
    return [...arrivals.querySelectorAll("[data-line]")];
  }

  function isBusy() {
    const selection = getSelection();
    return document.hidden || pause.getAttribute("aria-pressed") === "true"
      || arrivals.contains(document.activeElement)
      || (!selection.isCollapsed && arrivals.contains(selection.anchorNode));
  }

  async function refresh() {
    if (isBusy()) return;
    let answer;
    try {
      answer = await fetch(arrivals.dataset.live, {
        cache: "no-store", headers: { "If-None-Match": `"${tag}"` },
      });
    } catch {
      return; // retry next time
    }
    if (answer.redirected) location.reload();
    if (answer.status !== 200 || isBusy()) return;
    tag = answer.headers.get("ETag").replaceAll('"', "");
    const open = arrivals.querySelector("details").open;
    arrivals.replaceChildren(...parsed(await answer.text()));
    arrivals.querySelector("details").open = open;
    const fresh = lines().filter((line) => !known.has(line.dataset.line));
    for (const line of fresh) line.classList.add("fresh");
    known = new Set(lines().map((line) => line.dataset.line));
    say(fresh.length);
  }

  // Announce a summary, not every line.
  function say(count) {
    unsaid += count;
    if (!unsaid || Date.now() - saidAt < SPOKEN_EVERY_MS) return;
    document.getElementById("spoken").textContent = `${unsaid} new.`;
    unsaid = 0;
    saidAt = Date.now();
  }
}

// The sidebar's width is remembered by a cookie, so that the server draws the page in it.
const fold = document.querySelector("[data-fold]");
if (fold) {
  fold.hidden = false;
  fold.addEventListener("click", () => {
    const folded = document.body.classList.toggle("folded");
    fold.setAttribute("aria-pressed", folded);
    document.cookie = `folded=; path=/console; samesite=lax; max-age=${folded ? 31536000 : 0}`;
  });
}

// Ctrl K opens the list of pages. Typing narrows it, arrows walk through it, and Enter on a text that
// names no page searches people and companies.
const finder = document.querySelector("[data-finder]");
if (finder) {
  const field = finder.querySelector("input");
  const items = [...finder.querySelectorAll("li")];
  const button = document.querySelector("[data-find-page]");
  const shown = () => items.filter((item) => !item.hidden).map((item) => item.firstChild);
  const open = () => {
    field.value = "";
    items.forEach((item) => { item.hidden = false; });
    if (!finder.open) finder.showModal();
  };
  button.hidden = false;
  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    open();
  });
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    items.forEach((item) => {
      item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
    });
  });
  finder.addEventListener("keydown", (event) => {
    const links = shown();
    if (event.key === "Enter" && event.target === field && links.length && field.value) {
      event.preventDefault();
      links[0].click();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !links.length) return;
    event.preventDefault();
    const next = links.indexOf(document.activeElement) + step;
    (links[next] ?? (next < 0 ? field : links[0])).focus();
  });
  finder.addEventListener("click", ({ target }) => { if (target === finder) finder.close(); });
}

// The text of a bar beside the pointer, in place of the browser's own slow one.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
for (const bar of document.querySelectorAll("[data-tip]")) {
  bar.querySelector("title")?.remove();
  bar.addEventListener("pointerenter", () => {
    document.body.append(tip);
    tip.textContent = bar.dataset.tip.replaceAll(" · ", "\n");
    tip.hidden = false;
  });
  bar.addEventListener("pointermove", ({ pageX, pageY }) => {
    const right = pageX + tip.offsetWidth + 24 < document.documentElement.clientWidth;
    tip.style.left = `${right ? pageX + 12 : pageX - tip.offsetWidth - 12}px`;
    tip.style.top = `${pageY - tip.offsetHeight - 8}px`;
  });
  bar.addEventListener("pointerleave", () => { tip.hidden = true; });
}
