// The page as a whole: built from the runs, and built again when a run has gone on.

const main = document.getElementById("page");
const POLL_MS = 3000;
const FOLLOWING = "Following: the page renews itself while the run writes.";
let chosenRun = 0, chosenSample = null, chosenKey = "loss";

const section = (title, ...children) => el("section", {}, el("h2", {}, title), ...children);

function heading(runs, follow) {
  const names = runs.map((run) => run.name).join(" · ");
  const steps = (run) => { const xs = stepsOf(run); const done = xs[xs.length - 1], asked = Number(run.configuration["train.max_steps"]);
    // A run that was resumed may have gone on for longer than its recorded configuration asked.
    return xs.length ? `step ${done}${asked >= done ? ` of ${asked}` : ""}` : "no steps yet"; };
  return el("header", {}, el("h1", {}, `grpo-2048: ${names}`),
    runs.map((run) => el("p", { class: "soft small" }, `${runs.length > 1 ? run.name + ": " : ""}${about(run)} · ${steps(run)} · model ${last(run.configuration["model.model"])} · seed ${run.configuration["train.seed"] ?? "unknown"}`)),
    runs.map((run) => facts(run, runs.length > 1)),
    follow ? el("p", { class: "small", id: "following", role: "status" }, FOLLOWING) : null,
    runs.filter((run) => run.configuration["reward.shuffled"] === "true").map((run) => el("div", { class: "notes" }, `${run.name} is a control: its rewards were shuffled, and what it seems to learn is chance.`)),
    runs.filter((run) => run.notes.length).map((run) => el("div", { class: "notes" }, run.notes.map((note) => el("p", {}, runs.length > 1 ? `${run.name}: ${note}` : note)))));
}

// What a path ends in, without the quotes of a setting.
const last = (setting) => (setting ?? "unknown").replaceAll('"', "").replace(/\/+$/, "").split("/").pop();

// What programs were written for, and where the run lies.
function about(run) {
  const environment = last(run.configuration["environment.env"] ?? "2048");
  return `${ofTasks(run) ? "tasks" : "game"} ${environment} · ${run.path}`;
}

const ENDS = { finished: "all steps are done", interrupted: "interrupted", guard: "stopped by its guard", failed: "failed" };

// When, how long, where and by what: as the run's launches tell, or its settings where it is of an earlier version.
function facts(run, many) {
  const begun = run.launches.filter((one) => one.event === "begun"), last = run.launches[run.launches.length - 1], first = begun[0];
  const worked = [...known(column(run, "step_time")), ...known(evaluation(run, "eval_runtime"))].reduce((sum, one) => sum + one, 0);
  const told = (key) => (run.configuration[`run.${key}`] || "").replaceAll('"', "");
  const rows = [
    ["Begun", first && moment(first.at)],
    ["Ended", !last ? null : last.event === "begun" ? "not yet, or it was killed: nothing is noted" : `${ENDS[last.how] || last.how} at step ${last.step}, ${moment(last.at)}`],
    ["Steps and evaluations took", worked > 0 && lasting(worked)],
    ["Launches", begun.length > 1 && `${begun.length}, from steps ${begun.map((one) => one.step).join(", ")}`],
    ["Machine", [...new Set(begun.map((one) => one.machine))].join("; ") || told("target")],
    ["Tensors", [...new Set(begun.map((one) => one.device))].join("; ") || told("device")],
    ["Program", [...new Set(begun.map((one) => `grpo-2048 ${one.version}${one.commit ? ` (${one.commit})` : ""}`))].join("; ") || (told("version") && `grpo-2048 ${told("version")}`)],
    ["Command", begun.length && el("code", {}, begun[begun.length - 1].command.map(quoted).join(" "))],
  ].filter(([, value]) => value);
  const list = el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  return many ? el("details", {}, el("summary", {}, `${run.name}: when, where and by what`), list) : list;
}
// As a shell takes it.
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function tiles(run) {
  if (ofTasks(run)) return tilesOfTasks(run);
  const scores = known(evaluation(run, "eval_game/mean_score")), show = points(run);
  const tile = (value, words) => el("div", { class: "tile" }, el("strong", {}, value), el("span", {}, words));
  const trained = ends(column(run, "game/mean_score")), plays = ends(column(run, "game/frac_played"));
  // The best program is settled on games that belong to no step and no evaluation.
  const settled = ofGame(run) ? [] : run.hall_of_fame.map((member) => member.max_tile);
  const best = known([...column(run, "game/max_tile"), ...evaluation(run, "eval_game/max_tile"), ...settled]);
  return el("div", { class: "tiles" },
    scores.length > 1 ? tile(`${show(scores[0])} → ${show(scores[scores.length - 1])}`, `held-out score${scores[0] > 0 && scores[scores.length - 1] >= 0 && !isMixed(run) ? `, × ${number(scores[scores.length - 1] / scores[0], 2)}` : ""}`)
      : scores.length ? tile(show(scores[0]), `held-out score${evaluationsOf(run)[0] === 0 ? " before training" : `, step ${evaluationsOf(run)[0]}`}${range(run, "eval_game/mean_score", show)}`) : null,
    trained[0] === null ? null : tile(`${show(trained[0])} → ${show(trained[1])}`, "training score, first and last steps"),
    plays[0] === null ? null : tile(`${percent(plays[0])} → ${percent(plays[1])}`, "programs that play to the end, first and last steps"),
    best.length ? tile(whole(highest(best)).replace(",", ""), "best tile") : null,
    known(column(run, "step_time")).length ? tile(seconds(mean(column(run, "step_time"))), "a step") : null);
}

