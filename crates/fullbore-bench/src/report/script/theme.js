// The button for the light and dark theme.
(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("scripted");
  document.getElementById("theme").addEventListener("click", function () {
    var dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
