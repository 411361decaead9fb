use super::*;
use crate::corpus::{HEADER, Style, vocabulary};
use crate::environment::Environment;
use crate::environment::game2048::prompts::{PromptFile, briefing};
use crate::environment::game2048::{Board, Move};
use crate::fixture::CHATML;
use crate::seed::Seed;

fn words() -> Briefing {
    briefing().unwrap()
}

pub(super) fn builtin() -> Tokenizer {
    let options =
        vocabulary::VocabularyOptions { size: 200, token_chars: 12, prompt_tokens: builtin_tokens().unwrap() };
    let inner = vocabulary::train(["def strategy(board):\n    return \"W\"\n"].into_iter(), &options).unwrap();
    Tokenizer::from_parts(inner, vec![1], None)
}

fn with_template(template: Option<&str>) -> Tokenizer {
    let options = vocabulary::VocabularyOptions { size: 100, token_chars: 1, prompt_tokens: vec![] };
    let inner = vocabulary::train([""].into_iter(), &options).unwrap();
    Tokenizer::from_parts(inner, vec![1], template.map(str::to_owned))
}

#[test]
fn every_style_of_the_corpus_has_a_prompt_and_the_other_way_round() {
    let prompts: Vec<String> = styles::prompts().unwrap().into_iter().map(|prompt| prompt.style).collect();
    assert_eq!(prompts, Style::ALL.map(Style::name));
    assert_eq!(BUILTIN_PREFILL, HEADER);
}

#[test]
fn the_built_in_model_is_asked_for_a_task_in_one_of_its_styles() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("tasks.jsonl");
    let asked = |name: &str, entry: &str| {
        format!(
            r#"{{"id": "{name}", "prompt": "Play.", "entry_point": "{entry}", "inputs": ["([],)"], "reference": "def {entry}(board): return 'W'"}}"#
        )
    };
    let written = |lines: &[String]| {
        std::fs::write(&file, lines.join("\n")).unwrap();
        Environment::open(file.to_str().unwrap()).unwrap()
    };
    let tasks = written(&[asked("one", "strategy"), asked("two", "strategy")]);
    assert!(tasks.suits_builtin_model());
    assert!(!written(&[asked("one", "strategy"), asked("two", "other")]).suits_builtin_model());

    let set = PromptSet::load(PromptKind::Builtin, &builtin(), &tasks.briefing()).unwrap();
    let styles = styles::briefing().unwrap().requests;
    for (number, (prompt, style)) in set.prompts().iter().zip(&styles).enumerate() {
        assert_eq!((prompt.task, prompt.style.as_str()), (Some(number as u32), ["one", "two"][number]));
        assert_eq!(prompt.text, format!("<|program|><|style:{}|>def strategy(board", style.style));
    }
    assert_eq!(set.prompts().len(), 2);
}

#[test]
fn the_built_in_model_reads_the_style_as_one_token() {
    let tokenizer = builtin();
    assert_eq!(PromptKind::of(&tokenizer, false), PromptKind::Builtin);
    let set = PromptSet::load(PromptKind::Builtin, &tokenizer, &words()).unwrap();
    let heads: std::collections::BTreeSet<_> = set.prompts().iter().map(|prompt| prompt.ids[..2].to_vec()).collect();
    assert_eq!(heads.len(), Style::ALL.len());
    for prompt in set.prompts() {
        assert_eq!(prompt.text, format!("<|program|><|style:{}|>def strategy(board", prompt.style));
        assert_eq!(prompt.program_text("):\n    return \"W\"\n"), "def strategy(board):\n    return \"W\"\n");
        assert_eq!(tokenizer.decode(&prompt.ids), HEADER);
    }
}

