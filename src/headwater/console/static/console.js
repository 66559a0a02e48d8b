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

function announce(text) {
  const place = document.createElement("p");
  place.className = "sr";
  place.textContent = text;
  document.querySelector("[role=status]").append(place);
}

// The browser knows where it is: a better guess at a new Space's time zone than UTC.
for (const select of document.querySelectorAll("select[data-zone]")) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if ([...select.options].some((option) => option.value === zone)) select.value = zone;
}

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// One open question at a time; Escape closes it.
const questions = document.querySelectorAll("details.confirm");
for (const question of questions) {
  question.addEventListener("toggle", () => {
    if (question.open) for (const other of questions) if (other !== question) other.open = false;
  });
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !question.open) return;
    question.open = false;
    question.querySelector("summary").focus();
  });
}

// On a narrow screen the tabs scroll, and the one that is open may be out of sight.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
