// Before the page is drawn, so that it does not flash: the theme that the reader chose.
(function () {
  "use strict";
  try {
    const theme = localStorage.getItem("matins.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* no storage: the system's theme it is */ }
})();