#[test]
fn a_chat_shows_rules_example_and_request_and_ends_in_the_open_function() {
    let set = PromptSet::load(PromptKind::Chat, &with_template(Some(CHATML)), &words()).unwrap();
    for prompt in set.prompts() {
        assert!(prompt.text.starts_with("<|im_start|>system\nYou write players"), "{}", prompt.text);
        assert!(prompt.text.ends_with("<|im_start|>assistant\n```python\ndef strategy(board):"), "{}", prompt.text);
        assert_eq!(prompt.text.matches("<|im_start|>user").count(), 2);
        assert_eq!(prompt.prefill, "def strategy(board):");
    }
}

#[test]
fn a_template_without_a_system_role_gets_its_words_in_the_first_request() {
    let template = "{% for message in messages %}{% if message.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}[{{ message.role }}] {{ message.content.strip() }} {% endfor %}[assistant] ";
    let set = PromptSet::load(PromptKind::Chat, &with_template(Some(template)), &words()).unwrap();
    assert!(set.prompts()[0].text.starts_with("[user] You write players"));
}

#[test]
fn a_template_that_passes_over_the_system_turn_gets_its_words_in_the_first_request() {
    // As that of Phi-3 medium.
    let template = "{% for message in messages %}{% if message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '<|end|>\n<|assistant|>\n' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + '<|end|>\n' }}{% endif %}{% endfor %}";
    let text_of = |template: &str| {
        let set = PromptSet::load(PromptKind::Chat, &with_template(Some(template)), &words()).unwrap();
        set.prompts()[0].text.clone()
    };
    let text = text_of(template);
    assert!(text.starts_with("<|user|>\nYou write players"), "{text}");
    assert_eq!(text.matches(words().system.trim()).count(), 1);
    // A template that writes the system's words otherwise has them.
    let loud = text_of("{% for message in messages %}[{{ message.role }}] {{ message.content | upper }} {% endfor %}");
    assert!(loud.starts_with("[system] YOU WRITE PLAYERS"), "{loud}");
}

#[test]
fn thinking_that_a_template_opens_whatever_it_is_told_is_closed_before_the_function() {
    // As those of DeepSeek's R1 and its distilled models.
    let template = "{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}{% if add_generation_prompt %}[assistant]<think>\n{% endif %}";
    let set = PromptSet::load(PromptKind::Chat, &with_template(Some(template)), &words()).unwrap();
    let text = &set.prompts()[0].text;
    assert!(text.ends_with("[assistant]<think>\n\n</think>\n\n```python\ndef strategy(board):"), "{text}");
}

#[test]
fn a_template_that_fails_is_named_with_the_way_out() {
    let error = PromptSet::load(PromptKind::Chat, &with_template(Some("{{ raise_exception('never') }}")), &words())
        .unwrap_err();
    assert!(matches!(error, PromptError::Template { .. }) && error.to_string().contains("never"), "{error}");
}

#[test]
fn a_program_ends_at_a_fence_at_the_start_of_a_line_and_at_no_other_backticks() {
    let tokenizer = with_template(Some(CHATML));
    let set = PromptSet::load(PromptKind::Chat, &tokenizer, &words()).unwrap();
    let config = crate::config::Config::preset("llm").unwrap().rollout;
    let ends_after = |text: &str| {
        let mut row = crate::decoding::Row::one(&set.prompts()[0], crate::CompletionId::new(Seed::root(1), 0), &config);
        let ids = tokenizer.encode_plain(text);
        assert!(ids.len() > 3, "each letter is a token");
        let end = ids.iter().position(|id| {
            row.push(*id, 0.0, &tokenizer);
            row.ended
        });
        end.map(|end| tokenizer.decode(&ids[..=end]))
    };
    let written = "\n    \"\"\"Shown:\n    ```\n    f()\n    ```\n    \"\"\"\n    s = '```'\n    return s\n```";
    assert_eq!(ends_after(&format!("{written}\nIt plays.")).as_deref(), Some(written));
    assert_eq!(ends_after("```\nNothing.").as_deref(), Some("```"), "no program at all");
    assert_eq!(ends_after("\n    return '```'\n"), None);
}

