// Loaded before anything is painted, so that nobody who chose a dark page is met by a white one.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const stored = localStorage.getItem("forklore.theme");
    const wanted = dark.matches ? "dark" : "light";
    document.documentElement.dataset["theme"] = stored === "light" || stored === "dark" ? stored : wanted;
  };
  apply();
  dark.addEventListener("change", apply);
  addEventListener("forklore-theme", apply);
})();
