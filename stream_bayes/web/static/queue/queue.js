// @ts-check
// The queue: one label request at a time, to answer, skip or undo.

import { watchIdle } from "./idle.js";
import { Problem, Unreachable, api, requestPath } from "../core/api.js";
import { choiceOf, clearField, showChoices, startAnswers, typedText, updateButtons } from "./answers.js";
import { on, throttle } from "../core/event_bus.js";
import { showEmpty, showRequestPane } from "./queue_view.js";
import { AnswerDelay } from "./answer_delay.js";
import { health, onHealth } from "../core/health.js";
import { labeller } from "../core/labeller.js";
import { Lease } from "./lease.js";
import { announce, hideToast, toast } from "../core/notices.js";
import { same, storeUnsent, unsentPlaces } from "./outbox.js";
import { sessionId } from "../core/session.js";
import { Skipped } from "./skipped.js";
import { reopenRequest } from "./undo.js";
import { feedbackText, titleOf } from "./feedback_text.js";
import { labelTitle, sentence } from "../core/format.js";

const REFRESH_PAUSE = 1000;
const REFRESH_EVERY = 5000;
const MAX_SKIPPED = 900;

/** @typedef {{place: any, labeller: string, skipped?: boolean}} HistoryEntry a request that undo can reopen */

export class Queue {
  constructor() {
    /** @type {any} */
    this.request = null;
    this.owner = "";
    this.busy = false;
    this.delay = new AnswerDelay(() => this.refresh());
    this.skipped = new Skipped();
    /** @type {HistoryEntry[]} */
    this.history = [];
    /** The position of undo in the history: the entries before it can be reopened. */
    this.cursor = 0;
    this.offline = false;
    /** @type {Problem | null} */
    this.problem = null;
    this.lease = new Lease((problem) => this.onLeaseLost(problem));
    startAnswers({ submit: (label) => this.submit(label), unsure: () => this.unsure(), skip: () => this.skip(), undo: () => this.undo() });
    this.listen();
  }

  listen() {
    const refresh = throttle(REFRESH_PAUSE, () => this.request === null && this.next());
    on("change", refresh);
    on("offline", () => (this.offline = true));
    on("online", () => {
      this.offline = false;
      refresh();
    });
    on("labeller", () => this.onLabellerChange());
    onHealth(() => this.request === null && !this.busy && this.showEmptyQueue());
    setInterval(() => !document.hidden && refresh(), REFRESH_EVERY);
    watchIdle({
      seconds: () => this.request?.lease_seconds,
      onVisible: () => this.request === null && this.next(),
      // A request with typed text is not released.
      onIdle: () => !this.busy && typedText() === "" && this.releaseOnLeave(),
    });
    addEventListener("pagehide", () => this.releaseOnLeave());
    addEventListener("pageshow", (event) => event.persisted && this.next());
    addEventListener("beforeunload", (event) => typedText() !== "" && event.preventDefault());
  }

  /** Runs the action of a key; returns whether it belongs to the queue. @param {string} action */
  act(action) {
    if (action === "unsure") this.unsure();
    else if (action === "skip") this.skip();
    else if (action === "undo") this.undo();
    else {
      const label = choiceOf(action);
      if (label === undefined) return false;
      this.submit(label);
    }
    return true;
  }

  /** Runs one action at a time; keys pressed in the meantime are ignored. @param {() => Promise<void>} action */
  async runExclusive(action) {
    if (this.busy) return;
    this.busy = true;
    this.refresh();
    try {
      await action();
    } catch (error) {
      this.onError(error);
    } finally {
      this.busy = false;
      this.refresh();
      if (this.request === null) this.showEmptyQueue();
    }
  }

  refresh() {
    updateButtons({ request: this.request, busy: this.busy, delayed: this.delay.running, undoable: this.cursor > 0 });
  }

  /** Whether an answer is possible now; shows a message during the delay. */
  isReady() {
    if (this.request === null || this.busy) return false;
    if (this.delay.running) toast(`Too quick: read the new ${this.request.content === "features" ? "request" : "mail"} first.`);
    return !this.delay.running;
  }

  next() {
    return this.runExclusive(() => this.takeNext());
  }

  async takeNext() {
    const owner = labeller();
    const skip = [...unsentPlaces(), ...this.skipped.places].slice(-MAX_SKIPPED);
    this.request = null;
    const next = await api.post("api/requests/next", { labeller: owner, skip });
    this.problem = null;
    if (next.request !== null) this.show(next.request, owner);
  }

