#include "src/config/run_option_rows.h"

namespace ptbench {

void append_program(RunOptionRows& rows) {
  rows.push_back(choice_option({.name = "engine",
                                .value = "native|pytorch|pytorch-compiled|auto",
                                .group = "Who trains",
                                .help = "ptbench itself, or the same training by the PyTorch "
                                        "scripts that come with it, eager or by torch.compile; "
                                        "auto is native",
                                .fallback = "native",
                                .choices = {"native", "pytorch", "pytorch-compiled", "auto"},
                                .grid = true},
                               &RunOptions::engine));
  rows.push_back(text_option(
      {.name = "program",
       .value = "COMMAND",
       .help = "your own program, started by the shell, which reports its steps "
               "(docs/steps_protocol.md); {n}, {b}, {global_batch}, {precision}, {strategy}, "
               "{threads} and {seed} in it are replaced by the values of these options",
       .example = "torchrun --nproc-per-node {n} train.py --batch {b}"},
      &RunOptions::program));
  rows.push_back(text_option({.name = "name",
                              .value = "NAME",
                              .help = "the program's name in records; by default its script's name",
                              .example = "my-model"},
                             &RunOptions::name));
}

}  // namespace ptbench
