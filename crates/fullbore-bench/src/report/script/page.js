// Table of contents, printing.
(function () {
  "use strict";

  // In a narrow window the table of contents comes first: folded, and folded again after use.
  var contents = document.getElementById("contents");
  var narrow = window.matchMedia("(max-width: 1080px)");
  contents.open = !narrow.matches;
  narrow.addEventListener("change", function () { contents.open = !narrow.matches; });
  contents.addEventListener("click", function (event) {
    if (event.target.closest("a") && narrow.matches) { contents.open = false; }
  });

  var opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.prototype.filter.call(document.querySelectorAll("details.matters"), function (d) { return !d.open; });
    opened.forEach(function (details) { details.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (details) { details.open = false; });
  });
})();
