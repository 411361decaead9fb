"""Shared by the peers of `grpo-2048-bench generate` and `train`: a model, clocks, and peak memory.

A request names a model in one of two ways:
    config    the settings of a config.json; weights are random
    model     a directory or a .gguf file
"""

import os
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers


def load(work, device):
    """The model that a request names."""
    dtype = getattr(torch, work["dtype"])
    if "config" in work:
        config = dict(work["config"])
        shape = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
        with torch.device(device):
            return transformers.AutoModelForCausalLM.from_config(shape, dtype=dtype)
    path = work["model"]
    if path.endswith(".gguf"):
        folder, file = os.path.split(path)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder or ".", gguf_file=file, dtype=dtype)
    else:
        model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=dtype)
    return model.to(device)


class Clocks:
    """Seconds since its creation: wall clock, processor, and successive stages."""

    def __init__(self, work, device):
        self.device = device
        # One thread is timed by processor time, which does not depend on other programs.
        self.now = time.process_time if device.type == "cpu" and work["threads"] == 1 else time.monotonic
        self.wait()
        self.wall, self.cpu, self.last = time.monotonic(), time.process_time(), self.now()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def stage(self):
        """Seconds since the end of the last stage."""
        self.wait()
        last, self.last = self.last, self.now()
        return self.last - last

    def costs(self):
        self.wait()
        return {"wall_s": time.monotonic() - self.wall, "cpu_s": time.process_time() - self.cpu}


class Peak:
    """Maximum of the memory in use from now on."""

    def __init__(self, device):
        self.device = device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        else:
            with open("/proc/self/clear_refs", "w") as marks:
                marks.write("5")

    def read(self):
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated()
        lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
        return 1024 * int(lines["VmHWM"].split()[0])
