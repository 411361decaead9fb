//! Runs of which tasks, games or models have changed since they began.

use super::super::inputs::contents;
use super::*;

#[test]
fn a_run_whose_tasks_have_changed_is_refused_and_the_file_is_named() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(&root.path().join("run"));
    let (path, env) = (config.train.output_dir.clone(), root.path().join("env"));
    fs::create_dir(&env).unwrap();
    fs::write(env.join("env.toml"), "tasks = \"tasks.jsonl\"\n").unwrap();
    fs::write(env.join("tasks.jsonl"), "{}\n").unwrap();
    config.environment.env = env.display().to_string();
    let dir = RunDir::create(&config, &[]).unwrap();
    dir.write_whole_dir("checkpoint-1", state).unwrap();
    drop(dir);
    fs::write(env.join("notes.md"), "no part of the environment").unwrap();
    let reopened = RunDir::reopen(&path, &config).unwrap();
    reopened.dir.record(&config).unwrap();
    drop(reopened);
    fs::write(env.join("tasks.jsonl"), "{}\n{}\n").unwrap();
    for refused in [RunDir::check_settings(&path, &config).map(drop), RunDir::reopen(&path, &config).map(drop)] {
        let refused = refused.unwrap_err();
        let message = refused.to_string();
        assert!(refused.is_user() && !message.contains("env.toml") && !message.contains("notes.md"), "{message}");
        let named = message.contains("contents of tasks.jsonl: \"1 line, ") && message.contains("\" -> \"2 lines, ");
        assert!(named, "{message}");
    }
    // An earlier version recorded nothing of the files.
    let written = fs::read_to_string(path.join(CONFIG)).unwrap();
    let before: Vec<&str> = written.lines().filter(|line| !line.starts_with("\"contents of ")).collect();
    assert_eq!(written.lines().count() - before.len(), 2, "{written}");
    fs::write(path.join(CONFIG), before.join("\n")).unwrap();
    drop(RunDir::reopen(&path, &config).unwrap());
    // What an evaluator begins with lies beside it, a game does not read that, and 2048 has no file.
    for (name, text) in [
        ("evaluator.py", "def evaluate(program_path):\n    return 1.0\n"),
        ("initial_program.py", "pass\n"),
        ("game.py", "pass\n"),
    ] {
        fs::write(root.path().join(name), text).unwrap();
    }
    let of = |env: &str| contents(root.path().join(env).to_str().unwrap()).unwrap().len();
    assert_eq!((of("evaluator.py"), of("game.py"), contents("2048").unwrap().len()), (2, 1, 0));
}

#[test]
fn a_run_whose_tasks_are_named_by_a_link_goes_on_by_either_name() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(&root.path().join("run"));
    let path = config.train.output_dir.clone();
    let [file, link] = ["tasks-v1.jsonl", "tasks.jsonl"].map(|name| root.path().join(name));
    fs::write(&file, "{}\n").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    config.environment.env = link.display().to_string();
    let dir = RunDir::create(&config, &[]).unwrap();
    dir.write_whole_dir("checkpoint-1", state).unwrap();
    drop(dir);
    // Without --env the file is that of the recorded configuration.
    for config in [recorded(&path).unwrap(), config] {
        drop(RunDir::reopen(&path, &config).unwrap());
    }
    let changed = |env: &Path| changed_environment(&path, env.to_str().unwrap()).unwrap();
    let other = root.path().join("tasks-v2.jsonl");
    fs::write(&other, "{}\n").unwrap();
    assert!(changed(&other).is_empty() && changed(&root.path().join("gone.jsonl")).is_empty(), "a copy; no file");
    fs::write(&other, "{}\n{}\n").unwrap();
    assert_eq!(changed(&other).len(), 2, "another one is here, and the one of the run is not");
    fs::rename(&other, &file).unwrap();
    assert!(matches!(RunDir::reopen(&path, &recorded(&path).unwrap()), Err(RunDirError::Changed { .. })));
    assert!(matches!(&changed(&file)[..], [one] if one.starts_with("contents of tasks-v1.jsonl: \"1 line, ")));
}

