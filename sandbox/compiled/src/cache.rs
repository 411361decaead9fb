//! A cache of compiled code, bounded in bytes; the oldest entries go first.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Mutex;

use wasmtime::CacheStore;

/// Values by key, in the order of insertion.
#[derive(Debug)]
pub(crate) struct Bounded<K, V> {
    entries: HashMap<K, (V, usize)>,
    order: VecDeque<K>,
    bytes: usize,
    bytes_max: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> Bounded<K, V> {
    pub(crate) fn new(bytes_max: usize) -> Bounded<K, V> {
        Bounded { entries: HashMap::new(), order: VecDeque::new(), bytes: 0, bytes_max }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.entries.get(key).map(|(value, _)| value.clone())
    }

    /// Inserts a value of so many bytes, unless the key exists.
    pub(crate) fn insert(&mut self, key: K, value: V, bytes: usize) {
        if bytes > self.bytes_max || self.entries.contains_key(&key) {
            return;
        }
        while self.bytes + bytes > self.bytes_max {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some((_, freed)) = self.entries.remove(&oldest) {
                self.bytes -= freed;
            }
        }
        self.bytes += bytes;
        self.order.push_back(key.clone());
        self.entries.insert(key, (value, bytes));
    }
}

/// Machine code of single functions, for Cranelift: many programs share functions.
#[derive(Debug)]
pub(crate) struct Functions(pub(crate) Mutex<Bounded<Vec<u8>, Vec<u8>>>);

impl CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.0.lock().ok()?.get(&key.to_vec()).map(Cow::Owned)
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let Ok(mut entries) = self.0.lock() else { return false };
        let bytes = key.len() + value.len();
        entries.insert(key.to_vec(), value, bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_when_a_new_one_needs_its_place() {
        let mut cache = Bounded::new(10);
        for key in 1..=3 {
            cache.insert(key, key * 10, 4);
        }
        assert_eq!([cache.get(&1), cache.get(&2), cache.get(&3)], [None, Some(20), Some(30)]);
        cache.insert(4, 40, 11);
        assert_eq!(cache.get(&4), None, "larger than the cache");
        assert_eq!(cache.bytes, 8);
    }
}
