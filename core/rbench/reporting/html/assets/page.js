"use strict";
// Everything on the page can be read without this script. It adds sorting, tips, copying and the list of episodes.
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // Sorting: by the exact value of the first number in a cell, else by its text.
  const key = (row, column) => {
    const cell = row.cells[column];
    const number = cell?.querySelector("data");
    return number ? Number(number.value) : (cell?.textContent.trim() ?? "");
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b
      : typeof a === "number" ? -1 : typeof b === "number" ? 1
      : a.localeCompare(b, "en", { numeric: true });
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      if (!heading.textContent.trim()) return;
      const button = make("button", { type: "button" }, ...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") !== "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) => (up ? 1 : -1) * compare(key(a, column), key(b, column)));
        rows.forEach((row) => row.classList.remove("group"));
        body.append(...rows);
      });
    });
  }

  // Tips of marks in figures: at once, where the browser's own title comes late and not on touch screens.
  const tip = make("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  const texts = new WeakMap();
  const show = (event) => {
    const mark = event.target.closest?.(".mark");
    if (!mark) { tip.hidden = true; return; }
    if (!texts.has(mark)) {
      const title = mark.querySelector("title");
      texts.set(mark, title.textContent);
      title.remove();
    }
    tip.textContent = texts.get(mark);
    tip.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const above = event.clientY - tip.offsetHeight - 12;
    tip.style.transform = `translate(${Math.max(8, x)}px, ${above > 8 ? above : event.clientY + 18}px)`;
  };
  document.addEventListener("pointermove", show, { passive: true });
  document.addEventListener("pointerdown", show, { passive: true });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Copying commands.
  const copyButton = (text) => {
    const button = make("button", { type: "button", className: "copy", textContent: "Copy", title: text });
    button.setAttribute("aria-label", `Copy: ${text}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        prompt("The command", text);
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    return button;
  };
  for (const command of document.querySelectorAll(".command")) {
    command.append(copyButton(command.querySelector("code").textContent));
  }

  // The list of episodes.
  const { texts: words, rows, complete, total } = JSON.parse(document.getElementById("episode-data").textContent);
  const labels = JSON.parse(document.getElementById("report-data").textContent).runs.map((run) => run.label);
  const [RUN, INSTANCE, REPEAT, DIMENSION, OUTCOME, REASON, SCORE, SECONDS] = [0, 1, 2, 3, 4, 5, 6, 7];
  const PAGE = 50;
  const place = document.getElementById("episode-list");
  if (!rows.length) {
    place.replaceChildren(make("p", { textContent: "There are no episodes." }));
    return;
  }
  const choice = (label, values) => {
    const select = make("select", {}, make("option", { value: "", textContent: "all" }),
      ...values.map(([value, text]) => make("option", { value, textContent: text.slice(0, 60) })));
    return [make("label", {}, label, select), select];
  };
  const used = (column) => [...new Set(rows.map((row) => row[column]))].map((value) => [value, words[value]]);
  const [runLabel, run] = choice("run", labels.map((label, number) => [number, label]));
  const [dimensionLabel, dimension] = choice("dimension", used(DIMENSION));
  const [outcomeLabel, outcome] = choice("outcome", used(OUTCOME));
  const [reasonLabel, reason] = choice("reason", used(REASON));
  const search = make("input", { type: "search", placeholder: "crimson, r1a1, position-p2" });
  const filters = make("div", { className: "filters" }, ...(labels.length > 1 ? [runLabel] : []), dimensionLabel, outcomeLabel,
    reasonLabel, make("label", {}, "episode contains", search));
  const body = make("tbody");
  const heading = [...(labels.length > 1 ? ["run"] : []), "episode", "outcome", "reason", "score", "seconds"];
  const numeric = ["score", "seconds"];
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...heading.map((text) =>
    make("th", { scope: "col", textContent: text, className: numeric.includes(text) ? "number" : "" })))), body);
  const status = make("span", { ariaLive: "polite" });
  const previous = make("button", { type: "button", textContent: "Previous" });
  const next = make("button", { type: "button", textContent: "Next" });
  const scroll = make("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Episodes");
  place.replaceChildren(
    ...(complete ? [] : [make("p", { className: "explain", textContent:
      `Of ${total.toLocaleString("en")} episodes, those that did not succeed.` })]),
    filters, scroll, make("div", { className: "pager" }, previous, next, status));
  let found = rows;
  let start = 0;
  const cell = (text, className = "") => make("td", { className }, make("bdi", { textContent: text }));
  const draw = () => {
    body.replaceChildren(...found.slice(start, start + PAGE).map((row) => make("tr", {},
      ...(labels.length > 1 ? [cell(labels[row[RUN]])] : []),
      make("td", {}, make("code", {}, make("bdi", { textContent: `${words[row[INSTANCE]]}#${row[REPEAT]}` }))),
      make("td", {}, make("span", { textContent: words[row[OUTCOME]].replaceAll("_", " "),
        className: `outcome-${["success", "failure"].includes(words[row[OUTCOME]]) ? words[row[OUTCOME]] : "other"}` })),
      make("td", {}, make("bdi", { className: "text", textContent: words[row[REASON]] })),
      cell(row[SCORE] === null ? "–" : row[SCORE].toFixed(2), "number"),
      cell(row[SECONDS] === null ? "–" : row[SECONDS].toFixed(2), "number"))));
    const last = Math.min(start + PAGE, found.length);
    status.textContent = found.length ? `${(start + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${found.length.toLocaleString("en")}` : "No episode matches.";
    previous.disabled = start === 0;
    next.disabled = last === found.length;
  };
  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    const equal = (select, value) => select.value === "" || Number(select.value) === value;
    found = rows.filter((row) => equal(run, row[RUN]) && equal(dimension, row[DIMENSION]) && equal(outcome, row[OUTCOME])
      && equal(reason, row[REASON]) && (!wanted || `${words[row[INSTANCE]]}#${row[REPEAT]}`.toLowerCase().includes(wanted)));
    start = 0;
    draw();
  };
  [run, dimension, outcome, reason].forEach((select) => select.addEventListener("change", filter));
  search.addEventListener("input", filter);
  previous.addEventListener("click", () => { start -= PAGE; draw(); });
  next.addEventListener("click", () => { start += PAGE; draw(); });
  draw();
})();
