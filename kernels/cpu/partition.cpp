#include "kernels/cpu/partition.h"

#include "kernels/cpu/image.h"

namespace ptbench {
namespace {

Size memory_elements(const TensorSpec& tensor) {
  if (tensor.format == TensorFormat::native) return native_elements(image_of(tensor));
  return tensor.shape.elements();
}

}  // namespace

ElementPartition::ElementPartition(const TensorSpec& tensor, Size cost, int team_size)
    : elements_(memory_elements(tensor)),
      unit_(tensor.format == TensorFormat::native && elements_ > 0 ? elements_ / tensor.shape[0]
                                                                   : Size{16}),
      members_(members_for(elements_ * cost, round_up(elements_, unit_) / unit_, team_size)) {}

Range ElementPartition::part(int member) const {
  const Range units = part_of(round_up(elements_, unit_) / unit_, member, members_);
  return {std::min(units.begin * unit_, elements_), std::min(units.end * unit_, elements_)};
}

}  // namespace ptbench
