//! Tests of the report in a browser: its JavaScript runs without an exception, builds every section, searches, plays
//! games and decompresses completions.
//!
//! Chromium runs the page without a window and prints the resulting document. A script at the end of a copy of the page
//! does what a reader would. `make page` looks for a Chromium and runs this.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::chat_model::{CHATML, write_model};
use crate::program::done;

/// A script that runs before those of the page and writes exceptions, violations of the content security policy and
/// unhandled rejections into the document.
const WATCH: &str = "<script>
const broken = [];
addEventListener('error', (event) => broken.push(event.message));
addEventListener('unhandledrejection', (event) => broken.push(String(event.reason)));
addEventListener('securitypolicyviolation', (event) => broken.push('policy: ' + event.violatedDirective));
</script>";

/// Runs a copy of `page` with `script` at its end in Chromium. Returns the lines that were passed to `say`.
fn in_browser(page: &Path, script: &str) -> Vec<String> {
    let chromium = std::env::var("CHROMIUM").expect("CHROMIUM names the browser's program; use `make page`");
    let text = std::fs::read_to_string(page).unwrap();
    let driver = format!(
        "<script>
const said = [], say = (...words) => said.push(words.join(' '));
const soon = () => new Promise((done) => setTimeout(done, 400));
(async () => {{
  try {{ {script} }} catch (error) {{ broken.push(String(error)); }}
  await soon();
  document.body.replaceChildren(...said.concat(broken.map((one) => 'BROKEN ' + one)).map((one) => {{
    const line = document.createElement('p'); line.textContent = 'SAID ' + one + ' END'; return line;
  }}));
}})();
</script>"
    );
    let watched = text.replacen("<body>", &format!("<body>{WATCH}"), 1).replace("</body>", &format!("{driver}</body>"));
    let copy = page.with_extension("driven.html");
    std::fs::write(&copy, watched).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(chromium);
    command.args(["--headless=new", "--disable-gpu", "--no-sandbox", "--dump-dom", "--virtual-time-budget=20000"]);
    command.arg(format!("--user-data-dir={}", profile.path().display())).arg(format!("file://{}", copy.display()));
    let output = command.stderr(Stdio::null()).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let said: Vec<String> = dom
        .split("<p>SAID ")
        .skip(1)
        .map(|rest| rest.split(" END</p>").next().unwrap_or_default().replace("&amp;", "&").replace("&gt;", ">"))
        .collect();
    assert!(!said.is_empty(), "the browser said nothing: {dom:.2000}");
    let broken: Vec<&String> = said.iter().filter(|line| line.starts_with("BROKEN")).collect();
    assert!(broken.is_empty(), "{broken:?}");
    said
}