#[test]
fn a_run_whose_model_has_changed_is_refused_and_one_whose_model_has_moved_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let [model, moved] = ["model", "moved"].map(|name| home.join(name));
    fs::create_dir(&model).unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors", "README.md"] {
        fs::write(model.join(name), name).unwrap();
    }
    let mut adapters = config(&home.join("adapters"));
    adapters.model.model = model.display().to_string();
    adapters.model.lora_r = 8;
    let mut full = Config { train: config(&home.join("full")).train, ..adapters.clone() };
    (full.model.lora_r, full.grpo.beta) = (0, 0.0);
    for config in [&adapters, &full] {
        RunDir::create(config, &[]).unwrap().write_whole_dir("checkpoint-1", state).unwrap();
    }
    let resumed = |config: &Config| RunDir::reopen(&config.train.output_dir, config);
    fs::write(model.join("README.md"), "no part of the model").unwrap();
    drop(resumed(&adapters).unwrap());
    fs::rename(&model, &moved).unwrap();
    for config in [&mut adapters, &mut full] {
        drop(resumed(config).unwrap());
        config.model.model = moved.display().to_string();
        resumed(config).unwrap().dir.record(config).unwrap();
        assert_eq!(recorded(&config.train.output_dir).unwrap().model.model, config.model.model);
    }
    let refused = |config: &Config, name: &str| {
        let error = resumed(config).unwrap_err();
        let told = error.to_string();
        let named = told.contains(&format!("has changed since the run began: model file {name}: "));
        assert!(error.is_user() && named, "{told}");
    };
    fs::write(moved.join("chat_template.jinja"), "{{ messages }}").unwrap();
    refused(&adapters, "chat_template.jinja");
    refused(&full, "chat_template.jinja");
    fs::remove_file(moved.join("chat_template.jinja")).unwrap();
    // Weights that are all trained are those of the checkpoint.
    fs::write(moved.join("model.safetensors"), "others").unwrap();
    refused(&adapters, "model.safetensors");
    let said = changed_model(&adapters.train.output_dir, &adapters.model).unwrap().unwrap();
    let (one, way) = said.split_once("; ").unwrap();
    assert!(one.starts_with("model file model.safetensors: ") && way.starts_with("put it back"), "{said}");
    assert_eq!(said.matches("model file ").count(), 1, "{said}");
    drop(resumed(&full).unwrap());
    fs::rename(&moved, &model).unwrap();
    full.model.model = model.display().to_string();
    assert!(matches!(resumed(&full), Err(RunDirError::Differs { .. })), "another model at another place");
}

#[test]
fn a_model_in_one_file_is_the_same_by_another_name() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(&root.path().join("run"));
    config.model.lora_r = 8;
    let named = |name: &str| root.path().join(name).display().to_string();
    config.model.model = named("q8.gguf");
    fs::write(&config.model.model, "weights").unwrap();
    RunDir::create(&config, &[]).unwrap().write_whole_dir("checkpoint-1", state).unwrap();
    fs::rename(named("q8.gguf"), named("model.gguf")).unwrap();
    config.model.model = named("model.gguf");
    drop(RunDir::reopen(&config.train.output_dir, &config).unwrap());
    fs::write(&config.model.model, "others").unwrap();
    assert!(matches!(RunDir::reopen(&config.train.output_dir, &config), Err(RunDirError::Differs { .. })));
}

#[test]
fn a_model_that_ends_texts_otherwise_is_told_and_one_of_the_hub_is_told_with_its_commit() {
    let root = tempfile::tempdir().unwrap();
    let (model, mut config) = (root.path().join("model"), config(&root.path().join("run")));
    config.model.model = model.display().to_string();
    config.model.lora_r = 8;
    fs::create_dir(&model).unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors", "generation_config.json"] {
        fs::write(model.join(name), name).unwrap();
    }
    let path = config.train.output_dir.clone();
    RunDir::create(&config, &[]).unwrap().write_whole_dir("checkpoint-1", state).unwrap();
    let notices = |config: &Config| {
        let notices = RunDir::reopen(&path, config).unwrap().notices;
        let about_model = |notice: &String| notice.starts_with("warning: the model ");
        notices.into_iter().filter(about_model).collect::<Vec<String>>()
    };
    assert!(notices(&config).is_empty());
    let changed = |config: &Config| changed_model(&path, &config.model).unwrap();
    assert_eq!(changed(&config), None);
    // As in a cache that another program has filled.
    fs::remove_file(model.join("generation_config.json")).unwrap();
    fs::write(model.join("special_tokens_map.json"), "{}").unwrap();
    for moved in [false, true] {
        if moved {
            config.model.model = root.path().join("moved").display().to_string();
            fs::rename(&model, &config.model.model).unwrap();
        }
        let told = notices(&config).concat();
        assert_eq!(changed(&config), None, "of little account, and no other model at this place");
        let parts = [
            "model file generation_config.json: \"22 bytes, ",
            " -> no file, model file special_tokens_map.json: no file",
        ];
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        assert_eq!(RunDir::check_settings(&path, &config).unwrap(), [told]);
    }
    fs::write(Path::new(&config.model.model).join("config.json"), "others").unwrap();
    fs::rename(&config.model.model, &model).unwrap();
    config.model.model = model.display().to_string();
    let refused = || RunDir::reopen(&path, &config).unwrap_err().to_string();
    assert!(refused().contains("; put it back as it was, or start a new run"), "{}", refused());
    let written = fs::read_to_string(path.join(CONFIG)).unwrap();
    fs::write(path.join(CONFIG), written.replace("[run]\n", "[run]\n\"model commit\" = \"0123abcd\"\n")).unwrap();
    assert!(refused().contains(" as it was (on the Hub: --revision 0123abcd), or start a new run"), "{}", refused());
    assert_eq!(model_commit(&path).unwrap().as_deref(), Some("0123abcd"));
}

