#include "strategies/evaluate.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace ptbench {
namespace {

/// How many of the first `count` samples are right.
Size count_correct(std::span<const float> logits, Size classes,
                   std::span<const std::int32_t> labels, Size count) {
  Size correct = 0;
  for (Size sample = 0; sample < count; ++sample) {
    const float* row = logits.data() + sample * classes;
    const Size best = std::max_element(row, row + classes) - row;
    if (best == labels[static_cast<std::size_t>(sample)]) ++correct;
  }
  return correct;
}

}  // namespace

std::optional<double> accuracy(Program& program, const Dataset& dataset,
                               const std::function<bool()>& keep_going) {
  const Size batch = program.plan().batch();
  if (dataset.size() == 0) return std::nullopt;
  std::vector<Size> indices(static_cast<std::size_t>(batch));
  std::vector<float> logits(static_cast<std::size_t>(batch * program.plan().classes()));
  Size correct = 0;
  for (Size begin = 0; begin < dataset.size(); begin += batch) {
    if (!keep_going()) return std::nullopt;
    // The last batch is filled up with its last sample again, which does not count.
    for (Size i = 0; i < batch; ++i)
      indices[static_cast<std::size_t>(i)] = std::min(begin + i, dataset.size() - 1);
    const BatchRoom room = program.await_room();
    dataset.gather(indices, room.inputs, room.labels);
    program.send_batch();
    program.evaluate();
    program.read_logits(logits);
    correct += count_correct(logits, program.plan().classes(), room.labels,
                             std::min(batch, dataset.size() - begin));
  }
  return static_cast<double>(correct) / static_cast<double>(dataset.size());
}

}  // namespace ptbench