/// The tokenizer of [`with_template`] with a post-processor that puts `<|pad|>` before a text and `<|end|>` after it.
fn with_ends(template: Option<&str>) -> Tokenizer {
    let options = vocabulary::VocabularyOptions { size: 100, token_chars: 1, prompt_tokens: vec![] };
    let inner = vocabulary::train([""].into_iter(), &options).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&inner.to_string(false).unwrap()).unwrap();
    let special = |token: &str| serde_json::json!({ "SpecialToken": { "id": token, "type_id": 0 } });
    let text = serde_json::json!({ "Sequence": { "id": "A", "type_id": 0 } });
    let known = |token: &str| serde_json::json!({ "id": token, "ids": [inner.token_to_id(token)], "tokens": [token] });
    json["post_processor"] = serde_json::json!({
        "type": "TemplateProcessing", "pair": [text],
        "single": [special(vocabulary::PAD), text, special(vocabulary::END)],
        "special_tokens": { vocabulary::PAD: known(vocabulary::PAD), vocabulary::END: known(vocabulary::END) },
    });
    let config = serde_json::json!({ "bos_token": vocabulary::PAD, "chat_template": template });
    Tokenizer::from_json(&json.to_string(), Some(&config.to_string()), None).unwrap()
}

#[test]
fn a_plain_prompt_begins_with_the_token_that_begins_a_sequence_once_and_has_no_end() {
    let ids = |kind: PromptKind, tokenizer: &Tokenizer, briefing: &Briefing| {
        PromptSet::load(kind, tokenizer, briefing).unwrap().prompts()[0].ids.clone()
    };
    let tokenizer = with_ends(Some(&format!("{{{{ bos_token }}}}{CHATML}")));
    let [begin, end] = [vocabulary::PAD, vocabulary::END].map(|token| tokenizer.token_id(token).unwrap());
    let plain = ids(PromptKind::Raw, &with_template(None), &words());
    assert!(!plain.contains(&begin), "this tokenizer adds none");
    let opened = ids(PromptKind::Raw, &tokenizer, &words());
    assert_eq!(opened, [&[begin], plain.as_slice()].concat());
    let written = Briefing { system: format!("{}{}", vocabulary::PAD, words().system), ..words() };
    assert_eq!(ids(PromptKind::Raw, &tokenizer, &written), opened, "the text has written it");
    let chat = ids(PromptKind::Chat, &tokenizer, &words());
    assert_eq!(
        (chat[0], chat.iter().filter(|id| [begin, end].contains(id)).count()),
        (begin, 1),
        "the template has it"
    );
}

#[test]
fn a_template_that_asks_the_same_whatever_is_asked_is_refused() {
    let system_only = "{{ messages[0].content }}";
    for deaf in ["", "<|im_start|>assistant\n", system_only] {
        let error = PromptSet::load(PromptKind::Chat, &with_template(Some(deaf)), &words()).unwrap_err().to_string();
        assert!(error.starts_with("chat template: the text is the same whatever is asked for; expected "), "{error}");
    }
    let escaping = "{{ messages[-1].content | upper | replace(' ', '&nbsp;') }}";
    let set = PromptSet::load(PromptKind::Chat, &with_template(Some(escaping)), &words()).unwrap();
    assert!(set.prompts()[0].text.contains("&nbsp;"));
}

#[test]
fn tags_that_mark_the_text_of_the_assistant_change_nothing() {
    let messages = [Message::new("user", "a"), Message::new("assistant", "b {% generation %}")];
    let rendered = |source: &str| ChatTemplate::new(source, None, None)?.render_as_given(&messages, false);
    let marked = "{% for m in messages %}\n  {%- if m.role == 'assistant' %}\n  {% generation %}\n  \
                  {%- set words = m.content %}\n[{{ words }}]  {%- endgeneration -%}\n  {% endif %}\n{% endfor %}generation %}";
    let plain = marked.replace("{% generation %}", "{% if true %}").replace("endgeneration", "endif");
    assert_eq!(rendered(marked).unwrap(), rendered(&plain).unwrap());
    assert!(rendered(marked).unwrap().contains("[b {% generation %}]"));
    let tight = "{{ messages[1].role }} {%-\n generation -%} x {%-endgeneration+%} y";
    assert_eq!(rendered(tight).unwrap(), "assistantx y");
}