// Whether the first and the last evaluation sampled at different temperatures, so that they have no ratio.
function isMixed(run) {
  const there = known(evaluation(run, "eval_temperature"));
  return there.length > 1 && there[0] !== there[there.length - 1];
}

// The interval of the first evaluation.
function range(run, key, show) {
  const [low, high] = ["low", "high"].map((end) => evaluation(run, `${key}_${end}`)[0] ?? null);
  const ends = between(low, high, show);
  return ends ? `, 95 % interval ${ends}` : "";
}

function tilesOfTasks(run) {
  const tile = (pair, words) => (pair[0] === null ? null : el("div", { class: "tile" }, el("strong", {}, pair.map((value) => percent(value)).join(" → ")), el("span", {}, words)));
  const evaluated = (key) => { const there = known(evaluation(run, key)); return there.length > 1 ? [there[0], there[there.length - 1]] : [there[0] ?? null]; };
  const asked = known(evaluation(run, "eval_tasks/count")).pop();
  return el("div", { class: "tiles" },
    tile(evaluated("eval_tasks/frac_passed"), `${evaluatedOn([run], "held-out tasks solved")}${asked ? `: pass@1 of ${whole(asked)} task${asked === 1 ? "" : "s"}` : ""}`),
    tile(evaluated("eval_tasks/frac_tests"), evaluatedOn([run], "held-out tests passed")),
    tile(ends(column(run, "tasks/frac_passed")), "training tasks solved, first and last steps"),
    tile(ends(column(run, "tasks/frac_tests")), "training tests passed"),
    known(column(run, "step_time")).length ? el("div", { class: "tile" }, el("strong", {}, seconds(mean(column(run, "step_time")))), el("span", {}, "a step")) : null);
}

// What became of a program: how its games ended, or the word of the log where there are none to show.
function became(run, sample) {
  const games = [...sample.games, ...(sample.transcripts || [])], kind = sample.verdict.replaceAll("_", " ");
  if (games.length) return [...new Set(games.map((game) => game.ending.replaceAll("_", " ")))].join(", ");
  return (ofTasks(run) ? TASK_WORDS : GAME_WORDS)[kind] || kind;
}

function programs(run) {
  if (!run.samples.length) return { node: el("p", { class: "soft" }, "No programs were logged."), watch: () => {} };
  const board = player();
  const code = el("div", {}), words = el("p", { class: "small" }), games = el("div", { class: "controls" });
  const name = (sample) => `step ${sample.step}, ${sample.place}: ${points(run)(sample.score)} points, ${became(run, sample)}`;
  const id = (sample) => `${sample.step} ${sample.place}`;
  const list = el("select", { onchange: () => show(run.samples[list.selectedIndex]) }, run.samples.map((sample) => el("option", {}, name(sample))));
  const watch = (game) => { board.show(game); board.node.scrollIntoView({ block: "center" }); board.node.focus({ preventScroll: true }); };
  const show = (sample) => {
    chosenSample = id(sample);
    words.textContent = `Style ${sample.style || "unknown"}, reward ${number(sample.reward, 3)}, ${advantageOf(sample)}${sample.reason ? `: ${sample.reason}` : ""}`;
    games.replaceChildren(...(sample.games.length > 1 ? sample.games.map((game, at) => el("button", { type: "button", onclick: () => board.show(game) }, `Game ${at + 1}: ${whole(game.score)}`)) : []));
    code.replaceChildren(source(sample.source, `step-${sample.step}-${sample.place}.py`), ...transcripts(sample).flat());
    code.classList.toggle("wide", !sample.games.length);
    board.show(sample.games[0] || null);
  };
  const kept = run.samples.findIndex((sample) => id(sample) === chosenSample);
  list.selectedIndex = Math.max(0, kept);
  show(run.samples[list.selectedIndex]);
  const node = el("div", { class: "card" }, el("div", { class: "controls" }, el("label", {}, "Program ", list)), words, games,
    el("div", { class: "player" }, board.node, code));
  return { node, watch };
}

function everything(runs) {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.steps)))].filter((key) => key !== "step").sort();
  if (!keys.length) return null;
  const place = el("div", { class: "charts" });
  const list = el("select", { onchange: () => show(list.value) }, keys.map((key) => el("option", { value: key }, key)));
  const show = (key) => {
    chosenKey = key;
    const one = lines({ title: key, note: "", series: runs.map((run, index) => series(run, index, key)), wide: true });
    place.replaceChildren(one || el("p", {}, "no values"));
    drawAll();
  };
  list.value = keys.includes(chosenKey) ? chosenKey : keys[0];
  show(list.value);
  return section("Any metric", el("div", { class: "controls" }, el("label", {}, "Metric ", list)), place);
}

