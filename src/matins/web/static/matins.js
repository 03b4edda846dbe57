// What pages need of a script: the clock, times in the reader's zone, live parts, keys, dialogs.
(function () {
  "use strict";

  const read = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const write = (name, value) => { try { localStorage.setItem(name, value); } catch { /* not kept */ } };
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  // --- time: by the database's clock, whatever the reader's machine shows ---------------------
  const ahead = Date.now() - Date.parse(document.body.dataset.now || new Date().toISOString());
  const now = () => Date.now() - ahead;

  function length(seconds) {
    const whole = Math.round(seconds);
    if (whole < 60) return whole + " s";
    const steps = [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]];
    for (const [size, unit, below, small] of steps) {
      if (whole >= size) {
        return Math.floor(whole / size) + unit + " " + String(Math.floor(whole % size / below)).padStart(2, "0") + small;
      }
    }
    return whole + " s";
  }

  const two = (number) => String(number).padStart(2, "0");
  const inZone = (at) => at.getFullYear() + "-" + two(at.getMonth() + 1) + "-" + two(at.getDate()) + " " +
    two(at.getHours()) + ":" + two(at.getMinutes()) + ":" + two(at.getSeconds());
  const inUtc = (at) => at.toISOString().slice(0, 19).replace("T", " ");

  let local = read("matins.zone") === "local";

  function showTimes(root) {
    for (const element of all("time[datetime]:not(.distance)", root)) {
      const at = new Date(element.dateTime);
      if (!isNaN(at)) element.textContent = local ? inZone(at) : inUtc(at);
    }
  }

  function tick() {
    for (const element of all("time.distance")) {
      const away = (Date.parse(element.dateTime) - now()) / 1000;
      const size = length(Math.abs(away));
      const text = element.hasAttribute("data-bare") ? size : away > 0 ? "in " + size : size + " ago";
      if (element.textContent !== text) element.textContent = text;
    }
    const clock = document.querySelector("[data-clock]");
    if (clock) {
      const at = new Date(now());
      clock.textContent = local ? inZone(at).slice(11) : inUtc(at).slice(11) + " UTC";
    }
  }

  function showZone() {
    const button = document.querySelector("[data-zone]");
    if (!button) return;
    button.setAttribute("aria-pressed", String(local));
    button.textContent = local ? "Local" : "UTC";
    showTimes(document);
    tick();
  }

  // --- live parts: <div data-live="/live/…"> holds what the server draws anew ------------------
  const streams = new Map();

  function follow(element) {
    if (streams.has(element) || document.hidden) return;
    const source = new EventSource(element.dataset.live);
    streams.set(element, source);
    source.addEventListener("part", (event) => {
      if (!element.isConnected) return unfollow(element);
      if (element.contains(document.activeElement) && document.activeElement !== document.body
          && /INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) return;
      const focused = element.contains(document.activeElement) ? document.activeElement.id : "";
      element.innerHTML = event.data;
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
      element.classList.remove("is-stale");
      settle(element);
    });
    source.addEventListener("stale", () => element.classList.add("is-stale"));
    source.addEventListener("error", () => element.classList.add("is-stale"));
    source.addEventListener("open", () => element.classList.remove("is-stale"));
  }

  function unfollow(element) {
    const source = streams.get(element);
    if (source) source.close();
    streams.delete(element);
  }

  function followAll(root) {
    for (const element of streams.keys()) if (!element.isConnected) unfollow(element);
    for (const element of all("[data-live]", root)) follow(element);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) for (const element of Array.from(streams.keys())) unfollow(element);
    else followAll(document);
  });

  // What scrolls by itself is reached by keys, too.
  function reachScrolling(root) {
    for (const element of all(".table-wrap, .scroll-x", root)) {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  }
  window.addEventListener("resize", () => reachScrolling(document));

  function settle(root) {
    showTimes(root);
    reachScrolling(root);
    if (window.htmx && root !== document) window.htmx.process(root);
    followAll(root);
  }

  // --- lists: select all, bulk bar ----------------------------------------------------------
  function showSelected(form) {
    const boxes = all("input[data-pick]", form);
    const chosen = boxes.filter((box) => box.checked);
    const picked = chosen.length;
    const whole = form.querySelector("input[data-every]:checked");
    const sum = whole ? Number(whole.dataset.every) : chosen.reduce((total, box) => total + Number(box.dataset.pick || 1), 0);
    for (const output of all("[data-picked]", form)) output.textContent = String(picked);
    for (const output of all("[data-picked-sum]", form)) {
      output.textContent = String(sum).replace(/\B(?=(\d{3})+$)/g, "\u00a0") + " " + output.dataset.pickedSum + (sum === 1 ? "" : "s");
    }
    form.classList.toggle("has-picked", picked > 0);
    const every = form.querySelector("input[data-pick-all]");
    if (every) {
      every.checked = picked > 0 && picked === boxes.length;
      every.indeterminate = picked > 0 && picked < boxes.length;
    }
  }

  document.addEventListener("change", (event) => {
    const target = event.target;
    const form = target.closest && target.closest("form");
    if (!form) return;
    if (target.matches("input[data-pick-all]")) {
      for (const box of all("input[data-pick]", form)) box.checked = target.checked;
    }
    if (target.matches("input[data-pick], input[data-pick-all], input[data-every]")) showSelected(form);
    if (target.matches("[data-submits]")) form.requestSubmit();
  });

  // --- finding in a text: <input type="search" data-finds="id"> marks what it finds ------------
  function find(input) {
    const text = document.getElementById(input.dataset.finds);
    const told = input.parentElement.querySelector("[data-found]");
    const wanted = input.value.toLowerCase();
    const whole = text.textContent;
    const parts = document.createDocumentFragment();
    const lower = whole.toLowerCase();
    let at = 0;
    let count = 0;
    for (let next = wanted ? lower.indexOf(wanted) : -1; next >= 0 && count < 2000; next = lower.indexOf(wanted, at)) {
      parts.append(whole.slice(at, next));
      const mark = document.createElement("mark");
      mark.textContent = whole.slice(next, next + wanted.length);
      parts.append(mark);
      at = next + wanted.length;
      count += 1;
    }
    parts.append(whole.slice(at));
    text.replaceChildren(parts);
    if (told) told.textContent = wanted ? (count === 2000 ? "over 2000" : String(count)) + " found" : "";
    input.dataset.at = "-1";
    if (count) goToFound(input, 1);
  }

  function goToFound(input, step) {
    const marks = all("mark", document.getElementById(input.dataset.finds));
    if (!marks.length) return;
    const index = (Number(input.dataset.at) + step + marks.length) % marks.length;
    input.dataset.at = String(index);
    marks.forEach((mark, number) => mark.classList.toggle("is-current", number === index));
    marks[index].scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-finds]")) find(event.target);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches && event.target.matches("[data-finds]")) {
      event.preventDefault();
      goToFound(event.target, event.shiftKey ? -1 : 1);
    }
  });

  // --- output that goes on: <pre data-output="/runs/…/output"> -----------------------------------
  const SHOWN_MOST = 1 << 20; // characters; the download has all

  function showOutput(text) {
    const card = text.closest("section");
    const follows = card.querySelector("[data-follows]");
    const progress = card.querySelector("[data-progress]");
    const notice = card.querySelector("[data-notice]");
    const source = new EventSource(text.dataset.output);
    const on = (name, deed) => source.addEventListener(name, (event) => deed(JSON.parse(event.data)));
    let attempt = 0;
    let size = 0;
    on("output", (piece) => {
      if (piece.attempt !== attempt || piece.whole) {
        text.replaceChildren();
        size = 0;
        attempt = piece.attempt;
        card.querySelector("[data-attempt]").textContent = String(attempt);
      }
      text.append(piece.text);
      for (size += piece.text.length; size > SHOWN_MOST && text.firstChild !== text.lastChild;) {
        size -= text.firstChild.textContent.length;
        text.firstChild.remove();
        notice.textContent = "The beginning is not shown any more; the download has it.";
      }
      if (follows.checked) text.scrollTop = text.scrollHeight;
    });
    on("progress", (step) => {
      const bar = progress.querySelector("progress");
      progress.hidden = false;
      if (step.total) { bar.max = step.total; bar.value = step.done || 0; } else bar.removeAttribute("value");
      const counted = step.total ? (step.done || 0) + " of " + step.total : "";
      progress.querySelector("span").textContent = [counted, step.text].filter(Boolean).join(" · ");
    });
    on("notice", (told) => { notice.textContent = told.text; });
    on("end", () => {
      source.close();
      progress.hidden = true;
      follows.closest("label").hidden = true;
      if (!text.textContent) notice.textContent = "It wrote nothing.";
    });
    text.addEventListener("scroll", () => {
      follows.checked = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    });
  }

  // --- dialogs, menus, copying ----------------------------------------------------------------
  function fill(dialog, json) {
    for (const [name, value] of Object.entries(JSON.parse(json || "{}"))) {
      for (const input of all('input[name="' + name + '"]', dialog)) input.value = value;
      for (const output of all('[data-shows="' + name + '"]', dialog)) output.textContent = value;
    }
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.opens);
      if (dialog) { fill(dialog, opener.dataset.fills); dialog.showModal(); event.preventDefault(); }
      for (const menu of all("details.menu[open]")) menu.open = false;
      return;
    }
    const closer = event.target.closest("[data-closes]");
    if (closer) { closer.closest("dialog").close(); event.preventDefault(); return; }
    const dismisser = event.target.closest("[data-dismiss]");
    if (dismisser) { dismisser.parentElement.remove(); return; }
    const copier = event.target.closest("[data-copies]");
    if (copier && navigator.clipboard) {
      navigator.clipboard.writeText(copier.dataset.copies).then(() => {
        const before = copier.textContent;
        copier.textContent = "Copied";
        setTimeout(() => { copier.textContent = before; }, 1200);
      });
      return;
    }
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    if (event.target.closest("[data-zone]")) {
      local = !local;
      write("matins.zone", local ? "local" : "utc");
      showZone();
    } else if (event.target.closest("[data-theme-toggle]")) {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark"
        : window.matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      write("matins.theme", root.dataset.theme);
    }
  });

  // --- keys -------------------------------------------------------------------------------------
  let going = false;

  function moveRow(step) {
    const rows = all("[data-row]");
    if (!rows.length) return;
    const index = rows.indexOf(document.querySelector("[data-row].is-current"));
    const next = rows[Math.max(0, Math.min(rows.length - 1, index + step))];
    for (const row of rows) row.classList.toggle("is-current", row === next);
    next.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, textarea, select, [contenteditable]");
    if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
    if (going) {
      going = false;
      const link = document.querySelector('[data-go="' + CSS.escape(event.key) + '"]');
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const row = document.querySelector("[data-row].is-current");
    if (event.key === "g") going = true;
    else if (event.key === "/") { const box = document.querySelector('[data-key="/"]'); if (box) { box.focus(); box.select(); event.preventDefault(); } }
    else if (event.key === "?") { const keys = document.getElementById("keys"); if (keys) keys.showModal(); }
    else if (event.key === "j") moveRow(1);
    else if (event.key === "k") moveRow(-1);
    else if (event.key === "x" && row) { const box = row.querySelector("input[data-pick]"); if (box) box.click(); }
    else if (event.key === "Enter" && row && event.target === document.body) { const link = row.querySelector("a"); if (link) link.click(); }
  });

  // a form that is sent leaves the page: what it would still ask for would only be cut off
  let leaving = false;
  document.addEventListener("submit", (event) => { leaving = !event.defaultPrevented && event.target.method === "post"; });
  window.addEventListener("pageshow", () => { leaving = false; });
  document.addEventListener("htmx:beforeRequest", (event) => { if (leaving) event.preventDefault(); });

  document.addEventListener("htmx:afterSettle", (event) => settle(event.target));
  document.addEventListener("htmx:responseError", (event) => {
    const place = document.querySelector(event.detail.elt.dataset.faults || "#none");
    if (place) place.textContent = "The server answered " + event.detail.xhr.status + ".";
    for (const button of all("[data-on-fault]")) button.hidden = false;
  });
  document.addEventListener("htmx:sendError", () => { for (const button of all("[data-on-fault]")) button.hidden = false; });

  // on a phone the page that is open may stand beyond the edge of the row
  for (const link of all(".nav [aria-current], .tabs [aria-current]")) {
    const row = link.parentElement, at = link.getBoundingClientRect(), room = row.getBoundingClientRect();
    row.scrollLeft += at.left - room.left - (room.width - at.width) / 2;
  }

  showZone();
  all("[data-output]").forEach(showOutput);
  reachScrolling(document);
  followAll(document);
  setInterval(tick, 1000);
})();
