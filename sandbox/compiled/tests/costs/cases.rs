//! The operations that are measured: `cases.txt`.

/// An operation, as statements of Python. `x` is a list of the numbers below `n` in some order.
pub struct Case {
    pub name: &'static str,
    setup: &'static str,
    body: &'static str,
    /// What stands in its place where it is not measured.
    base: &'static str,
}

/// How the numbers of a list follow each other, as the programs number it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Sorted,
    Reversed,
    Random,
}

/// How many items an operation has before it, and in which order.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub size: u32,
    pub order: Order,
}

const HEAD: &str = "\
import math
import random
GLOBAL = 0
def made(n, order):
    x = list(range(n))
    if order == 1:
        x.reverse()
    if order == 2:
        state = 12345
        for i in range(n - 1, 0, -1):
            state = (state * 1103515245 + 12345) % 2147483648
            j = state % (i + 1)
            t = x[i]
            x[i] = x[j]
            x[j] = t
    return x
";

impl Case {
    pub fn all() -> Vec<Case> {
        let lines = include_str!("cases.txt").lines();
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(Case::parse).collect()
    }

    fn parse(line: &'static str) -> Case {
        let parts: Vec<&str> = line.split(" ; ").map(str::trim).collect();
        let [name, setup, body, base @ ..] = &parts[..] else { panic!("three parts or four: {line}") };
        Case { name, setup, body, base: base.first().copied().unwrap_or("pass") }
    }

    /// Whether it depends on a size.
    pub fn is_sized(&self) -> bool {
        let mut words = [self.setup, self.body].into_iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        words.any(|word| matches!(word, "x" | "n"))
    }

    /// The settings of one size.
    pub fn settings(&self, size: u32) -> Vec<Setting> {
        let orders: &[Order] =
            if self.is_sized() { &[Order::Sorted, Order::Reversed, Order::Random] } else { &[Order::Sorted] };
        orders.iter().map(|&order| Setting { size, order }).collect()
    }

    /// A program whose functions `measured` and `base` do so many turns with the operation and without it.
    pub fn source(&self) -> String {
        let lines = |text: &str, indent: &str| text.replace(" / ", &format!("\n{indent}"));
        let function = |name: &str, body: &str| {
            format!(
                "def {name}(n, order, turns):\n    global GLOBAL\n    x = made(n, order)\n    a = 3\n    b = 4\n    \
                 pass\n    {}\n    for turn in range(turns):\n        {}\n    return 0\n",
                lines(if self.setup.is_empty() { "pass" } else { self.setup }, "    "),
                lines(body, "        ").replace("DIVIDED BY", "/")
            )
        };
        format!("{HEAD}{}{}", function("measured", self.body), function("base", self.base))
    }
}
