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

  document.querySelectorAll(".legend button").forEach(function (button) {
    button.addEventListener("click", function () {
      var shown = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!shown));
      var line = button.closest("figure").querySelector('.series[data-line="' + button.dataset.line + '"]');
      if (line) { line.classList.toggle("off", shown); }
    });
  });

  // The browser's own tooltip comes late and small: take its text for one that follows the pointer.
  var tip = document.getElementById("tip");
  document.querySelectorAll("svg .point, svg .half").forEach(function (group) {
    var title = group.querySelector("title");
    if (!title) { return; }
    var text = title.textContent;
    title.remove();
    group.addEventListener("pointerenter", function () { tip.textContent = text; tip.hidden = false; });
    group.addEventListener("pointermove", function (event) {
      var x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
      var y = event.clientY + 18;
      if (y + tip.offsetHeight > window.innerHeight) { y = event.clientY - tip.offsetHeight - 12; }
      tip.style.left = Math.max(8, x) + "px";
      tip.style.top = y + "px";
    });
    group.addEventListener("pointerleave", function () { tip.hidden = true; });
  });

  function save(name, type, text) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: type }));
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }
  document.querySelectorAll("[data-save]").forEach(function (button) {
    button.addEventListener("click", function () {
      var value = JSON.parse(document.getElementById(button.dataset.save).textContent);
      if (button.dataset.save === "samples") {
        save("results.csv", "text/csv", value);
      } else {
        save("results.json", "application/json", JSON.stringify(value, null, 2) + "\n");
      }
    });
  });
})();
