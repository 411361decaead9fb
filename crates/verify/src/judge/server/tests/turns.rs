//! Requests beside each other: whose programs are played first.

use std::sync::Mutex;

use super::*;
use crate::arena::{Arena, Workers};
use crate::config::Config;
use crate::environment::Ending;
use crate::environment::game2048::scored;
use crate::program::Program;
use crate::seed::Seed;

#[test]
fn one_item_does_not_wait_for_all_of_a_long_list() {
    let is_over = Arc::new(AtomicBool::new(false));
    let (begun, first) = channel();
    let (over, begun) = (Arc::clone(&is_over), Mutex::new(begun));
    // One worker, which needs a while for each program until the one item is judged.
    let play = move |_: &Program, _| {
        let _ = begun.lock().unwrap().send(());
        if !over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        scored(1, 2, Ending::GameOver)
    };
    let arena = Arena::stand_in(play, Workers::new(1)).unwrap();
    let judge = Judge::new(arena, &Config::preset("builtin").unwrap().reward, vec![Seed::root(1)]);
    let served = Served::with(judge, Box::new(run), Bounds::new(1), Callers::Everybody);
    let items: Vec<Value> = (2..514).map(|n| json!({ "id": "long", "completion": completion(n) })).collect();
    let answered = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(served.post("/judge", &json!(items).to_string()).0, 200);
            answered.lock().unwrap().push("list");
        });
        first.recv().unwrap();
        assert_eq!(served.post("/judge", &json!({ "id": "one", "completion": completion(1) }).to_string()).0, 200);
        answered.lock().unwrap().push("item");
        is_over.store(true, Ordering::SeqCst);
    });
    assert_eq!(*answered.lock().unwrap(), ["item", "list"]);
    served.end();
}