fn trained(directory: &Path) -> PathBuf {
    let small = ["train", "--output-dir", "run", "--steps", "3", "--groups", "2", "--num-generations", "8"];
    let quick = ["--eval-steps", "3", "--set", "train.eval_samples=8", "--set", "train.preflight=false"];
    done(directory, &[&small[..], &quick].concat());
    directory.join("run")
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn every_section_is_built_and_answers_its_reader() {
    let scratch = tempfile::tempdir().unwrap();
    let run = trained(scratch.path());
    done(scratch.path(), &["report", "run"]);
    let said = in_browser(
        &run.join("report.html"),
        "say('sections', [...document.querySelectorAll('h2')].map((one) => one.textContent).join(', '));
         const links = [...document.querySelectorAll('#contents a')];
         say('linked', links.length, links.every((one) => document.querySelector(one.getAttribute('href')).textContent === one.textContent));
         say('named', [...document.querySelectorAll('figure > svg')].every((one) => document.getElementById(one.getAttribute('aria-labelledby'))?.textContent));
         say('repeated', [...document.querySelectorAll('svg')].filter((one) => { const labels = [...one.querySelectorAll('text[text-anchor=end]')].map((text) => text.textContent); return new Set(labels).size < labels.length || labels.includes('-0'); }).length);
         say('facts', [...document.querySelectorAll('.facts dt')].map((one) => one.textContent).join(', '));
         say('ended', [...document.querySelectorAll('.facts dd')][1].textContent.slice(0, 21));
         say('ends', [...document.querySelector('select').options].every((one) => /(game over|out of fuel|freeze|not compiled|raised|bad move|bad value|cut|froze|hung)/.test(one.textContent)));
         say('header', document.querySelector('header p').textContent.startsWith('game 2048 · run · step 3 of 3 · model builtin · seed'));
         const slide = document.querySelector('.smoother input'); slide.value = 0; slide.dispatchEvent(new Event('input'));
         say('smoothed', document.querySelector('.smoother [role=status]').textContent);
         const chart = [...document.querySelectorAll('figure')].find((one) => one.textContent.includes('Mean reward')).querySelector('svg');
         document.body.append(lines({ title: 'small', note: '', series: [{ name: 'rate', colour: '--one', xs: [1, 2], ys: [1e-6, 7.5e-6] }], floor: 0 })); drawAll();
         const small = document.body.lastChild, levels = [...small.querySelectorAll('text[text-anchor=end]')];
         say('small', levels.map((one) => one.textContent).join(' '));
         say('clipped', [...document.querySelectorAll('figure text[text-anchor=end]')].filter((one) => one.getBBox().x < 0).length); small.remove();
         say('axis', [...chart.querySelectorAll('text')].map((one) => one.textContent).filter((one) => /^(step|[0-9])$/.test(one)).join(' '));
         chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true })); chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })); await soon();
         say('groups', document.querySelectorAll('#groups-view option').length, document.querySelector('#groups-view select').selectedOptions[0].textContent.split(':')[0]);
         const members = [...document.querySelectorAll('.member')], heads = members.map((one) => one.querySelector('h3').textContent);
         const advantages = heads.filter((one) => !one.includes('not learnt from')).map((one) => Number(one.split('advantage ')[1]));
         say('members', members.length, advantages.length, Math.abs(advantages.reduce((sum, one) => sum + one, 0)) < 0.1, advantages.every((one, at) => !at || one <= advantages[at - 1]));
         say('levels', [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((one) => Number(one.tagName[1])).every((level, at, all) => !at || level <= all[at - 1] + 1));
         const note = el('div', { class: 'notes', style: 'width:9rem' }, 'rollout.max_completion_length=768'); main.append(note);
         say('wrapped', note.scrollWidth <= note.clientWidth); note.remove();
         say('prompt', document.querySelector('#groups-view pre.told').textContent.includes('<|program|>'));
         const details = document.querySelector('#completions'); details.open = true; await soon();
         say('listed', document.querySelectorAll('#browser tbody tr').length);
         const search = document.querySelector('#browser input[type=search]');
         search.value = 'no program holds these words'; search.dispatchEvent(new Event('input')); await soon();
         say('found', document.querySelector('#browser [role=status]').textContent);
         search.value = 'DEF STRATEGY'; search.dispatchEvent(new Event('input')); await soon();
         say('found', document.querySelector('#browser [role=status]').textContent);
         document.querySelectorAll('#browser tbody button')[2].click();
         say('shown', document.querySelector('#browser .beside h3').textContent.startsWith('Step 3, completion 2'), document.querySelectorAll('#browser .beside pre .l').length > 0);
         let kept = ''; HTMLAnchorElement.prototype.click = function () { kept = this.download; };
         [...document.querySelectorAll('#browser .beside button')].find((one) => one.textContent === 'Download').click();
         say('kept', kept);
         const board = document.querySelector('.board').getAttribute('aria-label'); document.querySelector('[title^=\"first board\"]').click();
         say('replayed', board !== document.querySelector('.board').getAttribute('aria-label'));",
    );
    let expected = [
        "sections Learning curves, In detail, Programs and their games, Why programs failed, Groups, All completions, Hall of fame, Configuration, Any metric",
        "linked 9 true",
        "named true",
        "repeated 0",
        "facts Begun, Ended, Steps and evaluations took, Machine, Tensors, Program, Command",
        "ended all steps are done at",
        "ends true",
        "header true",
        "smoothed every step",
        "small 0 2e-6 4e-6 6e-6",
        "clipped 0",
        "axis step 1 2 3",
        "groups 5 step 1",
        "members 8 6 true true",
        "levels true",
        "wrapped true",
        "prompt true",
        "listed 48",
        "found 0 of 48 completions",
        "found 48 of 48 completions",
        "shown true true",
        "kept step-3-completion-2.py",
        "replayed true",
    ];
    assert_eq!(said, expected);
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn a_run_that_has_only_begun_and_runs_beside_each_other_are_built_too() {
    let scratch = tempfile::tempdir().unwrap();
    trained(scratch.path());
    std::fs::create_dir(scratch.path().join("begun")).unwrap();
    std::fs::copy(scratch.path().join("run/config.toml"), scratch.path().join("begun/config.toml")).unwrap();
    // A run with an evaluation and without steps.
    let metrics = std::fs::read_to_string(scratch.path().join("run/metrics.jsonl")).unwrap();
    std::fs::write(scratch.path().join("begun/metrics.jsonl"), format!("{}\n", metrics.lines().next().unwrap()))
        .unwrap();
    done(scratch.path(), &["report", "begun"]);
    let said = in_browser(
        &scratch.path().join("begun/report.html"),
        "const chart = document.querySelector('figure svg'), dot = chart.querySelector('circle');
         say('alone', dot.getAttribute('cx') > 80, chart.querySelectorAll('path[d*=\"h10\"]').length);
         say('interval', document.querySelector('.tile span').textContent.includes('95 % interval'));
         say([0, 0.004, 0.005, 0.994, 0.996, 1].map((one) => percent(one).replace('<', 'below ')).join(', '));",
    );
    assert_eq!(said, ["alone true 1", "interval true", "0 %, below 1 %, 1 %, 99 %, >99 %, 100 %"]);
    done(scratch.path(), &["report", "run", "begun"]);
    let sections = "say([...document.querySelectorAll('h2')].map((one) => one.textContent).slice(0, 4).join(', '));";
    let said = in_browser(&scratch.path().join("report.html"), sections);
    assert_eq!(said, ["Compared, Differing settings, Learning curves, One run in detail"]);
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn of_a_task_the_page_says_what_was_asked_what_was_written_and_why_it_failed() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    write_model(&dir.join("M"), Some(CHATML));
    let task = r#"{"id": "add", "prompt": "Write `add(a, b)`.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}]}"#;
    std::fs::write(dir.join("tasks.jsonl"), task).unwrap();
    let small =
        ["train", "--env", "tasks.jsonl", "--model", "M", "--output-dir", "run", "--steps", "1", "--groups", "1"];
    let quick = ["--num-generations", "4", "--max-completion-length", "12", "--set", "train.preflight=false"];
    done(dir, &[&small[..], &quick, &["--set", "train.eval_samples=0"]].concat());
    // Random weights write no program, so the log gets one.
    let log = dir.join("run/completions/step_00001.jsonl");
    let wrong = |task: &str, honeypot: bool| {
        serde_json::json!({"step": 1, "style": task, "prompt": format!("Answer in Python.\nWrite `{task}(a, b)`."),
        "completion": "\n    return 4\n```", "reward": 0.0, "advantage": 0.0, "evaluation": {"verdict": "played", "games":
        [{"task": 0, "score": 0.0, "ending": "wrong_answer", "fuel": 9, "tests": {"tests": 1, "passed": 0, "answered": 1,
        "constant": 0, "honeypot": honeypot, "failed": {"test": 1, "reason": "add(1, 2) gave 4, expected 3"}}}]}})
    };
    let written = [wrong("add", false), wrong("sub", false), wrong("add (honeypot)", true)];
    std::fs::write(log, written.map(|line| format!("{line}\n")).concat()).unwrap();
    let metrics = std::fs::read_to_string(dir.join("run/metrics.jsonl")).unwrap();
    let honeypots = r#"{"step":2,"honeypot/asked":1,"honeypot/passed":0}"#;
    std::fs::write(dir.join("run/metrics.jsonl"), format!("{metrics}{honeypots}\n")).unwrap();
    done(dir, &["report", "run"]);
    let said = in_browser(
        &dir.join("run/report.html"),
        "const beside = document.querySelector('.attempts .beside'), [asked, before] = beside.querySelectorAll('details');
         say('asked', asked.querySelector('pre').textContent, asked.open);
         say('before', before.querySelector('pre').textContent, before.open);
         say('wrote', beside.querySelectorAll('pre .l').length > 0, 'why', beside.querySelector('strong.bad').textContent);
         say('reasons', [...document.querySelectorAll('.attempts thead')].pop().textContent);
         const under = (title) => [...document.querySelectorAll('h2')].find((one) => one.textContent === title).parentElement.querySelector('p').textContent;
         say('step', document.querySelector('#attempts select').selectedOptions[0].textContent);
         say(under('Why programs failed').split('.')[0]);
         say(under('Tasks'));",
    );
    assert_eq!(
        said,
        [
            "asked Write `add(a, b)`. true",
            "before Answer in Python.\n false",
            "wrote true why test 1: add(1, 2) gave 4, expected 3",
            "reasons what a program doesprogramsof all",
            "step step 1: 0 of 3 pass",
            "2 of 2 completions failed (100 %)",
            "1 completion answered honeypots; 0 passed. Neither the failures above nor the tasks below count them."
        ]
    );
}

