// @ts-check
// One question at a time: take, answer, skip, undo.

import { watchIdle } from "./idle.js";
import { Problem, Unreachable, api, requestPath } from "../core/api.js";
import { choiceOf, clearField, enable, offer, startAnswers, typed } from "./answers.js";
import { on, seldom } from "../core/bus.js";
import { showEmpty, showQuestionPane } from "./empty.js";
import { FirstLoad } from "./first_load.js";
import { health, onHealth } from "../core/health.js";
import { labeller } from "../core/labeller.js";
import { Lease } from "./lease.js";
import { announce, hush, toast } from "../core/notices.js";
import { keep, same, waitingPlaces } from "./outbox.js";
import { sessionId } from "../core/session.js";
import { Skipped } from "./skipped.js";
import { reopened } from "./undo.js";
import { feedbackText, titleOf } from "./feedback_text.js";
import { labelTitle, sentence } from "../core/words.js";

const AGAIN = 1000;
const WATCH = 5000;
const MOST_SENT = 900;

/** @typedef {{place: any, labeller: string, skipped?: boolean}} Own what undo can bring back */

export class Queue {
  constructor() {
    /** @type {any} */
    this.question = null;
    this.owner = "";
    this.busy = false;
    this.look = new FirstLoad(() => this.refresh());
    this.skipped = new Skipped();
    /** @type {Own[]} */
    this.answers = [];
    /** How far undo has gone back: the answers before it are still to be taken up again. */
    this.cursor = 0;
    this.cutOff = false;
    /** @type {Problem | null} */
    this.trouble = null;
    this.lease = new Lease((problem) => this.lostIt(problem));
    startAnswers({ say: (label) => this.say(label), unsure: () => this.unsure(), skip: () => this.skip(), undo: () => this.undo() });
    this.listen();
  }

  listen() {
    const again = seldom(AGAIN, () => this.question === null && this.next());
    on("change", again);
    on("lost", () => (this.cutOff = true));
    on("back", () => {
      this.cutOff = false;
      again();
    });
    on("name", () => this.renamed());
    onHealth(() => this.question === null && !this.busy && this.showNothing());
    setInterval(() => !document.hidden && again(), WATCH);
    watchIdle({
      seconds: () => this.question?.lease_seconds,
      back: () => this.question === null && this.next(),
      // What is half typed stays.
      gone: () => !this.busy && typed() === "" && this.leave(),
    });
    addEventListener("pagehide", () => this.leave());
    addEventListener("pageshow", (event) => event.persisted && this.next());
    addEventListener("beforeunload", (event) => typed() !== "" && event.preventDefault());
  }

  /** Whether a key's action was one for the queue. @param {string} action */
  act(action) {
    if (action === "unsure") this.unsure();
    else if (action === "skip") this.skip();
    else if (action === "undo") this.undo();
    else {
      const label = choiceOf(action);
      if (label === undefined) return false;
      this.say(label);
    }
    return true;
  }

  /** Runs one action at a time; what is pressed meanwhile counts for nothing. @param {() => Promise<void>} action */
  async alone(action) {
    if (this.busy) return;
    this.busy = true;
    this.refresh();
    try {
      await action();
    } catch (error) {
      this.failed(error);
    } finally {
      this.busy = false;
      this.refresh();
      if (this.question === null) this.showNothing();
    }
  }

  refresh() {
    enable({ question: this.question, busy: this.busy, early: this.look.early, undoable: this.cursor > 0 });
  }

  /** Whether an answer may be given now; says so where it is only too early. */
  ready() {
    if (this.question === null || this.busy) return false;
    if (this.look.early) toast(`Too quick: look at the new ${this.question.content === "features" ? "question" : "mail"} first.`);
    return !this.look.early;
  }

  next() {
    return this.alone(() => this.take());
  }

  async take() {
    const who = labeller();
    const skip = [...waitingPlaces(), ...this.skipped.places].slice(-MOST_SENT);
    this.question = null;
    const next = await api.post("api/requests/next", { labeller: who, skip });
    this.trouble = null;
    if (next.question !== null) this.show(next.question, who);
  }

