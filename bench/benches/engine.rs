//! Moves per second of the game engine, and of whole games by the native baselines.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use grpo_2048::environment::game2048::{Baseline, Board, Game, GameLimits, Move, play};
use grpo_2048::seed::{Purpose, Seed};

const LIMITS: GameLimits = GameLimits { freeze_after: 4, moves_max: 100_000 };

fn engine(criterion: &mut Criterion) {
    let boards: Vec<Board> = boards_of_a_game();
    let mut group = criterion.benchmark_group("engine");
    group.throughput(Throughput::Elements(4 * boards.len() as u64));
    group.bench_function("slide", |bencher| {
        bencher.iter(|| {
            let slides = boards.iter().flat_map(|board| Move::ALL.map(|direction| board.slide(direction)));
            slides.fold(0, |sum, (_, gain)| sum + gain)
        });
    });
    let letters: Vec<Move> = letters_of_a_game();
    group.throughput(Throughput::Elements(letters.len() as u64));
    group.bench_function("a game by its log, a move", |bencher| {
        bencher.iter(|| {
            let mut game = Game::new(black_box(seed()));
            letters.iter().for_each(|&direction| {
                game.play(direction);
            });
            (game.score(), game.is_over())
        });
    });
    for baseline in Baseline::ALL {
        let seed = Seed::root(5).child(Purpose::HeldOut, 0);
        let one_game = || {
            let Ok(outcome) = play(&mut baseline.player(seed), black_box(seed), &LIMITS);
            outcome
        };
        group.throughput(Throughput::Elements(one_game().moves_text().len() as u64));
        group.bench_function(format!("game of {}, a move", baseline.name()), |bencher| bencher.iter(one_game));
    }
    group.finish();
}

fn seed() -> Seed {
    Seed::root(5).child(Purpose::HeldOut, 1)
}

/// The moves of one greedy game.
fn letters_of_a_game() -> Vec<Move> {
    let Ok(outcome) = play(&mut Baseline::Greedy.player(seed()), seed(), &LIMITS);
    outcome.moves_text().chars().filter_map(|letter| Move::from_text(letter.encode_utf8(&mut [0; 4]))).collect()
}

/// Every board of that game.
fn boards_of_a_game() -> Vec<Board> {
    let mut game = Game::new(seed());
    let boards = letters_of_a_game().into_iter().map(|direction| {
        game.play(direction);
        game.board()
    });
    boards.collect()
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = engine
}
criterion_main!(benches);
