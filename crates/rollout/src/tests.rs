use super::decoding::{Decoding, Start};
use super::device::DeviceDecoding;
use super::fixture::{END, builtin_sized_policy, prompts, rollout_config, small_language_model, tiny_policy};
use super::*;
use crate::seed::Purpose;

fn sample(policy: &Policy, prompts: &[Prompt], config: &RolloutConfig) -> Vec<Completion> {
    generate(policy, prompts, config, Seed::root(5), &mut |_| ()).unwrap().into_items()
}

fn ids(completions: &[Completion]) -> Vec<Vec<u32>> {
    completions.iter().map(|completion| completion.ids.clone()).collect()
}

/// The batch in one piece.
fn whole(asked: Assignment<'_>) -> Decoding<'_> {
    Decoding::begin(Start::Prompts(asked.policy.decoder().snapshot().unwrap()), asked).unwrap()
}

#[test]
fn a_completion_ends_at_its_end_token_or_at_the_longest_length() {
    let policy = tiny_policy();
    let completions = sample(&policy, &prompts(), &rollout_config(16, 12));
    assert_eq!(completions.len(), 32);
    for completion in &completions {
        let (last, before) = completion.ids.split_last().unwrap();
        assert!(!before.contains(&END));
        assert_eq!(completion.finish == FinishReason::Stop, *last == END);
        assert!(*last == END || completion.ids.len() == 12);
        assert_eq!(completion.logprobs.len(), completion.ids.len());
        let written = if *last == END { before } else { &completion.ids };
        let words: Vec<String> = written.iter().map(|id| format!("w{id}")).collect();
        assert_eq!(completion.text, words.join(" "));
    }
    let stopped = completions.iter().filter(|completion| completion.finish == FinishReason::Stop).count();
    assert!((1..32).contains(&stopped), "both ways of ending are covered: {stopped}");
}

#[test]
fn a_completion_ends_where_the_stop_text_of_its_prompt_appears() {
    let policy = tiny_policy();
    let prompts: Vec<Prompt> = prompts().into_iter().map(|prompt| Prompt { stop: Some("w9"), ..prompt }).collect();
    let completions = sample(&policy, &prompts, &rollout_config(16, 24));
    let at_stop: Vec<&Completion> = completions.iter().filter(|it| it.text.contains("w9")).collect();
    assert!(!at_stop.is_empty());
    for completion in at_stop {
        assert_eq!(completion.finish, FinishReason::Stop);
        assert_eq!(completion.ids.iter().position(|id| *id == 9), Some(completion.ids.len() - 1));
    }
}

#[test]
fn every_completion_is_handed_out_once_as_soon_as_it_ends() {
    let (policy, config) = (tiny_policy(), rollout_config(4, 12));
    let mut out: Vec<(usize, Completion, usize)> = Vec::new();
    let mut counted = 0;
    let groups = generate(&policy, &prompts(), &config, Seed::root(5), &mut |event| match event {
        RolloutEvent::Finished(completion) => out.push((completion.id.index, completion.clone(), counted)),
        RolloutEvent::Tokens { tokens, finished } => {
            counted = tokens;
            assert_eq!(finished, out.len());
        }
        RolloutEvent::Predicted => {}
        RolloutEvent::PartDone { .. } => panic!("8 rows are one piece"),
        RolloutEvent::Trouble(text) => panic!("{text}"),
    });
    let completions = groups.unwrap().into_items();
    assert_eq!(counted, completions.iter().map(|completion| completion.ids.len()).sum::<usize>());
    let lengths: Vec<usize> = out.iter().map(|(_, completion, _)| completion.ids.len()).collect();
    assert!(lengths.is_sorted(), "shorter ones come first: {lengths:?}");
    out.sort_by_key(|(index, ..)| *index);
    let in_order: Vec<Completion> = out.into_iter().map(|(_, completion, _)| completion).collect();
    assert_eq!(in_order, completions);
}

#[test]
fn company_and_compaction_do_not_change_a_completion() {
    let (policy, config, seed) = (tiny_policy(), rollout_config(8, 24), Seed::root(5));
    let run = |prompts: &[Prompt], idle_share| {
        let requests = GroupRequest::all(prompts, config.num_generations, seed);
        let asked = Assignment { policy: &policy, config: &config, requests: &requests };
        whole(asked).run(idle_share, &mut |_| ()).unwrap().completions
    };
    let usual = ids(&run(&prompts(), decoding::IDLE_SHARE));
    assert_eq!(usual, ids(&run(&prompts(), 2.0)), "never compacted");
    assert_eq!(usual, ids(&run(&prompts(), 0.0)), "compacted whenever a row ends");
    assert_eq!(usual[..8], ids(&run(&prompts()[..1], decoding::IDLE_SHARE)), "the first prompt alone");
}

#[test]
fn a_row_of_completions_is_the_same_however_it_is_cut_into_batches() {
    let (policy, config, seed) = (tiny_policy(), rollout_config(1, 24), Seed::root(5));
    let prompts: Vec<Prompt> = std::iter::repeat_n(prompts(), 4).flatten().collect();
    let requests = GroupRequest::all(&prompts, 1, seed);
    let cut = |batch: usize| -> Vec<Completion> {
        let sampled = |requests| super::sample(&policy, requests, &config, &mut |_| ()).unwrap();
        requests.chunks(batch).flat_map(sampled).collect()
    };
    let whole = ids(&cut(8));
    for batch in [1, 3, 5] {
        assert_eq!(ids(&cut(batch)), whole, "{batch} at a time");
    }
}

#[test]
fn the_same_seed_gives_the_same_completions_and_another_seed_others() {
    let (policy, config) = (tiny_policy(), rollout_config(4, 12));
    let other = generate(&policy, &prompts(), &config, Seed::root(6), &mut |_| ()).unwrap().into_items();
    let (first, again) = (sample(&policy, &prompts(), &config), sample(&policy, &prompts(), &config));
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_ne!(first[0].ids, first[1].ids, "members of a group differ");
}

#[test]
fn a_completion_that_cannot_fit_is_refused_with_what_would() {
    let error = generate(&tiny_policy(), &prompts(), &rollout_config(2, 60), Seed::root(5), &mut |_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("rollout.max_completion_length = 60") && text.contains("at most 58"), "{text}");
    let full = RolloutError::TooLong { prompt: 64, completion: 60, limit: 64 }.to_string();
    assert!(full.contains("a prompt of 64 tokens") && full.contains("the 64 positions of the model;"), "{full}");
    assert!(!full.contains("max_completion_length"), "shorter completions do not fit either: {full}");
}

#[test]
fn weights_that_are_no_numbers_are_named_not_sampled() {
    let policy = tiny_policy();
    let broken = policy.trainable().iter().map(|(name, var)| (name.clone(), (var.as_tensor() * f64::NAN).unwrap()));
    policy.set_trainable(&broken.collect()).unwrap();
    let error = generate(&policy, &prompts(), &rollout_config(2, 4), Seed::root(5), &mut |_| ()).unwrap_err();
    assert!(matches!(error, RolloutError::NotFinite { index: 0, token: 0 }), "{error}");
}

#[test]
#[ignore = "a measurement: cargo test --release measure_ -- --ignored --nocapture"]
fn measure_generation_of_the_builtin_shape() {
    let (policy, prompt) = (builtin_sized_policy(), prompts()[..1].to_vec());
    let eight: Vec<Prompt> = std::iter::repeat_n(prompt, 8).flatten().collect();
    for length in [100, 256] {
        let start = std::time::Instant::now();
        let seed = Seed::root(1).child(Purpose::Step, 0);
        let done = generate(&policy, &eight, &rollout_config(8, length), seed, &mut |_| ()).unwrap();
        let tokens: usize = done.items().iter().map(|completion| completion.ids.len()).sum();
        println!("64 rows, at most {length} tokens: {tokens} tokens in {:?}", start.elapsed());
    }
}

#[test]
fn parts_give_what_the_whole_batch_gives_and_tell_it_in_one_order() {
    let (policy, config, seed) = (tiny_policy(), rollout_config(16, 24), Seed::root(5));
    let prompts: Vec<Prompt> = std::iter::repeat_n(prompts(), 3).flatten().collect();
    let told = || {
        let (mut events, mut parts) = (Vec::new(), Vec::new());
        let completions = generate(&policy, &prompts, &config, seed, &mut |event| {
            events.push(match event {
                RolloutEvent::Finished(completion) => (completion.id.index, completion.ids.len()),
                RolloutEvent::Tokens { tokens, finished } => (tokens, finished),
                RolloutEvent::Predicted | RolloutEvent::Trouble(_) => return,
                RolloutEvent::PartDone { part, begin, end } => return parts.push((part, begin < end)),
            });
        });
        assert_eq!(parts, (0..6).map(|part| (part, true)).collect::<Vec<_>>());
        (completions.unwrap().into_items(), events)
    };
    let (completions, events) = told();
    let requests = GroupRequest::all(&prompts, config.num_generations, seed);
    let whole = whole(Assignment { policy: &policy, config: &config, requests: &requests });
    let whole = whole.run(decoding::IDLE_SHARE, &mut |_| ()).unwrap().completions;
    assert_eq!(ids(&completions), ids(&whole));
    let tokens = completions.iter().map(|completion| completion.ids.len()).sum();
    assert_eq!(events.last(), Some(&(tokens, completions.len())));
    for _ in 0..3 {
        assert_eq!(told().1, events, "events do not depend on which part is faster");
    }
}

/// The completions of the GPU's kernels, emulated on the processor, for the same prompts and seeds; none without a C++
/// compiler.
fn on_device(
    policy: &Policy,
    prompts: &[Prompt],
    config: &RolloutConfig,
    idle_share: f64,
) -> Option<(Vec<Completion>, Vec<usize>)> {
    let ids: Vec<&[u32]> = prompts.iter().map(|prompt| prompt.ids.as_slice()).collect();
    let requests = GroupRequest::all(prompts, config.num_generations, Seed::root(5));
    let batch = policy.decoder().emulated_batch(&ids, device::drawing(&requests, config).unwrap()).unwrap()?;
    let mut told = Vec::new();
    let decoding = DeviceDecoding::begin(policy, batch, &requests, config);
    let completions = decoding.run(idle_share, &mut |event| {
        if let RolloutEvent::Finished(completion) = event {
            told.push(completion.id.index);
        }
    });
    Some((completions.unwrap(), told))
}

#[test]
fn a_gpu_gives_the_completions_that_the_cpu_gives() {
    let (policy, config) = (tiny_policy(), rollout_config(8, 21));
    let expected = sample(&policy, &prompts(), &config);
    for idle_share in [decoding::IDLE_SHARE, 0.0, 2.0] {
        let Some((completions, mut told)) = on_device(&policy, &prompts(), &config, idle_share) else { return };
        assert_eq!(completions.len(), expected.len());
        for (found, expected) in completions.iter().zip(&expected) {
            assert_eq!((&found.ids, &found.text, found.finish), (&expected.ids, &expected.text, expected.finish));
            for (found, expected) in found.logprobs.iter().zip(&expected.logprobs) {
                assert!((found - expected).abs() < 1e-4, "{found} {expected}");
            }
        }
        told.sort_unstable();
        assert_eq!(told, (0..16).collect::<Vec<_>>(), "each is handed out once");
    }
}

/// Two conversations of which one has had 40 tokens and the other 3. With the context of 64 tokens the longest prompt and
/// the longest completion do not fit together, though each conversation does.
fn conversations() -> Vec<Prompt> {
    let [first, second] = <[Prompt; 2]>::try_from(prompts()).unwrap();
    vec![first.continued(&[5; 30], &[6; 10]), second.continued(&[7, 8], &[9])]
}

#[test]
fn a_conversation_has_the_room_that_its_earlier_turns_have_left() {
    let (policy, config) = (tiny_policy(), RolloutConfig { num_generations: 1, ..rollout_config(2, 50) });
    let prompts = conversations();
    let ids = [7, 3].map(|index| CompletionId::new(Seed::root(5), index));
    let requests: Vec<GroupRequest<'_>> =
        prompts.iter().zip(ids).map(|(prompt, id)| GroupRequest { prompt, ids: vec![id] }).collect();
    let together = super::sample(&policy, &requests, &config, &mut |_| ()).unwrap();
    for (completion, most) in together.iter().zip([10, 47]) {
        assert!(completion.ids.len() <= most, "{completion:?}");
        assert!(completion.finish == FinishReason::Stop || completion.ids.len() == most);
    }
    // Each is what it is alone.
    for (request, expected) in requests.chunks(1).zip(&together) {
        assert_eq!(super::sample(&policy, request, &config, &mut |_| ()).unwrap(), std::slice::from_ref(expected));
    }
    let too_long = RolloutConfig { max_completion_length: 70, ..config };
    let refused = generate(&policy, &prompts, &too_long, Seed::root(5), &mut |_| ()).unwrap_err();
    assert!(matches!(refused, RolloutError::TooLong { prompt: 6, completion: 70, limit: 64 }), "{refused}");
}

/// Conversations that go on after `last`: what they are told has a length of its own for each, and some end although they
/// could go on.
fn told(conversations: &mut [Prompt], last: &[Completion], turn: usize) -> Vec<CompletionId> {
    let mut going = Vec::new();
    for one in last.iter().filter(|one| one.finish == FinishReason::Stop && one.id.index % 4 != turn) {
        let told: Vec<u32> = (0..1 + one.id.index as u32 % 7).map(|word| 2 + word).collect();
        let next = conversations[one.id.index].continued(&one.ids, &told);
        if next.earlier.tokens < 45 {
            conversations[one.id.index] = next;
            going.push(one.id.in_turn(turn));
        }
    }
    going
}

/// The completions of three turns, with caches or without.
fn three_turns(policy: &Policy, size: usize, with_caches: bool) -> Vec<Vec<Completion>> {
    let config = rollout_config(size, 50);
    let prompts: Vec<Prompt> = std::iter::repeat_n(prompts(), 6).flatten().collect();
    let requests = GroupRequest::all(&prompts, size, Seed::root(5));
    let asked = Assignment { policy, config: &config, requests: &requests };
    let (mut last, mut caches) = converse(asked, None, &mut |_| ()).unwrap();
    let mut conversations: Vec<Prompt> = last.iter().map(|one| prompts[one.id.index / size].clone()).collect();
    let mut all = vec![last.clone()];
    for turn in 1..3 {
        let ids = told(&mut conversations, &last, turn);
        let one = |id: CompletionId| GroupRequest { prompt: &conversations[id.index], ids: vec![id] };
        let requests: Vec<GroupRequest<'_>> = ids.into_iter().map(one).collect();
        let kept = caches.take().filter(|_| with_caches);
        assert_eq!(kept.is_some(), with_caches, "a cache of the CPU is kept");
        let asked = Assignment { policy, config: &config, requests: &requests };
        (last, caches) = converse(asked, kept, &mut |_| ()).unwrap();
        all.push(last.clone());
    }
    all
}

#[test]
fn conversations_go_on_in_their_caches_with_the_bits_of_reading_them_again() {
    let policy = tiny_policy();
    // Parts of a prompt each, or of eight.
    for size in [8, 1] {
        let kept = three_turns(&policy, size, true);
        assert!(kept.iter().all(|turn| turn.len() > size), "{:?}", kept.iter().map(Vec::len).collect::<Vec<_>>());
        assert_eq!(kept, three_turns(&policy, size, false), "{size} of each prompt");
    }
}

/// CPU seconds of this process, in all its threads.
fn cpu_seconds() -> f64 {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).unwrap();
    [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6)
        .iter()
        .sum()
}

