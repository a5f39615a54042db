// @ts-check
// A short delay after a new mail is loaded, so that a key pressed twice does not answer an unseen mail.

const MILLISECONDS = 300;

export class FirstLoad {
  /** @param {() => void} onOver */
  constructor(onOver) {
    this.onOver = onOver;
    /** Whether the mail has only just been drawn. */
    this.early = false;
    this.timer = 0;
  }

  begin() {
    this.early = true;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.end(), MILLISECONDS);
  }

  end() {
    this.early = false;
    this.onOver();
  }
}
