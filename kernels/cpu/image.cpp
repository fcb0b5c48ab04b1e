#include "kernels/cpu/image.h"

#include "kernels/cpu/onednn.h"

namespace ptbench {

ImageOrder image_order(ElementType type) {
  static const bool amx = onednn::has_amx();
  return type == ElementType::bf16 && amx ? ImageOrder::channels_last : ImageOrder::blocked;
}

}  // namespace ptbench
