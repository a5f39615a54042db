// @ts-check
// A new mail is looked at before it can be answered: a key pressed twice must not answer what nobody has seen.

const MILLISECONDS = 300;

export class FirstLook {
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
