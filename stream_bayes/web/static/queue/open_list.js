// @ts-check
// The list of open label requests, fetched while it is unfolded.

import { api } from "../core/api.js";
import { on, throttle } from "../core/event_bus.js";
import { byId, h, setChildren, visibleText } from "../core/dom.js";
import { onHealth } from "../core/health.js";
import { mainLabel } from "./prediction.js";
import { figure, fromNow, probability, whole } from "../core/format.js";

const PAUSE = 1000;

export function startOpenList() {
  const details = byId("open");
  const refresh = throttle(PAUSE, () => details.open && fetchRequests());
  details.addEventListener("toggle", refresh);
  on("change", refresh);
  onHealth((state) => showCounts(state.open, state.leased));
}

/** @param {number} open @param {number} leased */
function showCounts(open, leased) {
  setChildren(byId("open-summary"), `${whole(open)} open, ${whole(leased)} leased`);
}

async function fetchRequests() {
  let queue;
  try {
    queue = await api.get("api/requests?limit=50");
  } catch {
    return;
  }
  showCounts(queue.open, queue.leased);
  if (queue.requests.length === 0) {
    setChildren(byId("open-body"), h("p", { class: "soft" }, "Nothing is open."));
    return;
  }
  const heads = ["Subject", "Prediction", "Score", "Requested", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "hidden" }, "State")));
  const more = queue.open > queue.requests.length ? h("p", { class: "soft" }, `and ${whole(queue.open - queue.requests.length)} more`) : null;
  setChildren(byId("open-body"), h("table", { class: "list" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...queue.requests.map(row))), more);
}

/** @param {any} request */
function row(request) {
  const main = mainLabel(request);
  const prediction = main ? `${main[0]} ${probability(main[1])}` : request.mean === null ? "" : figure(request.mean);
  return h(
    "tr",
    { "data-place": `${request.place.partition}/${request.place.offset}` },
    h("td", { class: "subject", dir: "auto" }, visibleText(request.subject ?? request.id)),
    h("td", {}, prediction),
    h("td", {}, request.score === null ? "" : figure(request.score)),
    h("td", {}, request.requested_at ? fromNow(request.requested_at) : ""),
    h("td", {}, request.leased ? h("span", { class: "tag" }, "leased") : ""),
  );
}
