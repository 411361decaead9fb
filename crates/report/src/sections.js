// What the page says about runs: figures, curves, stacks, programs.

const COLOURS = ["--s0", "--s1", "--s2", "--s3", "--s4", "--s5", "--s6", "--s7"];
const AREAS = ["--a0", "--a1", "--a2", "--a3", "--a4", "--a5", "--a6", "--a7", "--a8"];
// Runs beyond the colours are told apart by their dashes.
const DASHES = [null, "6 3", "2 3", "9 3 2 3"];
const look = (index) => ({ colour: COLOURS[index % COLOURS.length], dash: DASHES[Math.floor(index / COLOURS.length) % DASHES.length] });
const STYLE = "eval_style/";
const WINDOW = 5;

const stepsOf = (run) => run.steps.step || [];
const column = (run, key) => run.steps[key] || stepsOf(run).map(() => null);
const evaluationsOf = (run) => run.evaluations.step || [];
const evaluation = (run, key) => run.evaluations[key] || evaluationsOf(run).map(() => null);

// What a run is about: tasks with tests, a game written in Python, or 2048.
const has = (run, name) => [run.steps[name], run.evaluations[`eval_${name}`]].some((ys) => known(ys).length);
const ofTasks = (run) => has(run, "tasks/frac_tests");
const ofGame = (run) => has(run, "game/mean_score") && !has(run, "game/max_tile");
// How a score of this run is written.
const points = (run) => (ofTasks(run) ? percent : ofGame(run) ? number : whole);
// What stands in the log in words of games.
const TASK_WORDS = { "bad move": "bad value", succeeded: "passed" };
// To play, every game must go on to an end that is no fault of the program.
const GAME_WORDS = { succeeded: "plays" };

// A run's column as a series; `spread` gives the half-width of an interval.
function series(run, index, key, options = {}) {
  const ys = column(run, key);
  const half = options.spread && options.spread(run);
  return { name: run.name, ...look(index), xs: stepsOf(run), ys, smooth: true,
    lows: half && ys.map((value, at) => (half[at] === null || value === null ? null : value - half[at])),
    highs: half && ys.map((value, at) => (half[at] === null || value === null ? null : value + half[at])) };
}

function completionsAt(run) {
  const kinds = Object.keys(run.steps).filter((key) => key.startsWith("verdict/"));
  return stepsOf(run).map((_, at) => kinds.reduce((sum, key) => sum + (run.steps[key][at] || 0), 0));
}

// 1.96 standard errors of the mean reward of a step.
function rewardSpread(run) {
  const counts = completionsAt(run);
  return column(run, "reward_std").map((std, at) => (std === null || !counts[at] ? null : 1.96 * std / Math.sqrt(counts[at])));
}

const heldOut = (key) => (run, index) => ({ name: run.name, ...look(index), xs: evaluationsOf(run), ys: evaluation(run, key), dots: true,
  lows: evaluation(run, `${key}_low`), highs: evaluation(run, `${key}_high`) });

// How evaluations on tasks are called: of a file that holds none out, they ask those that are trained on.
const evaluatedOn = (runs, words) => (runs.some((run) => evaluation(run, "eval_tasks/held_out").includes(0)) ? words.replace("Held-out", "Evaluated").replace("held-out", "evaluated") : words);

const SHARE = { floor: 0, ceiling: 1, show: percent };
const HELD_OUT = [
  ["eval_game/mean_score", "Held-out score", "points a game, 95 % interval", { floor: 0, show: whole }],
  ["eval_tasks/frac_passed", "Held-out tasks solved", "pass@1: share of programs that pass all tests, 95 % interval over tasks", SHARE],
  ["eval_tasks/frac_tests", "Held-out tests passed", "share of a task's tests, 95 % interval over tasks", SHARE],
];

