// Shows and hides lines; shows values at the pointer and by the arrow keys.
(function () {
  "use strict";
  document.querySelectorAll(".legend button").forEach(function (button) {
    button.addEventListener("click", function () {
      var shown = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!shown));
      var lines = button.closest("figure").querySelectorAll('.series[data-line="' + button.dataset.line + '"]');
      lines.forEach(function (line) { line.classList.toggle("off", shown); });
    });
  });

  var tip = document.getElementById("tip");
  var marked = null;
  // Distance in pixels within which the pointer selects a point.
  var NEAR = 26;

  function mark(point, x, y) {
    if (marked) { marked.classList.remove("at"); }
    marked = point;
    if (!point) { tip.hidden = true; return; }
    point.classList.add("at");
    if (tip.textContent !== point.tipText) { tip.textContent = point.tipText; }
    tip.hidden = false;
    var left = Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8);
    var top = y + 18;
    if (top + tip.offsetHeight > window.innerHeight) { top = y - tip.offsetHeight - 12; }
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = Math.max(4, top) + "px";
  }

  function middle(point) {
    var box = (point.querySelector(".m, .bar, .part, .ring, .stage") || point).getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  }

  function nearest(points, x, y) {
    var best = null;
    var least = NEAR * NEAR;
    points.forEach(function (point) {
      if (!point.querySelector(".m")) { return; }
      var at = middle(point);
      var far = (at.x - x) * (at.x - x) + (at.y - y) * (at.y - y);
      if (far < least) { least = far; best = point; }
    });
    return best;
  }

  document.querySelectorAll("svg.chart").forEach(function (chart) {
    // The browser's own tooltip is late and small: its text moves to the one that follows the pointer.
    var all = [];
    chart.querySelectorAll(".point, .half").forEach(function (point) {
      var title = point.querySelector("title");
      if (!title) { return; }
      point.tipText = title.textContent;
      title.remove();
      all.push(point);
    });
    if (all.length === 0) { return; }
    function shown() {
      return all.filter(function (point) { return !point.closest(".series.off"); });
    }
    chart.addEventListener("pointermove", function (event) {
      var over = event.target.closest(".point, .half");
      var point = over && over.tipText ? over : nearest(shown(), event.clientX, event.clientY);
      mark(point, event.clientX, event.clientY);
    });
    chart.addEventListener("pointerleave", function () { mark(null); });

    chart.setAttribute("tabindex", "0");
    chart.setAttribute("aria-description", "Arrow keys go from value to value.");
    function go(point) {
      var at = middle(point);
      mark(point, at.x, at.y);
    }
    chart.addEventListener("keydown", function (event) {
      var points = shown();
      var here = points.indexOf(marked);
      var line = marked && marked.closest(".series");
      var next = null;
      if (event.key === "Escape") { mark(null); return; }
      if (points.length === 0) { return; }
      if (event.key === "ArrowRight") { next = points[Math.min(here + 1, points.length - 1)]; }
      if (event.key === "ArrowLeft") { next = points[Math.max(here - 1, 0)]; }
      if (event.key === "Home") { next = points[0]; }
      if (event.key === "End") { next = points[points.length - 1]; }
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        // To the same position on the next line or, without lines, to the next value.
        var down = event.key === "ArrowDown";
        var lines = [];
        points.forEach(function (p) { if (lines.indexOf(p.closest(".series")) < 0) { lines.push(p.closest(".series")); } });
        if (line && lines.length > 1) {
          var of = function (l) { return points.filter(function (p) { return p.closest(".series") === l; }); };
          var to = of(lines[(lines.indexOf(line) + (down ? 1 : lines.length - 1)) % lines.length]);
          next = to[Math.min(of(line).indexOf(marked), to.length - 1)];
        } else {
          next = points[Math.max(0, Math.min(here + (down ? 1 : -1), points.length - 1))];
        }
      }
      if (next) { event.preventDefault(); go(next); }
    });
    chart.addEventListener("blur", function () { mark(null); });
  });
})();
