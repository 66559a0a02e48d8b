// Ask the browser for a passkey, or for a new one, and send its answer with the form.

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const problem = form.querySelector("[data-passkey-problem]");
  if (!globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) {
    show("This browser does not support passkeys.");
    form.querySelector("button").disabled = true;
    continue;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    const options = JSON.parse(form.dataset.options);
    try {
      const credential = form.dataset.passkey === "create"
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch (error) {
      delete form.dataset.sent;
      show(error.name === "InvalidStateError" ? "This device already has a passkey for your account." : "No passkey was used. Try again.");
    }
  });

  function show(text) {
    problem.textContent = text;
    problem.hidden = false;
  }
}