const CURVES = [
  ["reward", "Mean reward", "95 % interval of the mean of a step", { spread: rewardSpread }],
  ["tasks/frac_passed", "Tasks solved", "share of completions that pass all tests", SHARE],
  ["tasks/frac_tests", "Tests passed", "mean share of a task's tests", SHARE],
  ["game/mean_score", "Training score", "points a game; what fails has 0, or below zero the lowest of its step", { floor: 0, show: whole }],
  ["game/frac_played", "Programs that play to the end", "share of completions that play every game to an end that is no fault of theirs", { floor: 0, ceiling: 1, show: percent }],
  ["turns/succeeded/1", "First turns that succeed", "share of conversations whose first program passes all tests, or plays", SHARE],
  ["repair/fixed", "Repairs", "share of failed first programs whose conversation ends in one that succeeds", SHARE],
  ["entropy", "Entropy", "nats a token", { floor: 0 }],
  ["programs/frac_unique", "Distinct programs", "share of those that parse", { floor: 0, ceiling: 1, show: percent }],
  ["programs/unique", "Distinct programs", "in a step", { floor: 0, show: whole, unless: "programs/frac_unique" }],
  ["frac_reward_zero_std", "Tied groups", "share of groups with nothing to learn", { floor: 0, ceiling: 1, show: percent }],
  ["completions/clipped_ratio", "Cut completions", "share cut at the longest length", { floor: 0, ceiling: 1, show: percent, some: true }],
  ["completions/mean_length", "Completion length", "tokens, mean of a step", { floor: 0, show: whole }],
  ["kl", "KL from the reference", "nats", { floor: 0 }],
  ["reward_std", "Spread of rewards", "standard deviation in a step", { floor: 0 }],
  ["learning_rate", "Learning rate", "at the step's update", { floor: 0 }],
  ["grad_norm", "Gradient norm", "before clipping", { floor: 0 }],
  ["step_time", "Time of a step", "seconds", { floor: 0 }],
  ["generate/tokens_per_s", "Sampling speed", "tokens a second", { floor: 0, show: whole }],
];

function curves(runs) {
  // Scores of a game of one's own may be small, or below zero.
  const fitting = (key, options) => (key.endsWith("game/mean_score") && runs.some(ofGame) ? {} : options);
  const called = (key, title) => (key.startsWith("eval_tasks/") ? evaluatedOn(runs, title) : title);
  const found = HELD_OUT.map(([key, title, note, options]) => lines({ title: called(key, title), note, series: runs.map(heldOut(key)), ...fitting(key, options) }));
  for (const [key, title, note, general] of CURVES) {
    const options = fitting(key, general);
    const there = (name) => runs.some((run) => known(run.steps[name]).length);
    if (options.unless && there(options.unless)) continue;
    if (options.some && !runs.some((run) => known(run.steps[key]).some((value) => value > 0))) continue;
    found.push(lines({ title, note, series: runs.map((run, index) => series(run, index, key, options)), ...options }));
  }
  const gpu = [...new Set(runs.flatMap((run) => Object.keys(run.steps)))].filter((key) => key.startsWith("gpu/")).sort();
  for (const key of gpu) found.push(lines({ title: key, note: "", series: runs.map((run, index) => series(run, index, key)), floor: 0 }));
  return found;
}

function family(run, prefix) {
  const keys = Object.keys(run.steps).filter((key) => key.startsWith(prefix) && !key.slice(prefix.length).includes("/"));
  return keys.map((key) => ({ name: key.slice(prefix.length).replaceAll("_", " "), ys: run.steps[key] }));
}

function coloured(layers, order) {
  const rank = (layer) => { const at = order.indexOf(layer.name); return at < 0 ? order.length : at; };
  return layers.sort((a, b) => rank(a) - rank(b)).map((layer, index) => {
    const at = order.indexOf(layer.name);
    return { ...layer, colour: AREAS[(at < 0 ? order.length + index : at) % AREAS.length] };
  });
}

const VERDICTS = ["succeeded", "cut", "not compiled", "no function", "raised", "froze", "bad value", "wrong answer", "out of budget"];
// What is in both charts stands at one place of both lists, and so has one colour.
const ENDINGS = ["game over", "out of fuel", "move limit", "hung", "raised", "freeze", "bad move", "out of memory", "stack overflow"];
const TASK_ENDINGS = ["passed", "out of fuel", "out of memory", "stack overflow", "raised", "hung", "bad value", "wrong answer"];