#[test]
fn an_error_of_a_template_is_one_line_that_names_the_line_of_the_template() {
    let error = |source: &str| {
        let template = ChatTemplate::new(source, None, None);
        template.and_then(|template| template.render(&[])).unwrap_err().to_string()
    };
    let unknown = error("a\nb\n{% generation %}{% assistant %}\nc");
    assert_eq!(unknown, "chat template: line 3: syntax error: unknown statement assistant");
    assert_eq!(error("\n{{ raise_exception('no\ntools') }}"), "chat template: line 2: invalid operation: no tools");
}

#[test]
fn values_have_the_kinds_and_methods_of_python() {
    let written = |source: &str| ChatTemplate::new(source, None, None).unwrap().render(&[]).unwrap();
    // As Qwen3-Coder's.
    assert_eq!(written("{% if tools is iterable and tools | length > 0 %}tools{% else %}none{% endif %}"), "none");
    for (value, kinds) in [
        ("none", ""),
        ("1", ""),
        ("[1]", "iterable sequence "),
        ("{'a': 1}", "iterable sequence "),
        ("'ab'", "iterable sequence "),
        ("raise_exception", "callable "),
        ("missing", "iterable sequence callable "),
    ] {
        let of = |kind: &str| format!("{{% if {value} is {kind} %}}{kind} {{% endif %}}");
        assert_eq!(written(&["iterable", "sequence", "callable"].map(of).concat()), kinds, "{value}");
    }
    let cut = "{{ 'a.b.c'.rsplit('.', 1) | join(' ') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }}";
    assert_eq!(written(cut), "a.b c bc ab");
    assert_eq!(written("{{ '\u{e9}=x'.index('=') }}"), "1");
    assert_eq!(written("{{ '\u{e9}\u{1f600}' | tojson(ensure_ascii=True) }}"), r#""\u00e9\ud83d\ude00""#);
    assert_eq!(written("{{ '\u{e9}\u{1f600}' | tojson(ensure_ascii=False) }}"), "\"\u{e9}\u{1f600}\"");
}

#[test]
fn a_template_without_an_end_is_stopped() {
    let endless = "{% for a in range(100000) %}{% for b in range(100000) %}{% set c = a * b %}{% endfor %}{% endfor %}";
    let template = ChatTemplate::new(endless, None, None).unwrap();
    let error = template.render(&[]).unwrap_err();
    assert!(error.to_string().contains("fuel"), "{error}");
}

#[test]
fn a_base_model_is_refused_as_a_chat_and_served_as_text() {
    let base = with_template(None);
    let error = PromptSet::load(PromptKind::Chat, &base, &words()).unwrap_err().to_string();
    assert!(error.contains("base model"), "{error}");
    let set = PromptSet::load(PromptKind::of(&base, true), &base, &words()).unwrap();
    assert!(set.prompts()[0].text.ends_with("\n\n```python\ndef strategy(board):"));
}

#[test]
fn the_rules_name_the_letters_of_the_environment() {
    let system = words().system;
    let mut centre = [[0; 4]; 4];
    centre[1][1] = 2;
    let board = Board::from_cells(&centre).unwrap();
    for (word, row, column) in [("up", 0, 1), ("left", 1, 0), ("down", 3, 1), ("right", 1, 3)] {
        let pushed = |direction: &&Move| board.slide(**direction).0.cells()[row][column] == 2;
        let direction = Move::ALL.iter().find(pushed).unwrap();
        assert!(system.contains(&format!("\"{}\" ({word})", direction.letter())), "{word}: {direction:?}");
    }
}

#[test]
fn the_example_is_python() {
    let program = words().requests[0].example.clone().unwrap().program;
    assert!(ruff_python_parser::parse_module(&program).is_ok());
    assert!(program.starts_with(&words().requests[0].opening));
}

#[test]
fn drawing_is_balanced_and_repeatable() {
    let set = PromptSet::load(PromptKind::Builtin, &builtin(), &words()).unwrap();
    let drawn = set.draw(Seed::root(3), 20);
    assert_eq!(drawn, set.draw(Seed::root(3), 20));
    assert_ne!(drawn, set.draw(Seed::root(4), 20));
    for prompt in set.prompts() {
        let times = drawn.iter().filter(|other| other.id == prompt.id).count();
        assert!((2..=3).contains(&times), "{} came {times} times", prompt.style);
    }
}

#[test]
fn a_prompt_file_out_of_shape_says_what_is_missing() {
    let broken = [
        ("x.md", "words", "front matter"),
        ("x.md", "---\nasks: y\n---\nwords", "style"),
        ("x.md", "---\nstyle: y\nasks: z\n---\nwords", "name of the file"),
        ("x.md", "---\nstyle: x\nasks: z\n---\n", "expected words"),
    ];
    for (name, text, expected) in broken {
        let error = PromptFile::parse(name, text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("prompts/x.md"), "{error}");
    }
}

#[derive(serde::Deserialize)]
struct Rendering {
    template: String,
    bos_token: Option<String>,
    eos_token: Option<String>,
    messages: Vec<Turn>,
    add_generation_prompt: bool,
    expected: Option<String>,
    error: Option<String>,
}

#[derive(serde::Deserialize)]
struct Turn {
    role: String,
    content: String,
}

#[test]
fn templates_render_as_in_transformers() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/goldens/chat");
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    let renderings: Vec<Rendering> = serde_json::from_str(&read("expected.json")).unwrap();
    assert!(renderings.len() >= 20);
    for Rendering { template: name, bos_token, eos_token, messages, add_generation_prompt, expected, error } in
        renderings
    {
        let template = ChatTemplate::new(&read(&name), bos_token.as_deref(), eos_token.as_deref()).unwrap();
        let role = |role: &str| ["system", "user", "assistant"].into_iter().find(|known| *known == role).unwrap();
        let turns = messages.into_iter().map(|turn| Message { role: role(&turn.role), content: turn.content });
        let found = template.render_as_given(&turns.collect::<Vec<_>>(), add_generation_prompt);
        match (expected, error) {
            (Some(expected), _) => assert_eq!(found.unwrap(), expected, "{name}"),
            (None, error) => {
                let (found, error) = (found.unwrap_err().to_string(), error.unwrap());
                assert!(found.contains(&error), "{name}: {found}, expected {error}");
            }
        }
    }
}