  /** @param {any} request @param {string} owner */
  show(request, owner) {
    this.request = request;
    this.owner = owner;
    showChoices(request);
    clearField();
    showRequestPane(request);
    this.delay.begin();
    this.lease.start(request.place, owner, request.lease_seconds);
    announce(`${request.answer ? "Again" : "Next"}: ${titleOf(request)}`);
  }

  showEmptyQueue() {
    this.lease.stop();
    showEmpty(health(), { offline: this.offline, problem: this.problem }, this.skipped.size, () => {
      this.skipped.clear();
      this.next();
    });
  }

  unsure() {
    const { request } = this;
    if (request === null || request.abstain_label === null || !this.isReady()) return;
    const earlier = request.answer?.label;
    if (earlier === undefined || earlier === request.abstain_label) this.submit(request.abstain_label);
    else toast("A label that was sent can be corrected, not withdrawn. Choose another, or skip to keep it.");
  }

  /** @param {any} label */
  submit(label) {
    if (!this.isReady()) return;
    const { request, owner } = this;
    this.lease.stop();
    return this.runExclusive(async () => {
      await this.lease.renewal;
      await this.sendLabel(request, owner, label);
      await this.takeNext();
    });
  }

  /** @param {any} request @param {string} owner @param {any} label */
  async sendLabel(request, owner, label) {
    const { place } = request;
    try {
      const receipt = await api.post(requestPath(place, "label"), { labeller: owner, label });
      this.record({ place, labeller: owner });
      toast(feedbackText(request, label, receipt));
    } catch (error) {
      if (error instanceof Problem && [404, 409].includes(error.status)) {
        toast(`${sentence(error.message)} Your answer “${labelTitle(label)}” was not needed.`);
      } else {
        storeUnsent({ place, labeller: owner, label, subject: titleOf(request), session_id: sessionId() }, error);
      }
    }
    this.cursor = this.history.length;
  }

  /** @param {HistoryEntry} entry */
  record(entry) {
    this.history = [...this.history.filter((one) => !same(one.place, entry.place)), entry];
  }

  skip() {
    if (!this.isReady()) return;
    const { request, owner } = this;
    if (request.answer) toast(`Kept: ${labelTitle(request.answer.label)}.`);
    else {
      this.skipped.add(request.place);
      this.record({ place: request.place, labeller: owner, skipped: true });
    }
    this.cursor = this.history.length;
    return this.runExclusive(async () => {
      await this.release();
      await this.takeNext();
    });
  }

  undo() {
    if (this.busy) return;
    if (this.cursor === 0) {
      toast("There is nothing to undo: only requests that you answered or skipped since the page was loaded can be reopened.");
      return;
    }
    return this.runExclusive(async () => {
      const entry = this.history[this.cursor - 1];
      await this.release();
      hideToast();
      this.cursor -= 1;
      try {
        this.show(await reopenRequest(entry), entry.labeller);
        this.skipped.remove(entry.place);
      } catch (error) {
        if (!(error instanceof Problem) || ![404, 409].includes(error.status)) throw error;
        this.history = this.history.filter((one) => one !== entry);
        toast(`That cannot be undone: ${error.message}`);
        await this.takeNext();
      }
    });
  }

  /** Releases the request on the screen; if that fails, its lease expires. */
  async release() {
    const { request, owner } = this;
    this.lease.stop();
    if (request === null) return;
    await api.post(requestPath(request.place, "release"), { labeller: owner }).catch(() => undefined);
  }

  onLabellerChange() {
    return this.runExclusive(async () => {
      await this.release();
      await this.takeNext();
    });
  }

  /** @param {Problem} problem */
  onLeaseLost(problem) {
    const text = typedText();
    toast(`${sentence(problem.message)} Here is the next request.${text ? ` Your text was not sent: ${text}` : ""}`);
    this.next();
  }

  /** @param {unknown} error */
  onError(error) {
    this.lease.stop();
    if (error instanceof Problem && error.status !== 401) {
      this.problem = error;
    } else if (!(error instanceof Problem || error instanceof Unreachable)) {
      throw error;
    }
  }

  releaseOnLeave() {
    if (this.request === null || this.busy) return;
    api.postOnLeave(requestPath(this.request.place, "release"), { labeller: this.owner });
    this.lease.stop();
    this.request = null;
    this.cursor = this.history.length;
  }
}
