// A classic script, so that the stored theme is there before the first paint.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("stream_bayes.theme");
  } catch {
    theme = null;
  }
  if (theme === '"light"' || theme === '"dark"') document.documentElement.dataset.theme = theme.slice(1, -1);
})();
