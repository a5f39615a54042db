// @ts-check
// Entry point of the page: starts all parts and switches between the views.

import { api } from "./api.js";
import { on } from "./event_bus.js";
import { startDailyStats } from "../queue/daily_stats.js";
import { Charts } from "../charts/charts.js";
import { byId } from "./dom.js";
import { startEvents } from "./events.js";
import { startHealth } from "./health.js";
import { openHelp, showAbout, startHelp } from "./help.js";
import { listenForKeys, showKeys } from "./keys.js";
import { startLabeller } from "./labeller.js";
import { removeBanner, showBanner } from "./notices.js";
import { startOpenList } from "../queue/open_list.js";
import { startOutbox } from "../queue/outbox.js";
import { startRequestView } from "../queue/request.js";
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
startRequestView();
const queue = new Queue();
const charts = new Charts();
startTry();
startDailyStats();
startOpenList();
startHealth();
listenForKeys((action) => {
  if (action === "help") {
    openHelp();
    return true;
  }
  return view() === "queue" && queue.act(action);
});
addEventListener("hashchange", () => route(true));
// The skip link moves the focus and must not change the view.
document.querySelector(".skip-link")?.addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
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
  for (const other of Object.keys(TITLES)) byId(`view-${other}`).hidden = other !== name;
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
  on("offline", () => showBanner("offline", "The server of this page does not answer. The page tries again by itself; your answers are stored."));
  on("online", () => removeBanner("offline"));
  on("unauthorized", () => showBanner("unauthorized", "You are not logged in any more.", [{ label: "Reload to log in", action: () => location.reload() }]));
}

async function start() {
  try {
    const session = await api.session();
    showAbout(session);
    byId("logout").hidden = !session.secured;
    byId("logout").addEventListener("click", async () => {
      await api.post("api/logout");
      location.reload();
    });
  } catch {
    // A banner is shown, and the page continues once the server answers.
  }
  startEvents();
  queue.next();
}
