// @ts-check
// What the server tells by itself. A hidden tab listens to nothing: browsers allow few open connections to one server.

import { api } from "./api.js";
import { on, tell } from "./bus.js";

const AGAIN = 3000;

/** @type {EventSource | null} */
let source = null;
let waiting = 0;

export function listen() {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  on("back", () => open());
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

function open() {
  if (document.hidden || (source !== null && source.readyState !== EventSource.CLOSED)) return;
  clearTimeout(waiting);
  source = new EventSource("api/events");
  // Whatever happened before the line stood is asked for once.
  source.addEventListener("open", () => tell("change", {}));
  source.addEventListener("change", (event) => tell("change", JSON.parse(event.data)));
  source.addEventListener("error", broken);
}

/** A line that breaks may come back by itself; asking for the session tells whether the server is there at all. */
function broken() {
  api.session().catch(() => undefined);
  if (source?.readyState !== EventSource.CLOSED) return;
  clearTimeout(waiting);
  waiting = window.setTimeout(open, AGAIN);
}

function close() {
  clearTimeout(waiting);
  source?.close();
  source = null;
}
