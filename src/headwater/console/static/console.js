// What the pages gain where scripts run; all of them work without.

for (const button of document.querySelectorAll("[data-copy]")) {
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
    .filter((field) => field.name && field.type !== "hidden" && field.type !== "submit")
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

// A page on which something has not come yet is loaded again while somebody looks at it and does
// nothing there: a focus, a selection or an open menu would be lost.
const REFRESH_MS = 5000;
const STEPS_DONE = "headwater steps done";
if (document.querySelector("[data-refresh]")) {
  const done = document.querySelectorAll(".checklist .done").length;
  const before = sessionStorage.getItem(STEPS_DONE);
  if (before !== null && Number(before) !== done) {
    announce(`${done} of ${document.querySelectorAll(".checklist > li").length} are done.`);
  }
  sessionStorage.setItem(STEPS_DONE, done);
  setInterval(() => {
    const busy = document.hidden || document.activeElement !== document.body
      || !getSelection().isCollapsed || document.querySelector("details[open]");
    if (!busy) location.reload();
  }, REFRESH_MS);
}
