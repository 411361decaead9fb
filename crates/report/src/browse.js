// Why programs failed, and all completions to search in.

const FAILURES = { not_compiled: "does not compile", no_function: "holds no program", cut: "cut at the longest length", raised: "raises an exception", freeze: "freezes: moves change nothing",
  bad_move: "returns no move", hung: "hangs", out_of_memory: "takes too much memory", stack_overflow: "overflows the stack", wrong_answer: "answers wrongly", out_of_fuel: "runs out of its budget",
  bad_value: "returns no move", froze: "freezes: moves change nothing", out_of_budget: "hangs or takes too much" };
const TASK_FAILURES = { bad_move: "returns no value", bad_value: "returns no value" };
const failureWords = (run, failure) => (ofTasks(run) && TASK_FAILURES[failure]) || FAILURES[failure] || failure.replaceAll("_", " ");
const wellWords = (run) => (ofTasks(run) ? "passes all tests" : "plays to the end");
const reasonWords = (run, one) => `${failureWords(run, one.failure)}${one.reason ? `: ${one.reason}` : ""}`;
const ROWS = 50;

// A table whose rows are chosen by their first cell's button, and what was chosen beside it.
function chooser(head, rows, beside) {
  const bodies = rows.map(({ cells, numeric, show }) => {
    const row = el("tr", {}, cells.map((cell, at) => el("td", { class: numeric.includes(at) ? "number" : String(cell).length > 24 ? "what" : null },
      at === 0 ? el("button", { type: "button", class: "link", onclick: () => choose(row, show) }, cell) : cell)));
    return row;
  });
  const choose = (row, show) => {
    bodies.forEach((one) => { one.classList.toggle("chosen", one === row); });
    beside.replaceChildren(...show());
  };
  if (rows.length) choose(bodies[0], rows[0].show);
  return el("table", {}, el("thead", {}, el("tr", {}, head.map((text, at) => el("th", { scope: "col", class: rows.length && rows[0].numeric.includes(at) ? "number" : null }, text)))), el("tbody", {}, bodies));
}

// How many completions of a run were logged. Those of honeypots are in no count of failures.
const logged = (run) => run.failures.completions + run.failures.honeypots;

const shownEntry = (run, entry) => [
  el("h3", {}, `Step ${entry.step}, completion ${entry.index}, ${ofTasks(run) ? "task" : "style"} ${entry.style || "unknown"}${entry.honeypot ? ", a honeypot" : ""}`),
  el("p", { class: "small" }, el("strong", { class: entry.failure ? "bad" : "good" }, entry.failure ? failureWords(run, entry.failure) : wellWords(run)), entry.reason ? `: ${entry.reason}` : ""),
  el("p", { class: "soft small" }, `Reward ${number(entry.reward, 3)}, ${ofTasks(run) ? "tests passed" : "mean score"} ${points(run)(entry.score)}.`),
  source(entry.source, `step-${entry.step}-completion-${entry.index}.py`)];

function failures(run) {
  const { completions, failed, late, late_failed, late_steps, reasons, rarer } = run.failures;
  if (!completions) return null;
  // Of a short run the last steps are all there are.
  const last = late === completions ? [] : [late_steps === 1 ? "last step" : `last ${whole(late_steps)} steps`];
  const words = `${whole(failed)} of ${whole(completions)} completions failed (${share(failed / completions)})${last.map((steps) => `; of ${whole(late)} in the ${steps}, ${whole(late_failed)} did (${share(late_failed / late)})`).join("")}.`;
  if (!failed) return section("Why programs failed", el("p", {}, `None of ${whole(completions)} completions failed.`));
  const beside = region("beside tall", "examples");
  const rows = reasons.map((one) => ({ numeric: [1, 2, 3], cells: [reasonWords(run, one), whole(one.count), share(one.count / completions), ...last.map(() => whole(one.late))],
    show: () => one.examples.flatMap((entry) => shownEntry(run, entry)) }));
  return section("Why programs failed", el("p", { class: "soft small" }, words, " Names are left out of reasons, so that one kind of mistake is counted once; choose one to see its newest programs."),
    el("div", { class: "card attempts" }, region("scroll tall", "reasons", chooser(["what a program does", "programs", "of all", ...last], rows, beside),
      rarer ? el("p", { class: "soft small" }, `And ${whole(rarer)} for rarer reasons.`) : null), beside));
}

// A honeypot asks for what no honest program can answer, so that a failure there is none.
function honeypots(run) {
  const [asked, passed] = ["asked", "passed"].map((name) => known(column(run, `honeypot/${name}`)).reduce((sum, one) => sum + one, 0));
  if (!asked) return null;
  return el("p", { class: passed ? "bad small" : "soft small" }, `${whole(asked)} completion${asked === 1 ? "" : "s"} answered honeypots; ${whole(passed)} passed. Neither the failures above nor the tasks below count them.`);
}

