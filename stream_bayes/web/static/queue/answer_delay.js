// @ts-check
// A short delay before a new mail can be answered, so that a key pressed twice does not answer an unseen mail.

const MILLISECONDS = 300;

export class AnswerDelay {
  /** @param {() => void} onEnd */
  constructor(onEnd) {
    this.onEnd = onEnd;
    /** Whether the delay is running. */
    this.running = false;
    this.timer = 0;
  }

  begin() {
    this.running = true;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.end(), MILLISECONDS);
  }

  end() {
    this.running = false;
    this.onEnd();
  }
}
