// Unpacks the embedded document and saves it as JSON and CSV.
(function () {
  "use strict";
  function put(object, name, value) {
    var dot = name.indexOf(".");
    if (dot < 0) { object[name] = value; return; }
    var outer = name.slice(0, dot);
    if (!object[outer]) { object[outer] = {}; }
    put(object[outer], name.slice(dot + 1), value);
  }

  // Converts values in the order of their names to an object.
  function named(names, values) {
    var object = {};
    values.forEach(function (value, i) {
      if (value !== null) { put(object, names[i], value); }
    });
    return object;
  }

  // Findings refer to a path by its index in the list of paths.
  function shared(value, series) {
    if (value === null || typeof value !== "object") { return; }
    Object.keys(value).forEach(function (name) {
      if (name === "series" && typeof value[name] === "number") { value[name] = series[value[name]]; }
      else { shared(value[name], series); }
    });
  }

  // Samples are stored in columns: empty, one value for all, or one per sample.
  function unpacked(packed) {
    packed.document.cells.forEach(function (cell) {
      cell.labels = named(packed.labels, cell.labels);
      if (cell.summary) { cell.summary = named(packed.summary, cell.summary); }
      var samples = [];
      for (var i = 0; i < cell.samples.n; i += 1) {
        var sample = {};
        cell.samples.of.forEach(function (column, c) {
          var value = column.length === 1 ? column[0] : column[i];
          if (value !== undefined && value !== null) { put(sample, packed.columns[c], value); }
        });
        samples.push(sample);
      }
      cell.samples = samples;
    });
    shared(packed.document.findings, packed.series);
    return packed.document;
  }

  // A value of the CSV file by the name of its column: a label, a field of the sample, or a computed one.
  function value(name, cell, sample, position) {
    var flat = /^(latency|phases|proof|steady)_(.+)$/.exec(name);
    switch (name) {
      case "cell": return cell.id;
      case "experiment": return cell.experiment;
      case "sample": return position;
      case "bytes_per_s":
        if (sample.steady) { return sample.steady.bytes / sample.steady.seconds; }
        return sample.seconds > 0 ? sample.bytes / sample.seconds : 0;
      case "proof": return sample.proof.state;
      case "streams": return cell.labels.streams;
      case "usable": return sample.bytes > 0 && sample.seconds > 0 && sample.proof.state !== "contradicted";
      case "counted": return (cell.uncounted || []).indexOf(position) < 0;
      case "outlier": return Boolean(cell.summary) && (cell.summary.outliers || []).indexOf(position) >= 0;
      case "stream_bytes_per_s": return (sample.streams || []).join(" ");
    }
    if (flat && flat[1] !== "proof") { return (sample[flat[1]] || {})[flat[2]]; }
    if (flat) { return sample.proof[flat[2]]; }
    return name in cell.labels ? cell.labels[name] : sample[name];
  }

  function csv(packed) {
    function field(value) {
      var text = value === undefined || value === null ? "" : String(value);
      return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    }
    var results = unpacked(packed);
    var lines = [packed.csv.join(",")];
    results.cells.forEach(function (cell) {
      cell.samples.forEach(function (sample, position) {
        lines.push(packed.csv.map(function (name) { return field(value(name, cell, sample, position)); }).join(","));
      });
    });
    return lines.join("\n") + "\n";
  }

  function json(packed) {
    var results = unpacked(packed);
    results.cells.forEach(function (cell) { delete cell.uncounted; });
    return JSON.stringify(results, null, 2) + "\n";
  }

  function save(name, type, text) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: type }));
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }
  var held = document.getElementById("results");
  function text(kind) {
    var packed = JSON.parse(held.textContent);
    return kind === "csv" ? csv(packed) : json(packed);
  }
  document.querySelectorAll("[data-save]").forEach(function (button) {
    button.addEventListener("click", function () {
      var kind = button.dataset.save;
      save("results." + kind, kind === "csv" ? "text/csv" : "application/json", text(kind));
    });
  });
  // Access for programs.
  window.fullbore = { text: text };
})();