  /** @param {any} question @param {string} who */
  show(question, who) {
    this.question = question;
    this.owner = who;
    offer(question);
    clearField();
    showQuestionPane(question);
    this.look.begin();
    this.lease.start(question.place, who, question.lease_seconds);
    announce(`${question.answer ? "Again" : "Next"}: ${titleOf(question)}`);
  }

  showNothing() {
    this.lease.stop();
    showEmpty(health(), { cutOff: this.cutOff, trouble: this.trouble }, this.skipped.size, () => {
      this.skipped.clear();
      this.next();
    });
  }

  unsure() {
    const { question } = this;
    if (question === null || question.abstain_label === null || !this.ready()) return;
    const said = question.answer?.label;
    if (said === undefined || said === question.abstain_label) this.say(question.abstain_label);
    else toast("A label that was sent can be corrected, not unsaid. Choose another, or skip to keep it.");
  }

  /** @param {any} label */
  say(label) {
    if (!this.ready()) return;
    const { question, owner } = this;
    this.lease.stop();
    return this.alone(async () => {
      await this.lease.asking;
      await this.sendLabel(question, owner, label);
      await this.take();
    });
  }

  /** @param {any} question @param {string} owner @param {any} label */
  async sendLabel(question, owner, label) {
    const { place } = question;
    try {
      const receipt = await api.post(requestPath(place, "label"), { labeller: owner, label });
      this.done({ place, labeller: owner });
      toast(feedbackText(question, label, receipt));
    } catch (error) {
      if (error instanceof Problem && [404, 409].includes(error.status)) {
        toast(`${sentence(error.message)} Your answer “${labelTitle(label)}” was not needed.`);
      } else {
        keep({ place, labeller: owner, label, subject: titleOf(question), session_id: sessionId() }, error);
      }
    }
    this.cursor = this.answers.length;
  }

  /** @param {Own} own */
  done(own) {
    this.answers = [...this.answers.filter((one) => !same(one.place, own.place)), own];
  }

  skip() {
    if (!this.ready()) return;
    const { question, owner } = this;
    if (question.answer) toast(`Kept: ${labelTitle(question.answer.label)}.`);
    else {
      this.skipped.add(question.place);
      this.done({ place: question.place, labeller: owner, skipped: true });
    }
    this.cursor = this.answers.length;
    return this.alone(async () => {
      await this.letGo();
      await this.take();
    });
  }

  undo() {
    if (this.busy) return;
    if (this.cursor === 0) {
      toast("There is nothing to undo: only what was answered or skipped in this visit can be taken up again.");
      return;
    }
    return this.alone(async () => {
      const own = this.answers[this.cursor - 1];
      await this.letGo();
      hush();
      this.cursor -= 1;
      try {
        this.show(await reopened(own), own.labeller);
        this.skipped.remove(own.place);
      } catch (error) {
        if (!(error instanceof Problem) || ![404, 409].includes(error.status)) throw error;
        this.answers = this.answers.filter((one) => one !== own);
        toast(`That cannot be undone: ${error.message}`);
        await this.take();
      }
    });
  }

  /** Lets go of what is on the screen; if that fails, the lease ends by itself. */
  async letGo() {
    const { question, owner } = this;
    this.lease.stop();
    if (question === null) return;
    await api.post(requestPath(question.place, "release"), { labeller: owner }).catch(() => undefined);
  }

  renamed() {
    return this.alone(async () => {
      await this.letGo();
      await this.take();
    });
  }

  /** @param {Problem} problem */
  lostIt(problem) {
    const text = typed();
    toast(`${sentence(problem.message)} Here is the next one.${text ? ` What you had typed was not sent: ${text}` : ""}`);
    this.next();
  }

  /** @param {unknown} error */
  failed(error) {
    this.lease.stop();
    if (error instanceof Problem && error.status !== 401) {
      this.trouble = error;
    } else if (!(error instanceof Problem || error instanceof Unreachable)) {
      throw error;
    }
  }

  leave() {
    if (this.question === null || this.busy) return;
    api.last(requestPath(this.question.place, "release"), { labeller: this.owner });
    this.lease.stop();
    this.question = null;
    this.cursor = this.answers.length;
  }
}
