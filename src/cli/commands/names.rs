//! The name of the program, and its exit codes.

/// Name of the program.
pub(super) const NAME: &str = "grpo-2048";

/// Exit codes, at the end of a help.
pub(super) const EXIT_CODES: &str = "Exit codes:
  0    done
  1    the run failed
  2    wrong input
  3    stopped by the guard: it can no longer learn
  130  interrupted, after a checkpoint";
