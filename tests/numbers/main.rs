//! Numbers of the decoder and of learning against those of PyTorch, PEFT and TRL, on the device in `GRPO_2048_TEST_DEVICE`.

mod learning_goldens;
mod policy_goldens;
mod precision;
mod tiny;