/// CPU seconds until the second turn of eight conversations has read all that comes before its first token: in the caches
/// of the first turn, or all of it again. Gives the number of conversations and of their tokens too.
fn reading_again_and_not(policy: &Policy) -> (usize, usize, [f64; 2]) {
    let ids = (0..150).map(|id| 2 + id % 500).collect();
    let prompts = [Prompt { ids, stop: Some("w12"), ..prompts()[0].clone() }];
    let (config, told): (_, Vec<u32>) = (rollout_config(8, 300), (0..50).map(|id| 2 + id).collect());
    let requests = GroupRequest::all(&prompts, 8, Seed::root(1));
    let (first, caches) =
        converse(Assignment { policy, config: &config, requests: &requests }, None, &mut |_| ()).unwrap();
    let next: Vec<Prompt> = first.iter().map(|one| prompts[0].continued(&one.ids, &told)).collect();
    let one = |(prompt, one): (_, &Completion)| GroupRequest { prompt, ids: vec![one.id.in_turn(1)] };
    let going: Vec<GroupRequest<'_>> =
        next.iter().zip(&first).map(one).filter(|request| request.prompt.earlier.tokens < 300).collect();
    let read = |caches: Option<Caches>| {
        let (begin, mut end) = (cpu_seconds(), None);
        let mut hear = |event: RolloutEvent<'_>| {
            if let RolloutEvent::Predicted = event {
                end.get_or_insert_with(|| cpu_seconds() - begin);
            }
        };
        let asked = Assignment { policy, config: &config, requests: &going };
        let (second, _) = converse(asked, caches, &mut hear).unwrap();
        (second, end.unwrap())
    };
    let tokens = going.iter().map(|request| request.prompt.ids.len()).sum();
    let ((with, kept), (without, again)) = (read(caches), read(None));
    assert_eq!(with, without);
    (going.len(), tokens, [again, kept])
}

