"use strict";
// Text from files and people goes into the page as text alone, never as markup.
(() => {
  const $ = (id) => document.getElementById(id);
  const KEYS = { y: "yes", 1: "yes", n: "no", 2: "no", u: "unsure", 3: "unsure" };
  const VIEWS = { r: "read", d: "rule", a: "summary" };
  const WHY = {
    readers: "readers differ", unsure: "readers are unsure",
    measured: "people and the measured gate differ", model: "people and the vision model differ",
  };
  const ahead = new Map(); // number -> Image, so that the next pictures are there when they are wanted
  let reviewer = "", fixed = false, view = "read", items = [], busy = false;

  const make = (tag, text = "", ...children) => {
    const element = document.createElement(tag);
    element.textContent = text;
    element.append(...children);
    return element;
  };
  const text = (id, value) => { $(id).textContent = value; };
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

  async function ask(path, body) {
    let reply;
    try {
      reply = await fetch(path, {
        cache: "no-store", signal: AbortSignal.timeout(30000),
        ...(body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
      });
    } catch {
      throw new Error("the server does not answer. Start it again (rbench review DIR) and open the address that it prints; "
        + "answers given before are kept.");
    }
    const data = await reply.json().catch(() => ({}));
    if (!reply.ok) throw new Error(data.error ?? `the server answered ${reply.status}; load the page again.`);
    return data;
  }

  // One request at a time; what is pressed meanwhile is not taken for an answer to a picture that nobody has seen.
  async function during(work, failed) {
    if (busy) return;
    busy = true;
    document.body.classList.add("busy");
    try {
      await work();
      $("problem").hidden = true;
    } catch (problem) {
      text("problem", `${failed}: ${problem.message}`);
      $("problem").hidden = false;
    } finally {
      busy = false;
      document.body.classList.remove("busy");
    }
  }

  function show(section) {
    for (const id of ["ask", "desk", "nothing", "summary"]) $(id).hidden = id !== section;
  }

  function fetchAhead() {
    const wanted = new Set(items.map((item) => item.number));
    for (const number of ahead.keys()) if (!wanted.has(number)) ahead.delete(number);
    for (const number of wanted) {
      if (ahead.has(number)) continue;
      const picture = new Image();
      picture.src = `image/${number}`;
      ahead.set(number, picture);
    }
  }

  function draw(work) {
    items = work.items;
    const { mine, left, read, pictures, disagreements, gone } = work.progress;
    text("differing", disagreements ? disagreements.toLocaleString("en") : "");
    $("bar").max = Math.max(mine + left, 1);
    $("bar").value = mine;
    text("progress", `You: ${mine.toLocaleString("en")} read, ${left.toLocaleString("en")} to go. `
      + `Everybody: ${read.toLocaleString("en")} of ${plural(pictures, "picture")}.`
      + (gone ? ` ${plural(gone, "picture")} of the queue not found; validate the suite again.` : ""));
    fetchAhead();
    if (!items.length) {
      const reading = view === "read";
      text("nothing-title", reading ? "Nothing left for you to read" : "Nobody differs");
      text("nothing-text", reading ? "What is left waits for somebody else, if anything." : "There is nothing to rule on now.");
      show("nothing");
      return;
    }
    const [item] = items;
    text("instruction", item.instruction);
    const picture = $("picture");
    if (picture.getAttribute("src") !== `image/${item.number}`) picture.src = `image/${item.number}`;
    $("known-of-it").hidden = view !== "rule";
    if (view === "rule") {
      $("statements").replaceChildren(...item.statements.flatMap(({ who, said }) =>
        [make("dt", "", make("bdi", who)), make("dd", "", make("bdi", said))]),
      make("dt", "shown because"), make("dd", item.why.map((reason) => WHY[reason]).join("; ")));
      text("origin", `${item.instance} (${item.camera})`);
    }
    show("desk");
  }

  const isSeen = () => $("picture").complete && $("picture").naturalWidth > 0;

  function answer(said) {
    if (!items.length || $("desk").hidden) return;
    if (!busy && !isSeen()) {
      text("said", "The picture is not here yet.");
      return;
    }
    const [{ number, image_hash }] = items;
    during(async () => {
      draw(await ask("api/decide", { reviewer, view, number, image_hash, answer: said }));
      text("said", `Saved: ${said}.`);
    }, "Not saved");
  }

  function undo() {
    if (!reviewer || view === "summary") return;
    during(async () => {
      const work = await ask("api/undo", { reviewer, view });
      draw(work);
      text("said", work.undone ? "Taken back." : "There is nothing to take back.");
    }, "Not taken back");
  }

  function open(wanted) {
    if (!reviewer) return;
    during(async () => {
      const data = wanted === "summary" ? await ask("api/summary")
        : await ask(`api/work?${new URLSearchParams({ view: wanted, reviewer })}`);
      view = wanted;
      text("said", "");
      for (const button of $("views").children) {
        button.setAttribute("aria-current", button.dataset.view === view ? "page" : "false");
      }
      $("undo").hidden = view === "summary";
      if (view === "summary") drawSummary(data); else draw(data);
      $("foot").hidden = $("views").hidden = false;
    }, "Not loaded");
  }

  // The view of agreement.
  const percent = (rate) => (rate === null ? "none yet" : `${(100 * rate).toFixed(1)} %`);

  function table(caption, columns, rows) {
    const head = make("tr", "", make("th"), ...columns.map((name) => make("th", "", make("bdi", name))));
    head.firstChild.setAttribute("aria-label", "row");
    for (const cell of head.children) cell.scope = "col";
    const body = rows.map(([name, ...cells]) => {
      const heading = make("th", "", make("bdi", name));
      heading.scope = "row";
      return make("tr", "", heading, ...cells.map((cell) => make("td", String(cell))));
    });
    const box = make("div", "", make("table", "", make("caption", caption), make("thead", "", head), make("tbody", "", ...body)));
    box.className = "scroll";
    return box;
  }

  function pairOf(pair) {
    const [first, second] = pair.reviewers;
    const interval = pair.kappa_interval?.map((end) => end.toFixed(2)).join(" to ");
    const kappa = make("p", pair.kappa === null ? "Cohen's kappa: undefined (both gave one and the same answer throughout)"
      : `Cohen's kappa ${pair.kappa.toFixed(2)} ${interval ? `(95 %: ${interval})` : "(says nothing: one of them gave one answer throughout)"}`);
    kappa.className = "kappa";
    return make("article", "", make("h2", "", make("bdi", first), " and ", make("bdi", second)), kappa,
      make("p", `${plural(pair.pictures, "picture")} read by both; the same answer on ${percent(pair.agreement)}.`),
      table(`Rows: ${first}. Columns: ${second}.`, pair.answers, pair.answers.map((name, row) => [name, ...pair.counts[row]])));
  }

  function against(title, found) {
    const rows = Object.entries(found).map(([name, counts]) => [name, ...Object.values(counts)]);
    if (!rows.some((row) => row.slice(1).some(Boolean))) return [];
    return [make("article", "", make("h2", title),
      table("Columns: the answer of people that stands.", Object.keys(Object.values(found)[0]), rows))];
  }

  function drawSummary(found) {
    const facts = [
      ["Pictures", found.pictures], ["Read", found.read], ["Read twice", `${found.read_twice} (${found.to_read_twice} wanted)`],
      ["Yes / no / unsure", Object.values(found.answers).join(" / ")],
      ["Yes among them", `${percent(found.yes_rate)} (what follows for the suite, says rbench validate)`],
      ["Open (readers differ or are unsure)", found.open], ["To adjudicate", found.to_adjudicate], ["Outdated answers", found.outdated_decisions],
    ];
    const list = make("dl", "", ...facts.flatMap(([name, value]) => [make("dt", name), make("dd", String(value))]));
    list.className = "facts";
    $("summary").replaceChildren(make("h1", "Agreement"), list,
      ...(found.pairs.length ? found.pairs.map(pairOf) : [make("p", "No picture has been read by two people yet.")]),
      ...against("Measured gate and people", found.measured), ...against("Vision model and people", found.model),
      table("Answers and rulings that stand.", ["answers", "rulings"],
        found.reviewers.map((person) => [person.reviewer, person.readings, person.rulings])));
    show("summary");
  }

  function begin(name) {
    reviewer = name.normalize("NFC").trim();
    if (!reviewer) return;
    sessionStorage.setItem("reviewer", reviewer);
    text("reviewer", reviewer);
    $("who").hidden = false;
    $("change").hidden = fixed;
    open("read");
    $("main").focus();
  }

  function askName() {
    if (busy) return;
    reviewer = "";
    items = [];
    $("who").hidden = $("foot").hidden = $("views").hidden = true;
    show("ask");
    $("name").value = "";
    $("name").focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.tagName === "INPUT") return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (KEYS[key]) answer(KEYS[key]);
    else if (VIEWS[key]) open(VIEWS[key]);
    else if (key === "z" || key === "Backspace") undo();
    else return;
    event.preventDefault();
  });
  for (const button of document.querySelectorAll("[data-answer]")) {
    button.addEventListener("click", () => answer(button.dataset.answer));
  }
  for (const button of $("views").children) button.addEventListener("click", () => open(button.dataset.view));
  $("undo").addEventListener("click", undo);
  $("change").addEventListener("click", askName);
  $("picture").addEventListener("error", () => {
    text("problem", "The picture cannot be shown. If that stays so, validate the suite again.");
    $("problem").hidden = false;
  });
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    begin($("name").value);
  });

  during(async () => {
    const start = await ask("api/start");
    text("suite", start.suite);
    $("conditions").replaceChildren(...start.conditions.map((condition) => make("li", condition)));
    document.title = `Review of ${start.suite}`;
    $("known").replaceChildren(...start.reviewers.map((name) => Object.assign(make("option"), { value: name })));
    fixed = start.reviewer !== null;
    const name = start.reviewer ?? sessionStorage.getItem("reviewer");
    setTimeout(() => (name ? begin(name) : askName())); // once this request has ended
  }, "Not loaded");
})();
