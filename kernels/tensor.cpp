#include "kernels/tensor.h"

#include "src/base/error.h"

namespace ptbench {

ImageShape image_of(const TensorSpec& tensor) {
  const Shape& shape = tensor.shape;
  if (shape.rank() == 2) return {.batch = shape[0], .channels = shape[1], .height = 1, .width = 1};
  ensure(shape.rank() == 4, "an image has four dimensions, a row of values two");
  return {.batch = shape[0], .channels = shape[1], .height = shape[2], .width = shape[3]};
}

}  // namespace ptbench