/// A run of so many steps, with an evaluation at the beginning and at the end.
fn written(run: &Path, steps: usize) {
    std::fs::create_dir(run).unwrap();
    let step = |step: usize| {
        let figures = r#""reward":0.5,"reward_std":0.1,"verdict/succeeded":8,"game/mean_score":900,"game/max_tile":64"#;
        format!("{{\"step\":{step},{figures}}}\n")
    };
    let evaluated = |step: usize| format!("{{\"step\":{step},\"eval_game/mean_score\":900}}\n");
    let lines = [evaluated(0)].into_iter().chain((1..=steps).map(step)).chain([evaluated(steps)]);
    std::fs::write(run.join("metrics.jsonl"), lines.collect::<String>()).unwrap();
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn a_run_of_many_steps_and_more_runs_than_colours_are_drawn() {
    let scratch = tempfile::tempdir().unwrap();
    // With both ends of its intervals, the curve of rewards is more numbers than a function takes arguments.
    written(&scratch.path().join("long"), 45_000);
    done(scratch.path(), &["report", "long"]);
    let said = in_browser(
        &scratch.path().join("long/report.html"),
        "say('tiles', [...document.querySelectorAll('.tile')].pop().textContent);
         const chart = [...document.querySelectorAll('figure')].find((one) => one.textContent.includes('Mean reward'));
         say('drawn', chart.querySelectorAll('path').length, chart.querySelector('.legend'));",
    );
    assert_eq!(said, ["tiles 64best tile", "drawn 3 "]);
    let names: Vec<String> = (1..=9).map(|number| format!("run-{number}")).collect();
    names.iter().for_each(|name| written(&scratch.path().join(name), 2));
    done(scratch.path(), &[&["report"][..], &names.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat());
    let said = in_browser(
        &scratch.path().join("report.html"),
        "const chart = (title) => [...document.querySelectorAll('figure')].find((one) => one.querySelector('h3').textContent === title);
         const looks = (lines) => lines.map((one) => one.getAttribute('stroke') + ' ' + one.getAttribute('stroke-dasharray'));
         for (const title of ['Held-out score', 'Mean reward']) {
           const told = looks([...chart(title).querySelectorAll('.legend line')]);
           const drawn = looks([...chart(title).querySelectorAll('path[stroke-width=\"2\"]')]);
           say(title, new Set(told).size, told.join() === drawn.join(), told[0] + ',', told[8]);
         }",
    );
    let told = "9 true var(--s0) null, var(--s0) 6 3";
    assert_eq!(said, [format!("Held-out score {told}"), format!("Mean reward {told}")]);
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn scores_keep_their_digits_beside_2048_and_what_is_trained_on_is_not_called_held_out() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    written(&dir.join("board"), 2);
    let member = r#"[{"program":"p","source":"pass","step":1,"style":"snake","mean_score":800,"games":5}]"#;
    std::fs::write(dir.join("board/hall_of_fame.json"), member).unwrap();
    std::fs::create_dir(dir.join("own")).unwrap();
    std::fs::write(dir.join("own/metrics.jsonl"), "{\"step\":1,\"game/mean_score\":-0.25}\n").unwrap();
    done(dir, &["report", "board", "own"]);
    let said = in_browser(
        &dir.join("report.html"),
        "say([...document.querySelectorAll('tr')].find((one) => one.textContent.startsWith('training score')).textContent);
         say(document.querySelector('.hall summary').textContent);",
    );
    let best = "1. mean score 800 in 5 training games, style snake, step 1";
    assert_eq!(said, ["training score900900-0.250-0.250", best]);
    std::fs::create_dir(dir.join("tasks")).unwrap();
    let evaluated = r#"{"step":0,"eval_tasks/held_out":0,"eval_tasks/frac_passed":0.5,"eval_tasks/frac_tests":0.5}"#;
    let metrics = format!("{evaluated}\n{{\"step\":1,\"tasks/frac_tests\":0.5}}\n");
    std::fs::write(dir.join("tasks/metrics.jsonl"), metrics).unwrap();
    done(dir, &["report", "tasks"]);
    let said = in_browser(
        &dir.join("tasks/report.html"),
        "say(document.querySelector('.tile span').textContent, '|', document.querySelector('figure h3').textContent);",
    );
    assert_eq!(said, ["evaluated tasks solved | Evaluated tasks solved"]);
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn evaluations_that_sampled_at_two_temperatures_have_no_ratio() {
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    std::fs::create_dir(&run).unwrap();
    for (last, expected) in [("0.7", "100 → 200held-out score, × 2.00"), ("1.0", "100 → 200held-out score")] {
        let evaluated = |step, score, temperature| {
            format!("{{\"step\":{step},\"eval_game/mean_score\":{score},\"eval_temperature\":{temperature}}}\n")
        };
        std::fs::write(run.join("metrics.jsonl"), evaluated(0, 100, "0.7") + &evaluated(1, 200, last)).unwrap();
        done(scratch.path(), &["report", "run"]);
        let said = in_browser(&run.join("report.html"), "say(document.querySelector('.tile').textContent);");
        assert_eq!(said, [expected]);
    }
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn of_what_is_a_point_no_interval_is_told_and_of_a_group_that_is_left_out_that_it_is() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    // All are cut, and left out for it.
    let cut = ["train", "--output-dir", "run", "--steps", "1", "--groups", "1", "--num-generations", "8", "--set"];
    let more =
        ["grpo.mask_truncated_completions=true", "--max-completion-length", "4", "--set", "train.eval_samples=0"];
    done(dir, &[&cut[..], &more, &["--set", "train.preflight=false"]].concat());
    let member = |high: u32| {
        let [scores, ends] =
            [r#""mean_score":8,"held_out_mean_score":8,"held_out_games":8,"report_mean_score":7"#, "report_mean_score"];
        let report = format!(r#""report_games":32,"{ends}_low":7,"{ends}_high":{high}"#);
        format!(r#"{{"program":"p","source":"pass","step":1,"style":"snake",{scores},{report}}}"#)
    };
    std::fs::write(dir.join("run/hall_of_fame.json"), format!("[{},{}]", member(7), member(9))).unwrap();
    let evaluated = |step, score| format!("{{\"step\":{step},\"eval_game/mean_score\":{score}}}\n");
    let step = std::fs::read_to_string(dir.join("run/metrics.jsonl")).unwrap();
    std::fs::write(dir.join("run/metrics.jsonl"), [evaluated(0, 50), step, evaluated(1, -700)].concat()).unwrap();
    done(dir, &["report", "run"]);
    let said = in_browser(
        &dir.join("run/report.html"),
        "say(document.querySelector('.tile').textContent);
         document.querySelectorAll('.hall summary').forEach((one) => say(one.textContent.split(' that it was not')[0].split('; ')[1]));
         say(share(0.0002), share(0.002), share(0));
         const chart = [...document.querySelectorAll('figure')].find((one) => one.textContent.includes('Distribution of scores'));
         chart.querySelector('svg').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
         await soon();
         say(chart.textContent.match(/median 0 · .*best 0/)[0]);
         document.querySelector('#groups').open = true;
         await soon();
         say(document.querySelector('#groups-view .soft').textContent);",
    );
    let expected = [
        "50 → -700held-out score",
        "mean score 7 in 32 others",
        "mean score 7 (7 to 9) in 32 others",
        "&lt;0.1 % 0.2 % 0 %",
        "median 0 · 25 to 75 %: 0 to 0 · 10 to 90 %: 0 to 0 · best 0",
        "No completion of this group is in the update.",
    ];
    assert_eq!(said, expected);
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn the_page_names_a_run_that_alone_has_a_figure_and_says_what_it_smooths_and_its_best_tile() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    written(&dir.join("short"), 8);
    written(&dir.join("long"), 9);
    let member =
        r#"[{"program":"p","source":"pass","step":1,"style":"snake","mean_score":800,"games":5,"max_tile":128}]"#;
    std::fs::write(dir.join("short/hall_of_fame.json"), member).unwrap();
    std::fs::create_dir(dir.join("tasks")).unwrap();
    std::fs::write(dir.join("tasks/metrics.jsonl"), "{\"step\":1,\"tasks/frac_tests\":0.5}\n").unwrap();
    let smoothed = "say(document.querySelector('.smoother [role=status]').textContent);";
    done(dir, &["report", "short"]);
    let tile = "say([...document.querySelectorAll('.tile')].pop().textContent);";
    let said = in_browser(&dir.join("short/report.html"), &format!("{smoothed} {tile}"));
    assert_eq!(said, ["every step: fewer than 9 are not smoothed", "128best tile"]);
    done(dir, &["report", "long", "tasks"]);
    let legend = "const chart = [...document.querySelectorAll('figure')].find((one) => one.querySelector('h3').textContent === 'Tests passed');
         say(chart.querySelector('.legend').textContent);";
    let said = in_browser(&dir.join("report.html"), &format!("{smoothed} {legend}"));
    assert_eq!(said, ["means over 5 steps", "tasks"]);
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn of_conversations_the_page_has_a_curve_of_the_programs_that_later_turns_mend() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    std::fs::create_dir(dir.join("run")).unwrap();
    let step = |step: u32, turns: &str| format!("{{\"step\":{step},\"tasks/frac_tests\":0.5{turns}}}\n");
    let titles = |metrics: String| {
        std::fs::write(dir.join("run/metrics.jsonl"), metrics).unwrap();
        done(dir, &["report", "run"]);
        in_browser(
            &dir.join("run/report.html"),
            "const titles = [...document.querySelectorAll('figure h3')].map((one) => one.textContent).filter((one) => /turn|Repair/.test(one));
             say(titles.length, 'titles', ...titles);",
        )
    };
    let turns =
        |fixed: f64| format!(",\"turns/succeeded/1\":0.0,\"turns/succeeded/2\":{fixed},\"repair/fixed\":{fixed}");
    assert_eq!(titles(step(1, &turns(0.25)) + &step(2, &turns(0.75))), ["2 titles First turns that succeed Repairs"]);
    assert_eq!(titles(step(1, "") + &step(2, "")), ["0 titles"]);
}

#[test]
#[ignore = "needs Chromium; `make page` runs it"]
fn a_page_that_is_followed_keeps_the_program_that_was_chosen_and_says_when_its_server_is_back() {
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    std::fs::create_dir_all(run.join("completions")).unwrap();
    std::fs::write(run.join("metrics.jsonl"), "{\"step\":1,\"tasks/frac_tests\":0.2}\n").unwrap();
    let attempt = |task: &str| {
        let tests = serde_json::json!({"tests": 5, "passed": 1, "answered": 5, "constant": 0});
        let game = serde_json::json!({"score": 0.2, "ending": "wrong_answer", "tests": tests});
        serde_json::json!({"step": 1, "style": task, "completion": "pass", "verdict": "wrong_answer", "games": [game]})
    };
    let lines = ["add", "sub"].map(|task| format!("{}\n", attempt(task)));
    std::fs::write(run.join("completions/step_00001.jsonl"), lines.concat()).unwrap();
    done(scratch.path(), &["report", "run"]);
    let said = in_browser(
        &run.join("report.html"),
        "const chosen = () => document.querySelector('#attempts .beside h3').textContent;
         document.querySelectorAll('#attempts tr button')[1].click();
         const before = chosen(), renewed = JSON.parse(document.getElementById('runs').textContent), [run] = renewed.runs;
         run.samples.unshift({ ...run.samples[0], step: 2 }); run.scores.push({ ...run.scores[0], step: 2 });
         build({ ...renewed, follow: true });
         say('kept', before, chosen());
         const told = () => document.getElementById('following').textContent.split(':')[0];
         window.fetch = async () => { throw new Error('gone'); }; await poll(''); say(told());
         window.fetch = async () => ({ text: async () => '' }); await poll(''); say(told());",
    );
    assert_eq!(said, ["kept sub sub", "The server is gone", "Following"]);
}
