//! Sizes as programs know them, where those of the interpreter have 32 bits.

use grpo_sandbox::TierChoice;

use crate::{LIMITS, printed, sandbox};

#[test]
fn the_largest_size_is_that_of_64_bits_in_every_tier_and_with_numpy() {
    let source = "import sys\ndef f(prices):\n    low = sys.maxsize\n    for p in prices:\n        if p < low:\n            low = p\n    \
                  return [low, sys.maxsize == 2**63 - 1]\n";
    assert!(sandbox().outside(source).unwrap().is_some(), "compiled code knows no `sys`");
    for last in ["", "# numpy\n"] {
        for tier in [TierChoice::Auto, TierChoice::Interpreter] {
            let mut session = sandbox().with_tiers(tier, 1).load(&format!("{source}{last}"), 0, &LIMITS).unwrap();
            assert_eq!(session.call("f", "[[10000000000,7000000000]]").unwrap(), "[7000000000,true]");
            assert_eq!(session.call("f", "[[]]").unwrap(), "[9223372036854775807,true]");
        }
    }
}

#[test]
fn what_programs_hand_their_largest_size_to_takes_it() {
    let source = "import csv, functools, heapq, logging, random, sys, textwrap\nm = sys.maxsize\n\
                  f = functools.lru_cache(maxsize=m)(abs)\nprint(f(-1), f(-1), f.cache_info().hits, f.cache_parameters()['maxsize'] == m, \
                  isinstance(f, functools._lru_cache_wrapper), isinstance(abs, functools._lru_cache_wrapper))\n\
                  print(csv.field_size_limit(m), heapq.nsmallest(m, [2, 1]), [1, 2].index(2, 0, m), 'ab'.find('b', 0, m), [1, 2][:m])\n\
                  logging.disable(m)\nprint(2**31 < random.Random(5).randint(0, m) <= m, next(iter(range(m))), m in range(m))\n";
    assert_eq!(printed(source), "1 1 1 True True False\n131072 [1, 2] 1 1 [1, 2]\nTrue 0 False\n");
    let numpy = "import sys\nimport numpy as np\nnp.set_printoptions(threshold=sys.maxsize)\nprint(len(str(np.arange(3000))) > 3000)\n\
                 with np.printoptions(legacy=False):\n    print(np.float64(1.5), repr(np.float64(1.5)), np.full(1, sys.maxsize)[0])\n\
                 print(np.get_printoptions()['legacy'], np.strings.multiply(np.array(['a']), 3))\n";
    assert_eq!(printed(numpy), "True\n1.5 np.float64(1.5) 9223372036854775807\nFalse ['aaa']\n");
}

#[test]
fn sets_of_natural_numbers_have_the_order_of_every_cpython() {
    let source = "print(list({5, 3, 9, 1, 100, 33, 8}), list(set(range(30, 0, -7))), list({x * 7919 % 1000 for x in range(9)}))\n";
    let expected = "[1, 33, 3, 100, 5, 8, 9] [2, 9, 16, 23, 30] [0, 352, 514, 676, 838, 433, 595, 757, 919]\n";
    assert_eq!(printed(source), expected);
    // Elsewhere it is `[0, -1, -2]`: where numbers collide, their upper bits decide, and a negative one has 64 of them there.
    assert_eq!(printed("print(list({-1, -2, 0}))"), "[0, -2, -1]\n");
}

#[test]
fn keys_that_pack_numbers_32_bits_apart_are_slow() {
    let fuel = |key: &str| {
        let source =
            format!("d = {{}}\nfor x in range(200):\n    for y in range(200):\n        d[{key}] = 1\nprint(len(d))\n");
        let run = sandbox().run(&source, "", 0, &LIMITS).unwrap();
        assert_eq!(run.printed.unwrap(), "40000\n", "{key}");
        run.fuel as f64
    };
    let usual = fuel("x << 20 | y");
    let (packed, tuples) = (fuel("x << 32 | y") / usual, fuel("x, y") / usual);
    assert!((8.0..10.0).contains(&packed), "docs/sandbox.md says nine times: {packed}");
    assert!(tuples < 2.0, "{tuples}");
}

#[test]
fn the_library_goes_by_what_c_takes() {
    let source = "import collections.abc, gzip, io\nwith gzip.open(io.BytesIO(gzip.compress(b'abc'))) as file:\n    print(file.read())\n\
                  class Own(collections.abc.Set):\n    def __init__(self, of): self.of = of\n    def __contains__(self, x): return x in self.of\n    \
                  def __iter__(self): return iter(self.of)\n    def __len__(self): return len(self.of)\n    __hash__ = collections.abc.Set._hash\n\
                  print(hash(Own({1, 'a'})) == hash(frozenset((1, 'a'))), frozenset((1, 'a')) in {Own({1, 'a'})})\n";
    assert_eq!(printed(source), "b'abc'\nTrue True\n");
}

#[test]
fn a_range_longer_than_c_can_count_is_searched() {
    let source = "import bisect\nfrom bisect import bisect_left, bisect_right\n\
                  print(bisect_left(range(10**12), 10**8, key=lambda v: v * v), bisect.bisect_right(range(0, -10**12, -1), 0, key=lambda v: -v))\n\
                  print(bisect.bisect(range(5), 3), bisect_left(range(0), 1), bisect_left(range(10**12), 7 * 10**9, 5, 8 * 10**9))\n\
                  print(bisect_left([1, 3, 5], 3), bisect_right([1, 3, 5], 3, hi=2), bisect_left('abc', 'b', key=str.lower))\n\
                  bisect_left(range(5), 3, -1)";
    let expected = "10000 1\n4 0 7000000000\n1 2 1\n";
    assert_eq!(printed(source.rsplit_once('\n').unwrap().0), expected);
    assert_eq!(printed(source), "ValueError: lo must be non-negative (line 6)");
    let handed = "import bisect\ndef search(r, x): return bisect.bisect_left(r, x)\nprint(search(range(10**12), 5))\n\
                  for r in [range(10**12)]: print(search(r, 7 * 10**9))\n";
    assert_eq!(printed(handed), "5\n7000000000\n");
    let own = "from bisect import bisect, bisect_left as left\nclass Squares:\n    def __getitem__(self, x): return x * x >= 10**20\n\
               class Long:\n    def __len__(self): return 10**12\n    def __getitem__(self, x): return x\n\
               print(left(Squares(), True, 0, 10**12), bisect(Long(), 77))\nlong = range(1, 10**12)\nprint(left(long, 9), left([1, 2], 2))\n";
    assert_eq!(printed(own), "10000000000 78\n8 1\n");
    let once = "import bisect\nclass Short:\n    def __len__(self): return 10\n    def __getitem__(self, x):\n        \
                print(x)\n        raise OverflowError('mine')\ntry: bisect.bisect(Short(), 3)\nexcept OverflowError as error: print(error)\n";
    assert_eq!(printed(once), "5\nmine\n");
    let wrong = format!("{own}left(5, 1)");
    assert_eq!(printed(&wrong), "TypeError: object of type 'int' has no len() (line 10)");
}
