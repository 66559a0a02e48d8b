// Create signatures that Headwater verifies, for logged-in visitors and webhooks. Only for servers and the
// edge: pages must not contain secrets.

const ENCODER = new TextEncoder();

async function sign(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, ENCODER.encode(text)));
}

export type Identity = {
  signed_at: number;
  signature: string;
  email?: string;
  tracking_id?: string;
};

/** Returns signed arguments for `trk.identify`, valid for 24 hours. */
export async function signIdentity(
  secret: string,
  who: { email?: string; trackingId?: string; at?: number },
): Promise<Identity> {
  const moment = who.at ?? Math.floor(Date.now() / 1000);
  const line = `${moment} ${(who.email ?? "").trim().toLowerCase()} ${who.trackingId ?? ""}`;
  const digest = await sign(ENCODER.encode(secret), line);
  const signature = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return {
    signed_at: moment,
    signature,
    ...(who.email ? { email: who.email } : {}),
    ...(who.trackingId ? { tracking_id: who.trackingId } : {}),
  };
}

/**
 * Returns the headers of a delivery to a generic webhook (Standard Webhooks). A retry needs the same `id`.
 */
export async function signWebhook(
  secret: string,
  body: string,
  delivery: { id?: string; at?: number } = {},
): Promise<Record<string, string>> {
  const id = delivery.id ?? crypto.randomUUID();
  const moment = String(delivery.at ?? Math.floor(Date.now() / 1000));
  const key = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (letter) => letter.charCodeAt(0));
  const digest = await sign(key, `${id}.${moment}.${body}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": moment,
    "webhook-signature": `v1,${btoa(String.fromCharCode(...digest))}`,
  };
}