#[test]
fn a_link_whose_name_alone_tells_what_it_leads_to_keeps_it() {
    let root = tempfile::tempdir().unwrap();
    let mut wanted = config(&root.path().join("run"));
    // As the cache of the Hub has it.
    let blob = root.path().join("0123abcd");
    fs::write(&blob, "{}\n").unwrap();
    let [model, tasks] = ["model.gguf", "tasks.jsonl"].map(|name| root.path().join(name).display().to_string());
    for link in [&model, &tasks] {
        std::os::unix::fs::symlink(&blob, link).unwrap();
    }
    (wanted.model.model, wanted.environment.env) = (model.clone(), tasks.clone());
    RunDir::create(&wanted, &[]).unwrap().write_whole_dir("checkpoint-1", state).unwrap();
    let path = &wanted.train.output_dir;
    let begun = recorded(path).unwrap();
    assert_eq!((begun.model.model, begun.environment.env), (model.clone(), tasks));
    drop(RunDir::reopen(path, &recorded(path).unwrap()).unwrap());
    // An earlier version recorded the file behind it.
    let written = fs::read_to_string(path.join(CONFIG)).unwrap();
    fs::write(path.join(CONFIG), written.replace(&model, &blob.display().to_string())).unwrap();
    drop(RunDir::reopen(path, &wanted).unwrap());
}

#[test]
fn an_adapter_that_is_the_reference_may_not_change_and_one_that_is_trained_may() {
    let root = tempfile::tempdir().unwrap();
    let [model, warm] = ["model", "warm"].map(|name| root.path().join(name));
    for dir in [&model, &warm] {
        fs::create_dir(dir).unwrap();
    }
    fs::write(model.join("config.json"), "{}").unwrap();
    let weights = warm.join("adapter_model.safetensors");
    for (name, beta) in [("trained", 0.0), ("reference", 0.02)] {
        let mut config = config(&root.path().join(name));
        (config.model.model, config.model.adapter) = (model.display().to_string(), warm.display().to_string());
        config.grpo.beta = beta;
        fs::write(&weights, "weights").unwrap();
        RunDir::create(&config, &[]).unwrap().write_whole_dir("checkpoint-1", state).unwrap();
        drop(RunDir::reopen(&config.train.output_dir, &config).unwrap());
        fs::write(&weights, "others").unwrap();
        let refused = RunDir::reopen(&config.train.output_dir, &config).err().map(|error| error.to_string());
        assert_eq!(refused.is_some(), beta > 0.0, "{refused:?}");
        assert!(refused.is_none_or(|told| told.contains("model file adapter_model.safetensors: ")));
        // Of a model that is not there, whatever loads it says more.
        let gone = root.path().join("gone");
        fs::rename(&model, &gone).unwrap();
        drop(RunDir::reopen(&config.train.output_dir, &config).unwrap());
        fs::rename(&gone, &model).unwrap();
        // An earlier version recorded nothing of an adapter.
        let path = config.train.output_dir.join(CONFIG);
        let written = fs::read_to_string(&path).unwrap();
        let before: Vec<&str> = written.lines().filter(|line| !line.starts_with("\"model file adapter_")).collect();
        fs::write(&path, before.join("\n")).unwrap();
        drop(RunDir::reopen(&config.train.output_dir, &config).unwrap());
    }
}
