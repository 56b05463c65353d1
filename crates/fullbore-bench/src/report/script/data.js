// Saves the embedded files.
(function () {
  "use strict";
  var held = document.getElementById("results");

  function text(kind) {
    var compressed = atob(JSON.parse(held.textContent)[kind]);
    var bytes = Uint8Array.from(compressed, function (byte) { return byte.charCodeAt(0); });
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  function save(name, type, text) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: type }));
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }
  document.querySelectorAll("[data-save]").forEach(function (button) {
    button.addEventListener("click", function () {
      var kind = button.dataset.save;
      text(kind).then(function (text) {
        save("results." + kind, kind === "csv" ? "text/csv" : "application/json", text);
      });
    });
  });
  // Access for programs.
  window.fullbore = { text: text };
})();
