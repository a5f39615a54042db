// @ts-check
// HTTP client of the API: requests, errors, and whether the server can be reached.

import { emit } from "./event_bus.js";
import { sessionId } from "./session.js";

const TIMEOUT = 20_000;
const RETRY_SECONDS = [1, 2, 3, 5, 8, 15];

/** An error response of the server. */
export class Problem extends Error {
  /** @param {number} status @param {string} code @param {string} detail */
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** The server did not answer. */
export class Unreachable extends Error {}

/**
 * @typedef {{csrf: string, secured: boolean, version: string, group: string, log: string, lease_seconds: number,
 *   kinds?: string[], numbers?: boolean, mail?: boolean}} Session
 */

/** @type {Session | null} */
let session = null;
let reachable = true;
let retrying = false;

export const api = {
  /** @param {string} path */
  get: (path) => send("GET", path),
  /** @param {string} path @param {unknown} [body] */
  post: (path, body) => write(path, body),
  /** Posts while the page is being closed. @param {string} path @param {unknown} body */
  postOnLeave: (path, body) => {
    if (session !== null) send("POST", path, withSessionId(path, body), true).catch(() => undefined);
  },
  session: startSession,
};

/** The session with the properties of the server and of the learner, or null before it is loaded. */
export function currentSession() {
  return session;
}

/** @param {{partition: number, offset: number}} place @param {string} verb */
export function requestPath(place, verb) {
  return `api/requests/${place.partition}/${place.offset}/${verb}`;
}

async function startSession() {
  session = await send("GET", "api/session");
  emit("session");
  return /** @type {Session} */ (session);
}

/** Adds the session id to label requests: two tabs may use the same labeller name. @param {string} path @param {unknown} body */
function withSessionId(path, body) {
  const isRequest = path.startsWith("api/requests/") && session?.kinds !== undefined;
  return isRequest ? { session_id: sessionId(), .../** @type {object} */ (body) } : body;
}

/** @param {string} path @param {unknown} body */
async function write(path, body) {
  if (session === null) await startSession();
  try {
    return await send("POST", path, withSessionId(path, body));
  } catch (error) {
    // A restarted server has a new CSRF token.
    if (!(error instanceof Problem) || error.status !== 403) throw error;
    await startSession();
    return send("POST", path, withSessionId(path, body));
  }
}

/** @param {string} method @param {string} path @param {unknown} [body] @param {boolean} [keepalive] */
async function send(method, path, body, keepalive = false) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && session !== null) headers["X-CSRF-Token"] = session.csrf;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      keepalive,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "same-origin",
      signal: AbortSignal.timeout(TIMEOUT),
    });
  } catch (error) {
    if (!keepalive) markOffline();
    throw new Unreachable("The server does not answer.", { cause: error });
  }
  if (!response.ok) throw await problem(response);
  markOnline();
  return response.status === 204 ? null : response.json();
}

/** @param {Response} response */
async function problem(response) {
  if (response.status === 401) logIn();
  if ([502, 504].includes(response.status)) markOffline();
  else markOnline();
  let body = null;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  const code = typeof body?.code === "string" ? body.code : "unknown";
  const detail = typeof body?.detail === "string" ? body.detail : `The server answered ${response.status}.`;
  return new Problem(response.status, code, detail);
}

/** Reloads the page, since the server then shows the login; at most once in ten seconds. */
function logIn() {
  let last = 0;
  try {
    last = Number(sessionStorage.getItem("stream_bayes.reloaded") ?? 0);
    sessionStorage.setItem("stream_bayes.reloaded", String(Date.now()));
  } catch {
    return;
  }
  if (Date.now() - last > 10_000) location.reload();
  else emit("unauthorized");
}

function markOffline() {
  if (reachable) {
    reachable = false;
    emit("offline");
  }
  if (!retrying) retry();
}

function markOnline() {
  if (reachable) return;
  reachable = true;
  emit("online");
}

/** Requests the session until the server answers. */
async function retry() {
  retrying = true;
  for (let attempt = 0; !reachable; attempt += 1) {
    const seconds = RETRY_SECONDS[Math.min(attempt, RETRY_SECONDS.length - 1)];
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    await startSession().catch(() => undefined);
  }
  retrying = false;
}
