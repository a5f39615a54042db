// @ts-check
// Server-sent events. A hidden tab closes its stream: browsers allow few open connections to one server.

import { api } from "./api.js";
import { emit, on } from "./event_bus.js";

const RECONNECT_AFTER = 3000;

/** @type {EventSource | null} */
let source = null;
let timer = 0;

export function startEvents() {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  on("online", () => open());
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

function open() {
  if (document.hidden || (source !== null && source.readyState !== EventSource.CLOSED)) return;
  clearTimeout(timer);
  source = new EventSource("api/events");
  // Changes before the connection was open are fetched once.
  source.addEventListener("open", () => emit("change", {}));
  source.addEventListener("change", (event) => emit("change", JSON.parse(event.data)));
  source.addEventListener("error", onError);
}

/** A broken stream may reconnect by itself; a request for the session shows whether the server can be reached. */
function onError() {
  api.session().catch(() => undefined);
  if (source?.readyState !== EventSource.CLOSED) return;
  clearTimeout(timer);
  timer = window.setTimeout(open, RECONNECT_AFTER);
}

function close() {
  clearTimeout(timer);
  source?.close();
  source = null;
}