#[test]
#[ignore = "a measurement: RAYON_NUM_THREADS=1 cargo test --release measure_the_second -- --ignored --nocapture"]
fn measure_the_second_turn_with_its_cache_and_without() {
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    for (name, policy, rounds) in [("built-in", builtin_sized_policy(), 15), ("135M", small_language_model(), 3)] {
        let found: Vec<_> = (0..rounds).map(|_| reading_again_and_not(&policy)).collect();
        let of = |which: usize| median(found.iter().map(|(.., times)| times[which]).collect());
        let ratio = median(found.iter().map(|(.., [again, kept])| kept / again).collect());
        let (conversations, tokens, _) = found[0];
        let (again, kept) = (of(0), of(1));
        println!(
            "{name}: {conversations} conversations of {tokens} tokens, CPU seconds, medians of {rounds}: again {again:.4}, in their caches {kept:.4}, ratio {ratio:.3}"
        );
    }
}

#[test]
fn a_gpu_samples_conversations_of_unequal_length_as_the_cpu_does() {
    let (policy, config) = (tiny_policy(), RolloutConfig { num_generations: 1, ..rollout_config(2, 50) });
    let expected = sample(&policy, &conversations(), &config);
    let Some((found, _)) = on_device(&policy, &conversations(), &config, decoding::IDLE_SHARE) else { return };
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((&found.ids, found.finish), (&expected.ids, expected.finish));
    }
}
