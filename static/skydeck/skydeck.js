// Small helps for the console. Every page works without them; nothing here asks the server for anything.
(function () {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");

  // The colours that the person chose, before anything is drawn.
  let theme = "auto";
  try { theme = JSON.parse(localStorage.getItem("adminTheme") || '"auto"'); } catch { /* as the system says */ }
  if (theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches)) root.classList.add("dark");
  // From here on the theme's own script keeps the class; it would not take away what it has not set itself.
  document.addEventListener("alpine:init", function () { root.classList.remove("dark"); });

  // Times: the exact one in the reader's own time zone, the relative one kept up to date.
  function words(then) {
    const seconds = (Date.now() - then) / 1000, size = Math.abs(seconds);
    if (size < 45) return seconds >= 0 ? "just now" : "in a moment";
    let text;
    if (size < 5400) text = Math.max(1, Math.round(size / 60)) + " min";
    else if (size < 129600) text = Math.round(size / 3600) + " h";
    else text = Math.round(size / 86400) + " days";
    return seconds >= 0 ? text + " ago" : "in " + text;
  }
  function times(root) {
    for (const time of root.querySelectorAll("time[data-ago]")) {
      const then = new Date(time.dateTime);
      time.title = then.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
      time.textContent = words(then.getTime());
    }
  }

  // A form is sent once, however often one clicks.
  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (!form.matches("[data-once]")) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "1";
    form.setAttribute("aria-busy", "true");
    if (event.submitter) event.submitter.classList.add("sd-working");
  });
  window.addEventListener("pageshow", function () {
    for (const form of document.querySelectorAll("form[data-sent]")) { delete form.dataset.sent; form.removeAttribute("aria-busy"); }
    for (const button of document.querySelectorAll(".sd-working")) button.classList.remove("sd-working");
  });

  // Filters apply as soon as they are chosen.
  document.addEventListener("change", function (event) {
    const form = event.target.closest("form[data-autosubmit]");
    if (form && event.target.matches("select")) form.requestSubmit();
  });

  // A choice that proposes another field's value, until somebody types there: <… data-proposes="port" data-proposals='{…}'>.
  function propose(source) {
    const target = document.getElementById(source.dataset.proposes);
    const proposals = JSON.parse(source.dataset.proposals);
    if (target && !target.dataset.typed && source.checked && source.value in proposals) target.value = proposals[source.value];
  }
  document.addEventListener("input", function (event) {
    if (event.target.matches("[data-proposes]")) propose(event.target);
    else if (event.target.matches("input, textarea") && event.isTrusted) event.target.dataset.typed = "1";
  });

  // “/” goes to the search field, as elsewhere.
  document.addEventListener("keydown", function (event) {
    if (event.key !== "/" || event.target.matches("input, textarea, select, [contenteditable]")) return;
    const field = document.querySelector("[data-slash]");
    if (field) { event.preventDefault(); field.focus(); }
  });

  // Enter in the search of the whole console opens the chosen hit, else the first; an answer under way is waited for. (The
  // theme's own handler needs a chosen one, and would follow a hit of the term before.)
  const palette = { asked: "", answered: "", wanted: null, tab: false };
  function follow(link) {
    if (link && palette.tab) window.open(link.href, "_blank");
    else if (link) window.location = link.href;
  }
  document.addEventListener("keydown", function (event) {
    if (event.target.id !== "search-input-command") return;
    palette.wanted = null;
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    const typed = event.target.value, found = document.getElementById("command-results-list");
    palette.tab = event.ctrlKey || event.metaKey;
    if (found && palette.answered === typed) follow(found.querySelector("li.active a") || found.querySelector("a"));
    else if (typed.trim()) palette.wanted = typed;
  }, true);
  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.target.id === "search-input-command") palette.asked = event.target.value;
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    if (event.target.id !== "command-results") return;
    palette.answered = palette.asked;
    if (palette.wanted === palette.answered) { palette.wanted = null; follow(event.target.querySelector("a")); }
  });

  document.addEventListener("DOMContentLoaded", function () { times(document); });
  document.addEventListener("htmx:afterSwap", function (event) { times(event.target); });

  // A connection test marks the fields at fault, as a form that was sent does.
  document.addEventListener("htmx:afterSwap", function (event) {
    if (event.target.id !== "test-result") return;
    for (const field of document.querySelectorAll(".sd-form [aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      field.closest(".sd-field")?.classList.remove("sd-wrong");
    }
    for (const sentence of event.target.querySelectorAll("[data-wrong]")) {
      const field = document.getElementById(sentence.dataset.wrong);
      field?.setAttribute("aria-invalid", "true");
      field?.closest(".sd-field")?.classList.add("sd-wrong");
      field?.closest("details")?.setAttribute("open", "");
    }
  });
  setInterval(function () { times(document); }, 30000);
})();
