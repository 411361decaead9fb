// The completions of one prompt beside each other with their advantages, which is what an update learns from.

const grouped = { open: false, step: null, group: 0 };
// Shows the groups of a step; set where a run has completions.
let openStep = null;

// The groups of every step, the newest first: {step, groups: [{prompt, style, members}]}.
function groupsOf(run, entries) {
  const size = Number(run.configuration["rollout.num_generations"]) || 8, steps = new Map();
  let prompt = "";
  for (const one of entries) {
    if (!steps.has(one.step)) { steps.set(one.step, []); prompt = ""; }
    // A prompt stands at the first of the completions that share it.
    prompt = one.prompt || prompt;
    const groups = steps.get(one.step), at = Math.floor(one.index / size);
    if (!groups[at]) groups[at] = { prompt, style: one.style, members: [] };
    groups[at].members.push(one);
  }
  return [...steps].map(([step, groups]) => ({ step, groups: groups.filter(Boolean) }));
}

function advantageOf(one) {
  if (typeof one.advantage !== "number") return "not learnt from";
  return `advantage ${one.advantage > 0 ? "+" : ""}${number(one.advantage, 2)}`;
}

function member(run, one, most) {
  const width = most > 0 ? 50 * Math.abs(one.advantage || 0) / most : 0;
  const mark = el("i", { class: one.advantage < 0 ? "less" : null, style: `width:${width.toFixed(1)}%` });
  return el("article", { class: "member" },
    el("h3", {}, `No. ${one.index}`, el("span", { class: "advantage", "aria-hidden": "true" }, mark), advantageOf(one)),
    el("p", { class: "small" }, `Reward ${number(one.reward, 3)}, ${ofTasks(run) ? "tests passed" : "mean score"} ${points(run)(one.score)}. `,
      el("strong", { class: one.failure ? "bad" : "good" }, one.failure ? failureWords(run, one.failure) : wellWords(run)), one.reason ? `: ${one.reason}` : ""),
    source(one.source, `step-${one.step}-completion-${one.index}.py`));
}

function groupView(run, entries) {
  const steps = groupsOf(run, entries), what = ofTasks(run) ? "task" : "style";
  const place = el("div", {}), list = el("select", { onchange: () => fill(steps[list.selectedIndex].step, 0) }, steps.map(({ step, groups }) =>
    el("option", {}, `step ${step}: reward ${number(mean(groups.flatMap((group) => group.members.map((one) => one.reward))), 3)}`)));
  const choice = el("select", { onchange: () => fill(grouped.step, choice.selectedIndex) });
  const turn = (by) => el("button", { type: "button", onclick: () => fill(grouped.step, choice.selectedIndex + by), "aria-label": by < 0 ? "group before" : "group after" }, by < 0 ? "‹" : "›");
  const fill = (asked, at) => {
    const distance = (one) => Math.abs(one.step - asked);
    const chosen = asked === null ? steps[0] : steps.reduce((near, one) => (distance(one) < distance(near) ? one : near), steps[0]);
    const { step, groups } = chosen, index = Math.max(0, Math.min(groups.length - 1, at)), { prompt, style, members } = groups[index];
    Object.assign(grouped, { step, group: index });
    list.selectedIndex = steps.indexOf(chosen);
    choice.replaceChildren(...groups.map((group, place) => el("option", { selected: place === index },
      `${place + 1}: ${what} ${group.style || "unknown"}, ${group.members.filter((one) => !one.failure).length} of ${group.members.length} ${ofTasks(run) ? "pass" : "play"}`)));
    const most = highest(members.map((one) => Math.abs(one.advantage || 0)));
    const ordered = [...members].sort((a, b) => b.reward - a.reward || a.index - b.index);
    place.replaceChildren(
      prompt ? el("details", {}, el("summary", {}, `Prompt of ${what} ${style || "unknown"}, ${whole(prompt.length)} characters`), el("pre", { class: "told", tabindex: "0" }, prompt)) : "",
      most === 0 ? el("p", { class: "soft small" }, members.every((one) => typeof one.advantage !== "number") ? "No completion of this group is in the update." : "All rewards of this group count the same: there is nothing to learn from it.") : "",
      region("group", `completions of ${what} ${style}`, ordered.map((one) => member(run, one, most))));
  };
  const node = el("div", { class: "card", id: "groups-view" }, el("div", { class: "controls" }, el("label", {}, "Step ", list), el("label", {}, "Group ", choice), turn(-1), turn(1)), place);
  fill(grouped.step, grouped.group);
  return { node, fill };
}

function groups(run, at) {
  if (!logged(run)) { openStep = null; return null; }
  const place = el("div", { "aria-live": "polite" });
  let view = null;
  const load = async () => {
    if (place.childNodes.length) return;
    place.replaceChildren(el("p", { class: "soft" }, "Unpacking …"));
    try {
      view = groupView(run, await completionsOf(run, at));
      place.replaceChildren(view.node);
    } catch (error) { place.replaceChildren(el("p", { class: "bad" }, `The completions cannot be unpacked: ${error.message}`)); }
  };
  const details = el("details", { id: "groups", ontoggle: () => { grouped.open = details.open; if (details.open) load(); } },
    el("summary", {}, "Show the groups of a step"), place);
  if (grouped.open) details.open = true;
  openStep = (step) => {
    Object.assign(grouped, { step, group: 0 });
    if (view) view.fill(step, 0);
    details.open = true;
    details.scrollIntoView({ block: "start" });
  };
  return section("Groups", el("p", { class: "soft small" }, "The completions of one prompt beside each other, the best first, with the advantages of those that the update learns from. A click on a curve opens the step there."), details);
}