function shares(run) {
  const tasks = ofTasks(run), show = points(run);
  const word = (name) => (tasks ? TASK_WORDS : GAME_WORDS)[name] || name;
  const named = (layers) => layers.map((layer) => ({ ...layer, name: word(layer.name) }));
  const xs = stepsOf(run);
  const verdicts = family(run, "verdict/");
  const time = [["generate", "time/generate"], ["reward wait", "time/reward_wait"], ["update", "time/update"]]
    .map(([name, key], index) => ({ name, colour: AREAS[index], ys: column(run, key) }));
  const bands = run.scores.map((one) => one.step);
  const quantile = (at) => run.scores.map((one) => one.quantiles[at]);
  const spread = (name, low, high) => {
    const [lows, highs] = [quantile(low), quantile(high)];
    return { name, colour: "--s0", xs: bands, ys: quantile(2), lows, highs, told: (at) => `${name}: ${show(lows[at])} to ${show(highs[at])}` };
  };
  const median = { name: "median", colour: "--s0", xs: bands, ys: quantile(2) };
  return [
    stack({ title: "What became of completions", note: "share of completions", xs, layers: coloured(named(verdicts), VERDICTS.map(word)), share: true, show: percent }),
    stack({ title: tasks ? "How tests went" : "How games ended", note: tasks ? "share of programs: all passed, or what ended the first failed test" : "share of games",
      xs, layers: coloured(tasks ? named(family(run, "ending/")) : family(run, "ending/"), tasks ? TASK_ENDINGS : ENDINGS), share: true, show: percent }),
    stack({ title: "Where the time went", note: "seconds a step", xs, layers: time, show: seconds }),
    lines({ title: tasks ? "Distribution of tests passed" : "Distribution of scores", note: `${tasks ? "share of tests of each program" : "mean score of each program"}: median, middle half, middle four fifths, and the best`,
      floor: ofGame(run) ? null : 0, ceiling: tasks ? 1 : null, show,
      series: [median, spread("25 to 75 %", 1, 3), spread("10 to 90 %", 0, 4), { name: "best", colour: "--s1", xs: bands, ys: run.scores.map((one) => one.best), dash: "2 3" }],
      legend: [["median and bands", "--s0"], ["best of the step", "--s1", "2 3"]] }),
  ];
}

function styles(run) {
  const keys = Object.keys(run.evaluations).filter((key) => key.startsWith(STYLE)).sort();
  // One style says what the curve says.
  if (keys.length < 2) return null;
  const xs = evaluationsOf(run), last = xs.length - 1, show = points(run);
  const rows = keys.map((key) => {
    const ys = run.evaluations[key], first = ys[0], end = ys[last];
    return xs.length < 2 ? [key.slice(STYLE.length), show(first)] : [key.slice(STYLE.length), show(first), show(end), first > 0 && end !== null && end >= 0 && !isMixed(run) ? `× ${number(end / first, 2)}` : "–"];
  });
  const [title, what] = ofTasks(run) ? [evaluatedOn([run], "Held-out tests passed by task"), "task"] : ["Held-out score by style of the prompt", "style"];
  return el("div", { class: "card tall" }, el("h3", {}, title),
    table([what, `step ${xs[0]}`, ...(xs.length > 1 ? [`step ${xs[last]}`, "ratio"] : [])], rows));
}

function ends(ys) {
  const there = known(ys), reach = Math.min(WINDOW, Math.max(1, Math.floor(there.length / 2)));
  return there.length ? [mean(there.slice(0, reach)), mean(there.slice(-reach))] : [null, null];
}

function comparison(runs) {
  const arrow = (pair, show) => (pair[0] === null ? "–" : [show(pair[0]), show(pair[1])]);
  const rows = [];
  const add = (name, show, pairs) => { if (pairs.some((pair) => pair[0] !== null)) rows.push([name, ...pairs.flatMap((pair) => (pair[0] === null ? ["–", "–"] : arrow(pair, show)))]); };
  const firstLast = (ys) => { const there = known(ys); return there.length ? [there[0], there.length > 1 ? there[there.length - 1] : null] : [null, null]; };
  rows.push(["steps", ...runs.flatMap((run) => [whole(stepsOf(run)[0] ?? null), whole(stepsOf(run)[stepsOf(run).length - 1] ?? null)])]);
  const score = runs.some(ofGame) ? number : whole;
  add("held-out score", score, runs.map((run) => firstLast(evaluation(run, "eval_game/mean_score"))));
  add("held-out programs that play", percent, runs.map((run) => firstLast(evaluation(run, "eval_game/frac_played"))));
  add(evaluatedOn(runs, "held-out tasks solved"), percent, runs.map((run) => firstLast(evaluation(run, "eval_tasks/frac_passed"))));
  add(evaluatedOn(runs, "held-out tests passed"), percent, runs.map((run) => firstLast(evaluation(run, "eval_tasks/frac_tests"))));
  add("mean reward", (value) => number(value, 3), runs.map((run) => ends(column(run, "reward"))));
  add("training score", score, runs.map((run) => ends(column(run, "game/mean_score"))));
  add("programs that play to the end", percent, runs.map((run) => ends(column(run, "game/frac_played"))));
  add("tasks solved", percent, runs.map((run) => ends(column(run, "tasks/frac_passed"))));
  add("tests passed", percent, runs.map((run) => ends(column(run, "tasks/frac_tests"))));
  add("entropy", (value) => number(value, 3), runs.map((run) => ends(column(run, "entropy"))));
  add("distinct programs", percent, runs.map((run) => ends(column(run, "programs/frac_unique"))));
  add("seconds a step", (value) => number(value, 1), runs.map((run) => ends(column(run, "step_time"))));
  return table(["", ...runs.flatMap((run) => [`${run.name}: first`, "last"])], rows);
}

