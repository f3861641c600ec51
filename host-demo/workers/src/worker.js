/** A worker that judges: `POST /<function>` with the text that the contract's `json` interface takes. */
import { contract } from "retort-contract";

/** The most characters of a body; longer ones are refused unread. */
const LONGEST_BODY = 2 * 1024 * 1024;

/** Path → function. */
const FUNCTIONS = {
  "/evaluate": contract.json.evaluate,
  "/evaluate-many": contract.json.evaluateMany,
  "/reconcile": contract.json.reconcile,
  "/summarise": contract.json.summarise,
  "/budget": contract.json.budget,
  "/redact": contract.json.redact,
  "/inspect": contract.json.inspect,
  "/fingerprint": contract.json.fingerprint,
  "/render": contract.json.render,
  "/codes": contract.json.codes,
  "/version": contract.json.version,
};

export default {
  /** @param {Request} request */
  async fetch(request) {
    const path = new URL(request.url).pathname;
    if (!Object.hasOwn(FUNCTIONS, path)) return new Response(null, { status: 404 });
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    if (Number(request.headers.get("content-length")) > LONGEST_BODY) return new Response(null, { status: 413 });
    return new Response(FUNCTIONS[path](await request.text()), { headers: { "content-type": "application/json" } });
  },
};