#[test]
fn a_date_that_cannot_be_told_is_refused_by_its_format() {
    let template = ChatTemplate::new("{{ strftime_now('%d %Q') }}", None, None).unwrap();
    let error = template.render(&[]).unwrap_err().to_string();
    assert!(error.contains("%d %Q"), "{error}");
}

#[test]
fn honeypots_are_trained_on_and_never_evaluated() {
    let request = |style: &str, honeypot, held_out| Request {
        style: style.to_owned(),
        honeypot,
        held_out,
        ..words().requests[0].clone()
    };
    let of = |requests: Vec<Request>| {
        let briefing = Briefing { requests, ..words() };
        let prompts = PromptSet::load(PromptKind::Raw, &builtin(), &briefing).unwrap();
        let names =
            |prompts: &[Prompt]| prompts.iter().map(|prompt| prompt.style.clone()).collect::<Vec<_>>().join(" ");
        (names(prompts.prompts()), names(prompts.held_out()))
    };
    let (add, trap) = (|held_out| request("add", false, held_out), || request("trap", true, false));
    assert_eq!(of(vec![add(false), trap()]), ("add trap".to_owned(), "add".to_owned()));
    assert_eq!(of(vec![add(true), trap()]), ("trap".to_owned(), "add".to_owned()));
    assert_eq!(of(vec![add(false)]), ("add".to_owned(), "add".to_owned()));
}