// Tasks that teach nothing: none of their programs passed, or all did.
function solvable(run) {
  const { count, never, always } = run.tasks, solved = count - never.count;
  const list = (words, { count, tasks }) => el("details", {}, el("summary", {}, `${words}: ${whole(count)}`),
    el("p", { class: "small" }, tasks.map(([task, completions]) => `${task} (${whole(completions)})`).join(", "), tasks.length < count ? `, and ${whole(count - tasks.length)} more` : ""));
  return section("Tasks", honeypots(run), el("p", { class: "soft small" }, `${whole(count)} task${count === 1 ? " was" : "s were"} asked, ${whole(solved)} of which ${solved === 1 ? "was" : "were"} solved at least once. Verdicts repeat, so a task that was solved once is known to be solvable. Numbers are completions.`),
    never.count ? list("Never solved", never) : null, always.count ? list("Always solved", always) : null);
}

// What is looked for, kept when the page renews itself.
const looked = { open: false, query: "", outcome: "all", style: "all", order: "newest" };

async function completionsOf(run, at) {
  if (!run.completions) return (await fetch(`completions/${at}.json`, { cache: "no-store" })).json();
  const bytes = Uint8Array.from(atob(run.completions.gzip), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(unpacked).text());
}

const ORDERS = { newest: ["newest first", (a, b) => b.step - a.step || a.index - b.index], oldest: ["oldest first", (a, b) => a.step - b.step || a.index - b.index],
  best: ["best first", (a, b) => b.reward - a.reward], worst: ["worst first", (a, b) => a.reward - b.reward], longest: ["longest first", (a, b) => b.source.length - a.source.length] };

function browser(run, entries) {
  const list = region("scroll tall", "completions found"), beside = el("div", { class: "beside" });
  const count = el("p", { class: "small", role: "status" });
  const more = el("button", { type: "button", onclick: () => { rows += ROWS; fill(); } }, `${ROWS} more`);
  let rows = ROWS, waiting = null;
  const fill = () => {
    const query = looked.query.trim().toLowerCase();
    const found = entries.filter((one) => (looked.outcome === "all" || (looked.outcome === "well" ? !one.failure : looked.outcome === "failed" ? one.failure : one.failure === looked.outcome)) &&
      (looked.style === "all" || one.style === looked.style) && (!query || one.source.toLowerCase().includes(query) || one.reason.toLowerCase().includes(query) || `step ${one.step}` === query));
    found.sort(ORDERS[looked.order][1]);
    count.textContent = `${whole(found.length)} of ${whole(entries.length)} completions${found.length > rows ? `; the first ${rows} are listed` : ""}`;
    beside.replaceChildren();
    list.replaceChildren(chooser(["completion", ofTasks(run) ? "task" : "style", ofTasks(run) ? "tests" : "score", "reward", "what became of it"], found.slice(0, rows).map((one) => ({ numeric: [2, 3],
      cells: [`step ${one.step}, ${one.index}`, one.style, points(run)(one.score), number(one.reward, 3), one.failure ? reasonWords(run, one) : wellWords(run)],
      show: () => shownEntry(run, one) })), beside));
    more.hidden = found.length <= rows;
  };
  const again = () => { rows = ROWS; fill(); };
  const pick = (name, key, choices) => {
    const box = el("select", { onchange: () => { looked[key] = box.value; again(); } }, choices.map(([value, words]) => el("option", { value, selected: value === looked[key] }, words)));
    if (box.value !== looked[key]) looked[key] = box.value;
    return el("label", {}, `${name} `, box);
  };
  const kinds = [...new Set(entries.map((one) => one.failure).filter(Boolean))].sort();
  const styles = [...new Set(entries.map((one) => one.style))].sort();
  const search = el("input", { type: "search", value: looked.query, placeholder: "text of programs and reasons", oninput: () => { looked.query = search.value; clearTimeout(waiting); waiting = setTimeout(again, 150); } });
  const node = el("div", { class: "card", id: "browser" },
    el("div", { class: "controls" }, el("label", { class: "grow" }, "Search ", search),
      pick("Outcome", "outcome", [["all", "all"], ["well", wellWords(run)], ["failed", "any failure"], ...kinds.map((kind) => [kind, failureWords(run, kind)])]),
      pick(ofTasks(run) ? "Task" : "Style", "style", [["all", "all"], ...styles.map((style) => [style, style || "unknown"])]),
      pick("Order", "order", Object.entries(ORDERS).map(([value, [words]]) => [value, words]))),
    count, el("div", { class: "attempts" }, el("div", {}, list, more), beside));
  fill();
  return node;
}

function browsing(run, at) {
  const total = logged(run);
  if (!total) return null;
  const place = el("div", { "aria-live": "polite" }), packed = run.completions;
  const part = packed && packed.every > 1 ? ` The page holds ${whole(packed.count)} of ${whole(total)}: those of one step in ${packed.every}; the others are in the run's completions/.` : "";
  const open = async () => {
    if (place.childNodes.length) return;
    place.replaceChildren(el("p", { class: "soft" }, "Unpacking …"));
    try { place.replaceChildren(browser(run, await completionsOf(run, at))); }
    catch (error) { place.replaceChildren(el("p", { class: "bad" }, `The completions cannot be unpacked: ${error.message}`)); }
  };
  const details = el("details", { id: "completions", ontoggle: () => { looked.open = details.open; if (details.open) open(); } },
    el("summary", {}, `Search ${whole(packed ? packed.count : total)} completions`), place);
  if (looked.open) details.open = true;
  return section("All completions", el("p", { class: "soft small" }, `Every program that was written, with what became of it; unpacked when it is opened.${part}`), details);
}
