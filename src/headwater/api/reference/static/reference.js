// Send the examples from the page. Without this script they are commands to copy.

// On a phone the contents precede everything else: fold them, unless the address names an operation,
// which would move.
if (!location.hash && matchMedia("(max-width: 60rem)").matches) {
  document.querySelector("[data-contents]").open = false;
}

// A former link to an operation, /docs#put_spend, leads to the page that has it.
function follow() {
  const listed = document.querySelector(`.entries > [id="${CSS.escape(location.hash.slice(1))}"] a`);
  if (listed) location.replace(listed.href);
}
follow();
addEventListener("hashchange", follow);

const key = document.getElementById("key");
if (key) {
  key.form.hidden = false;
  key.form.addEventListener("submit", (event) => event.preventDefault());
}

for (const form of document.querySelectorAll("[data-try]")) {
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const shown = form.querySelector("output");
    if (!key.value.trim()) {
      shown.textContent = "Type your API key in at the top of the page first.";
      key.focus();
      return;
    }
    shown.textContent = "…";
    shown.textContent = await answer(form);
  });
}

async function answer(form) {
  const { target, body } = form.elements;
  const headers = { Authorization: `Bearer ${key.value.trim()}` };
  if (body) headers["Content-Type"] = form.dataset.type;
  try {
    const address = new URL(target.value, location.origin);
    if (address.origin !== location.origin) return "The path has to begin with a single slash.";
    const response = await fetch(address, { method: form.dataset.try, headers, body: body?.value });
    return `${response.status} ${response.statusText}\n${pretty(await response.text())}`;
  } catch (error) {
    return `Not sent: ${error.message}`;
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
