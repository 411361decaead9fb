//! Instructions, ready to be run.

/// Index of a register.
pub type Register = usize;

/// Where a number is taken from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operand {
    Register(Register),
    Bits(u64),
    Special(Special),
}

/// What a thread knows of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Special {
    /// Index of the thread in its block, by dimension.
    Thread(usize),
    /// Threads of a block.
    Threads(usize),
    /// Index of the block in its grid.
    Block(usize),
    /// Blocks of the grid.
    Blocks(usize),
    Lane,
}

/// Memory that an instruction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Any of the others but parameters; addresses say which.
    Generic,
    Global,
    Shared,
    Local,
    Parameter,
}

/// Where generic addresses of a block's shared memory begin.
pub const SHARED_WINDOW: u64 = 1 << 60;
/// Where those of a thread's own memory begin.
pub const LOCAL_WINDOW: u64 = 1 << 61;

/// Kinds of numbers; those of the same bits are told apart where an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Predicate,
    Unsigned(u8),
    Signed(u8),
    F16,
    Bf16,
    /// Two of f16 or bf16 in 32 bits.
    F16x2,
    Bf16x2,
    F32,
    F64,
}

impl Type {
    /// Bytes in memory.
    pub fn bytes(self) -> usize {
        match self {
            Type::Predicate => 1,
            Type::Unsigned(bits) | Type::Signed(bits) => usize::from(bits) / 8,
            Type::F16 | Type::Bf16 => 2,
            Type::F16x2 | Type::Bf16x2 | Type::F32 => 4,
            Type::F64 => 8,
        }
    }
}

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A number of each lane: its bits, and zeros above them.
pub type Numbers = [u64; LANES];

/// An operation on one number of each lane, on two, on three; a comparison gives a mask of the lanes where it holds.
pub type Unary = fn(&Numbers) -> Numbers;
pub type Binary = fn(&Numbers, &Numbers) -> Numbers;
pub type Ternary = fn(&Numbers, &Numbers, &Numbers) -> Numbers;
pub type Comparison = fn(&Numbers, &Numbers) -> u32;

/// How a result of a comparison is joined with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    And,
    Or,
    Xor,
}

/// How a conversion rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    Nearest,
    Zero,
    Up,
    Down,
}

/// A conversion between kinds of numbers.
#[derive(Debug, Clone, Copy)]
pub struct Conversion {
    pub to: Type,
    pub from: Type,
    pub rounding: Rounding,
    /// Whether a floating number becomes a whole one of the same kind.
    pub whole: bool,
    pub saturate: bool,
}

/// An address: a register or a place, and an offset.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    pub base: Operand,
    pub offset: u64,
}

/// What lanes take from which other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What a vote asks of the lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vote {
    Ballot,
    Any,
    All,
}

/// What becomes of a number in memory that others may touch at the same time.
#[derive(Debug, Clone, Copy)]
pub enum Atomic {
    /// With the old number and an operand.
    Update(Binary),
    /// Exchanged for the operand.
    Exchange,
    /// Exchanged for the second operand where it equals the first.
    CompareAndSwap,
}

#[derive(Debug, Clone)]
pub enum Operation {
    Branch(usize),
    Exit,
    Barrier,
    /// Of the lanes that a mask names; without one, for the order of memory alone.
    WarpBarrier(Option<Operand>),
    Unary(Unary, Register, Operand),
    Binary(Binary, Register, [Operand; 2]),
    Ternary(Ternary, Register, [Operand; 3]),
    /// A predicate from a comparison, joined with another and its truth.
    Compare(Comparison, Register, [Operand; 2], Option<(Join, Register, bool)>),
    /// A number from a comparison: one or zero in its kind.
    Set(Comparison, Register, [Operand; 2], u64),
    /// The first where the predicate holds, else the second.
    Select(Register, [Operand; 2], Operand),
    Convert(Conversion, Register, Operand),
    /// Registers side by side, `width` bits each.
    Pack(Register, Vec<Operand>, u8),
    Unpack(Vec<Option<Register>>, Operand, u8),
    Load {
        space: Space,
        kind: Type,
        into: Vec<Register>,
        address: Address,
    },
    Store {
        space: Space,
        kind: Type,
        from: Vec<Operand>,
        address: Address,
    },
    Atomic {
        space: Space,
        kind: Type,
        what: Atomic,
        old: Option<Register>,
        address: Address,
        operands: Vec<Operand>,
    },
    Shuffle {
        how: Shuffle,
        into: Register,
        inside: Option<Register>,
        operands: [Operand; 3],
        mask: Operand,
    },
    Vote {
        what: Vote,
        into: Register,
        of: (Register, bool),
        mask: Operand,
    },
    ActiveMask(Register),
    /// An assertion of the kernel that did not hold.
    Trap,
}

/// An operation, done by the threads for which a predicate holds.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// The predicate, and whether it must be true or false.
    pub guard: Option<(Register, bool)>,
    pub operation: Operation,
    pub line: u32,
}
