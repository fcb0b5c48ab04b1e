#include "app/training/run_data.h"

#include "app/config/memory_limit.h"
#include "src/data/source.h"

namespace ptbench {

DataSource load_data(const RunConfig& config) {
  const Workload& workload = config.workload;
  const bool synthetic = config.synthetic_samples > 0;
  if (synthetic) require_memory(config, workload.build(workload.input_shape));
  DataSource data = synthetic ? synthetic_data({.sample_shape = workload.input_shape,
                                                .classes = workload.classes,
                                                .samples = config.synthetic_samples,
                                                .seed = config.options.seed})
                              : load_directory(config.options.data);
  check_labels(data, workload.classes);
  if (!synthetic) {
    const Shape& shape = data.train.sample_shape();
    refuse_channels_last(config.options.data, shape, workload.input_shape);
    require_memory(config, workload.build(shape));
  }
  return data;
}

}  // namespace ptbench
