// What the pages gain where scripts run; all of them work without.

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

// Over plain http on other hosts than this machine there is no clipboard for pages: then the text
// is selected, for the keyboard to copy.
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

// The browser knows where it is: a better guess at a new Space's time zone than UTC.
for (const select of document.querySelectorAll("select[data-zone]")) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...select.options].some((option) => option.value === zone)) select.value = zone;
}

// The first field that was refused, also where the browser did not heed `autofocus`.
document.querySelector("[aria-invalid=true]")?.focus();

// What was typed outlives a session that ended meanwhile: it is kept in this tab, never a password,
// and filled in again where the same person comes back to the page from logging in.
const UNSENT = "headwater unsent form";
const isTicked = (field) => field.type === "checkbox" || field.type === "radio";
document.addEventListener("submit", ({ target: form }) => {
  const { user } = document.body.dataset;
  if (!user || form.method !== "post" || form.querySelector("[type=password]")) return;
  const typed = [...form.elements]
    .filter((field) => field.name && !["hidden", "submit", "file"].includes(field.type))
    .map((field) => [field.name, field.value, isTicked(field) ? field.checked : null]);
  const unsent = { user, action: form.getAttribute("action"), typed };
  sessionStorage.setItem(UNSENT, JSON.stringify(unsent));
});
restore(JSON.parse(sessionStorage.getItem(UNSENT) ?? "null"));

function restore(unsent) {
  if (!unsent || document.querySelector("form[action='/login']")) return;
  sessionStorage.removeItem(UNSENT);
  const cameBack = new URLSearchParams(location.search).has("again");
  if (!cameBack || unsent.user !== document.body.dataset.user) return;
  const form = [...document.forms].find((one) => one.getAttribute("action") === unsent.action);
  for (const [name, value, ticked] of form ? unsent.typed : []) {
    for (const field of form.elements) {
      if (field.name !== name) continue;
      if (!isTicked(field)) field.value = value;
      else if (field.value === value) field.checked = ticked;
    }
  }
  if (form) announce("You had been logged out, so nothing was saved. What you typed is here again: send it once more.", "note");
}

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// One open question, or menu, at a time; Escape closes it, and of menus a click elsewhere too.
openOneAtATime(document.querySelectorAll("details.confirm"));
const menus = document.querySelectorAll("details.menu");
openOneAtATime(menus);
document.addEventListener("click", ({ target }) => {
  for (const menu of menus) if (!menu.contains(target)) menu.open = false;
});

function openOneAtATime(all) {
  for (const one of all) {
    one.addEventListener("toggle", () => {
      if (one.open) for (const other of all) if (other !== one) other.open = false;
    });
    one.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !one.open) return;
      one.open = false;
      one.querySelector("summary").focus();
    });
  }
}

// Periods have keys, unless they are turned off: single letters are in the way of those who speak
// to their computer.
const KEYS_OFF = "headwater keys off";
const keysButton = document.querySelector("[data-keys]");
function showKeys() {
  keysButton.hidden = false;
  keysButton.textContent = localStorage.getItem(KEYS_OFF) ? "Turn keys on" : "Turn keys off";
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

// A row that opens is a page of its own; it comes back where one was looking, the focus on the row.
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

// The link follows the typing: the server names its visits, as it will name them when they come.
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

// A page on which something has not come yet is loaded again while somebody looks at it and does
// nothing there: a focus, a selection or an open menu would be lost.
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

// Whoever opens another page in a new tab goes on there: the link needs no focus any more.
for (const link of document.querySelectorAll("a[data-opens]")) {
  link.addEventListener("click", () => link.blur());
}

// A file that is too large is not sent at all; without scripts it is sent, and refused.
for (const input of document.querySelectorAll("input[type=file][data-most]")) {
  input.addEventListener("change", () => {
    const megabytes = (input.files[0]?.size ?? 0) / 1e6;
    const isLarge = megabytes > Number(input.dataset.most);
    input.setCustomValidity(isLarge ? `The file has ${Math.ceil(megabytes)} MB, and ${input.dataset.most} MB can be sent at most.` : "");
    if (isLarge) input.reportValidity();
  });
}

// What comes in is fetched while somebody looks: not while the page is hidden or paused, nor while
// something in the list has the focus or is selected, which would be lost.
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
      return; // the next time may do
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

  // One sentence now and then, not a line for each.
  function say(count) {
    unsaid += count;
    if (!unsaid || Date.now() - saidAt < SPOKEN_EVERY_MS) return;
    document.getElementById("spoken").textContent = `${unsaid} new.`;
    unsaid = 0;
    saidAt = Date.now();
  }
}