function differences(runs) {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.configuration)))].sort();
  const differing = keys.filter((key) => key !== "train.output_dir" && new Set(runs.map((run) => run.configuration[key])).size > 1);
  // Versions differ in the settings they know: those are named apart from the ones that were set differently.
  const everywhere = differing.filter((key) => runs.every((run) => key in run.configuration));
  const missing = differing.filter((key) => !everywhere.includes(key));
  return el("div", {},
    everywhere.length ? table(["setting", ...runs.map((run) => run.name)], everywhere.map((key) => [key, ...runs.map((run) => run.configuration[key])]))
      : el("p", { class: "soft" }, "Settings that all runs recorded are the same."),
    missing.length ? el("details", {}, el("summary", {}, `${missing.length} setting${missing.length === 1 ? " is" : "s are"} recorded by some of the runs only`),
      table(["setting", ...runs.map((run) => run.name)], missing.map((key) => [key, ...runs.map((run) => run.configuration[key] ?? "–")]))) : null);
}

function settings(run) {
  const keys = Object.keys(run.configuration);
  if (!keys.length) return null;
  const sections = [...new Set(keys.map((key) => key.split(".")[0]))];
  return el("div", { class: "charts" }, sections.map((section) => el("div", { class: "card" }, el("h3", {}, section),
    region("scroll", `settings of ${section}`, el("table", {}, el("tbody", {}, keys.filter((key) => key.split(".")[0] === section).map((key) =>
      el("tr", {}, el("td", {}, key.slice(section.length + 1) || key), el("td", { class: "number" }, run.configuration[key])))))))));
}

function hall(run, watch) {
  if (!run.hall_of_fame.length) return el("p", { class: "soft" }, "Nobody is in it yet.");
  const show = points(run), held = ofGame(run) ? "games" : "boards";
  // A mean with its games, and its interval where one is known; a single game is luck and no figure.
  const told = (member) => {
    const bracketed = ([low, high] = []) => { const ends = between(low, high, show); return ends ? ` (${ends})` : ""; };
    const of = (score, games, where, interval) => [`mean score ${show(score)}${bracketed(interval)}`, ` in ${games ? `${games} ` : ""}${where}`];
    const [reported, interval] = [member.report_mean_score, [member.report_mean_score_low, member.report_mean_score_high]];
    const elsewhere = reported === undefined ? "" : `; ${of(reported, member.report_games, "others that it was not chosen on", interval).join("")}`;
    // All places have the score by which they are ranked; the first has another that no choice has favoured.
    if (member.held_out_mean_score !== undefined) return of(member.held_out_mean_score, member.held_out_games, `held-out ${held} that it was chosen on${elsewhere}`);
    return member.training_games > 1 ? of(member.mean_score, member.training_games, "training games") : ["not settled yet", ", seen in one training game"];
  };
  return el("div", { class: "hall" }, run.hall_of_fame.map((member, index) => {
    const [score, where] = told(member);
    return el("details", { class: "card", open: index === 0 },
      el("summary", {}, el("strong", {}, `${index + 1}. ${score}`),
        `${where}${ofGame(run) || !member.max_tile ? "" : `, best tile ${member.max_tile}`}, style ${member.style}, step ${member.step}`),
      member.games.length ? el("div", { class: "controls" }, member.games.map((game, at) =>
        el("button", { type: "button", onclick: () => watch(game) }, `Watch game ${at + 1}: ${whole(game.score)}`))) : null,
      source(member.source, `hall-of-fame-${index + 1}.py`));
  }));
}
