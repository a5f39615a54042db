// @ts-check
// The page: its views, and what starts them.

import { api } from "./api.js";
import { on } from "./bus.js";
import { startChanges } from "../queue/changes.js";
import { Charts } from "../charts/charts.js";
import { the } from "./dom.js";
import { listen } from "./events.js";
import { startHealth } from "./health.js";
import { openHelp, showAbout, startHelp } from "./help.js";
import { hearKeys, showKeys } from "./keys.js";
import { startLabeller } from "./labeller.js";
import { banner, unbanner } from "./notices.js";
import { startOpenList } from "../queue/open_list.js";
import { startOutbox } from "../queue/outbox.js";
import { startQuestion } from "../queue/question.js";
import { Queue } from "../queue/queue.js";
import { startTheme } from "./theme.js";
import { startTry } from "../try/try.js";

/** @type {Record<string, string>} */
const TITLES = { queue: "Queue", charts: "Charts", try: "Try it" };

startTheme();
startLabeller();
startHelp();
showKeys();
startNotices();
startQuestion();
const queue = new Queue();
const charts = new Charts();
startTry();
startChanges();
startOpenList();
startHealth();
hearKeys((action) => {
  if (action === "help") {
    openHelp();
    return true;
  }
  return view() === "queue" && queue.act(action);
});
addEventListener("hashchange", () => route(true));
// The skip link leads to a place in the view, not to another view.
document.querySelector(".skip-link")?.addEventListener("click", (event) => {
  event.preventDefault();
  the("main").focus();
});
route(false);
start();

function view() {
  const name = location.hash.slice(1);
  return name in TITLES ? name : "queue";
}

/** @param {boolean} moved */
function route(moved) {
  const name = view();
  for (const other of Object.keys(TITLES)) the(`view-${other}`).hidden = other !== name;
  for (const link of document.querySelectorAll("nav [data-view]")) {
    if (link.getAttribute("data-view") === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[name]} · stream_bayes`;
  charts.visible(name === "charts");
  if (moved) scrollTo({ top: 0 });
}

function startNotices() {
  startOutbox();
  on("lost", () => banner("lost", "The server of this page does not answer. The page tries again by itself; your answers are kept."));
  on("back", () => unbanner("lost"));
  on("locked", () => banner("locked", "You are not logged in any more.", [{ label: "Reload to log in", action: () => location.reload() }]));
}

async function start() {
  try {
    const session = await api.session();
    showAbout(session);
    the("logout").hidden = !session.secured;
    the("logout").addEventListener("click", async () => {
      await api.post("api/logout");
      location.reload();
    });
  } catch {
    // The page has said so, and goes on once the server answers.
  }
  listen();
  queue.next();
}