function details(runs) {
  const run = runs[chosenRun] || runs[0];
  const place = el("div", {});
  const fill = (run) => {
    const { node, watch } = ofTasks(run) ? attempts(run) : programs(run);
    const words = ofTasks(run) ? "Programs of steps spread over the run, task after task; choose one to read it."
      : `Best, median and worst of steps spread over the run.${ofGame(run) ? "" : " The board takes the keyboard: space plays, arrows step."}`;
    place.replaceChildren(
      el("div", { class: "charts" }, shares(run).filter(Boolean), styles(run)),
      section(ofTasks(run) ? "Programs and their tests" : "Programs and their games", el("p", { class: "soft small" }, words), node),
      failures(run) || "", ofTasks(run) ? solvable(run) : "", groups(run, runs.indexOf(run)) || "", browsing(run, runs.indexOf(run)) || "",
      // Solutions of different tasks do not compare.
      ofTasks(run) ? "" : section("Hall of fame", hall(run, watch)),
      section("Configuration", settings(run) ? el("details", {}, el("summary", {}, "All recorded settings"), settings(run)) : el("p", { class: "soft" }, "Not recorded.")));
    drawAll();
  };
  const list = el("select", { onchange: () => { chosenRun = list.selectedIndex; chosenSample = null; fill(runs[chosenRun]); } }, runs.map((one) => el("option", {}, one.name)));
  list.selectedIndex = runs.indexOf(run);
  return { fill: () => fill(run), node: section(runs.length > 1 ? "One run in detail" : "In detail", runs.length > 1 ? el("div", { class: "controls" }, el("label", {}, "Run ", list)) : null, place) };
}

// How much the curves are smoothed.
function smoother(runs) {
  const long = runs.some((run) => stepsOf(run).length >= smoothing.least);
  const words = () => (!smoothing.reach ? "every step" : long ? `means over ${2 * smoothing.reach + 1} steps` : `every step: fewer than ${smoothing.least} are not smoothed`);
  const told = el("span", { class: "soft small", role: "status" }, words());
  const slide = el("input", { type: "range", min: 0, max: 20, value: smoothing.reach, oninput: () => { smoothing.reach = Number(slide.value); told.textContent = words(); drawAll(); } });
  return el("div", { class: "controls smoother" }, el("label", { class: "grow" }, "Smoothing ", slide), told);
}

// Links to the parts of the page, which is long on a telephone: what programs were written stands below all curves.
function contents() {
  const links = [...main.querySelectorAll("h2")].map((part, at) => {
    part.id = `part-${at}`;
    return el("a", { href: `#${part.id}` }, part.textContent);
  });
  document.getElementById("contents").replaceChildren(...links);
}

function build({ runs, follow, version }) {
  charts.length = 0;
  const at = window.scrollY;
  const detail = details(runs);
  main.replaceChildren(heading(runs, follow), el("nav", { id: "contents", class: "small", "aria-label": "parts of this page" }),
    ...(runs.length === 1 ? [tiles(runs[0])] : [section("Compared", el("div", { class: "card" }, comparison(runs), el("p", { class: "soft small" }, `First and last: means over ${WINDOW} steps, of fewer than ${2 * WINDOW} over half of them; held-out: first and last evaluation.`))),
      section("Differing settings", el("div", { class: "card" }, differences(runs)))]),
    section("Learning curves", smoother(runs), el("div", { class: "charts" }, curves(runs).filter(Boolean))),
    detail.node, everything(runs) || "",
    el("footer", { class: "soft small" }, `grpo-2048 ${version}. Thin lines are single steps, thick ones means over as many as Smoothing says, and single steps where there are fewer than ${smoothing.least}.`));
  detail.fill();
  contents();
  drawAll();
  window.scrollTo(0, at);
}

let waiting = null;
window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 120); });
window.addEventListener("beforeprint", drawAll);

const text = document.getElementById("runs").textContent;
build(JSON.parse(text));

async function poll(before) {
  let now = before;
  const status = document.getElementById("following");
  try {
    now = await (await fetch("runs.json", { cache: "no-store" })).text();
    // The server may have been gone for a while.
    if (status && status.textContent !== FOLLOWING) status.textContent = FOLLOWING;
    // Somebody who watches a game or opens a list is not interrupted.
    const busy = main.contains(document.activeElement) && ["SELECT", "INPUT", "BUTTON"].includes(document.activeElement.tagName);
    if (now !== before && !busy) build(JSON.parse(now));
    else now = before;
  } catch {
    if (status) status.textContent = "The server is gone: the page shows what it had.";
  }
  setTimeout(() => poll(now), POLL_MS);
}
if (JSON.parse(text).follow) poll(text);
