// @ts-check
// What is open, as a list that is fetched while it is unfolded.

import { api } from "../core/api.js";
import { on, seldom } from "../core/bus.js";
import { h, put, shown, the } from "../core/dom.js";
import { onHealth } from "../core/health.js";
import { meant } from "./opinion.js";
import { figure, fromNow, probability, whole } from "../core/words.js";

const PAUSE = 1000;

export function startOpenList() {
  const details = the("open");
  const again = seldom(PAUSE, () => details.open && look());
  details.addEventListener("toggle", again);
  on("change", again);
  onHealth((state) => count(state.open, state.taken));
}

/** @param {number} open @param {number} taken */
function count(open, taken) {
  put(the("open-summary"), `${whole(open)} open, ${whole(taken)} taken`);
}

async function look() {
  let queue;
  try {
    queue = await api.get("api/requests?limit=50");
  } catch {
    return;
  }
  count(queue.open, queue.taken);
  if (queue.requests.length === 0) {
    put(the("open-body"), h("p", { class: "soft" }, "Nothing is open."));
    return;
  }
  const heads = ["What", "Belief", "Score", "Asked", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "hidden" }, "State")));
  const more = queue.open > queue.requests.length ? h("p", { class: "soft" }, `and ${whole(queue.open - queue.requests.length)} more`) : null;
  put(the("open-body"), h("table", { class: "list" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...queue.requests.map(row))), more);
}

/** @param {any} one */
function row(one) {
  const about = meant(one);
  const belief = about ? `${about[0]} ${probability(about[1])}` : one.mean === null ? "" : figure(one.mean);
  return h(
    "tr",
    { "data-place": `${one.place.partition}/${one.place.offset}` },
    h("td", { class: "what", dir: "auto" }, shown(one.subject ?? one.id)),
    h("td", {}, belief),
    h("td", {}, one.score === null ? "" : figure(one.score)),
    h("td", {}, one.asked_at ? fromNow(one.asked_at) : ""),
    h("td", {}, one.taken ? h("span", { class: "tag" }, "taken") : ""),
  );
}
