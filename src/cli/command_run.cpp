#include "src/cli/command_table.h"
#include "src/config/run_options.h"
#include "src/session/run.h"

namespace ptbench {

Command make_run_command() {
  return with_options<RunOptions>(
      {.name = "run",
       .summary = "measure one configuration",
       .description =
           "Trains a workload under a strategy, step by step as a user would, and reports how fast "
           "the steps were. The summary goes to standard output, progress and messages to standard "
           "error.",
       .examples = {{"ptbench run", "the default workload, mlp, on synthetic data, on all cores"},
                    {"ptbench run -w linear --steps 10000 --threads 1",
                     "a model so small that every microsecond of overhead shows"},
                    {"ptbench run --data tests/data/digits -b 32 --epochs 20 -o results.json -o "
                     "results.csv",
                     "train on real digits until it is good, and keep the results"},
                    {"ptbench run --steps 30 --save-initial-weights start.safetensors --loss-log "
                     "losses.csv",
                     "what another framework needs to replay the run and compare its losses"}}},
      run_option_table(), run_command);
}

}  // namespace ptbench
