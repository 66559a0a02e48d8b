// The certified provider `oidc-provider`, with its own pages. Each line of standard input is a command in
// JSON: {"account": {...}} sets a person's claims, {"rotate": true} changes the signing key. Each is answered
// with a line.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const [redirectUri, logoutUri, returnUri, secret] = process.argv.slice(2);
const accounts = new Map();
let generation = 0;

const makeKey = () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  generation += 1;
  return { ...privateKey.export({ format: "jwk" }), kid: `key-${generation}`, use: "sig", alg: "RS256" };
};

const makeProvider = (issuer) => new Provider(issuer, {
  clients: [{
    client_id: "headwater",
    client_secret: secret,
    redirect_uris: [redirectUri],
    post_logout_redirect_uris: [returnUri],
    backchannel_logout_uri: logoutUri,
    backchannel_logout_session_required: true,
  }],
  claims: { openid: ["sub", "sid"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
  scopes: ["openid", "groups"],
  cookies: { keys: ["a key of the tests"] },
  jwks: { keys: [makeKey()] },
  // Its own dispatcher refuses addresses of this machine.
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
  features: { backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts.get(id) }) }),
});

let handle;
const server = createServer((request, response) => handle(request, response));
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const renew = () => { handle = makeProvider(issuer).callback(); };
  renew();
  console.log(JSON.stringify({ issuer }));
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { account, rotate } = JSON.parse(line);
    if (account) accounts.set(account.id, account.claims);
    if (rotate) renew();
    console.log(JSON.stringify({ generation }));
  }).on("close", () => process.exit(0));
});
