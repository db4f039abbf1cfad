// Loaded before anything is painted, so that nobody who chose a dark page is met by a white one.
(() => {
  const stored = localStorage.getItem("forklore.theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset["theme"] = stored;
})();
