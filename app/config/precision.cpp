#include "app/config/precision.h"

#include "src/base/number.h"

namespace ptbench {

ElementType multiplied_type(std::string_view precision) {
  if (precision == "tf32") return ElementType::tf32;
  if (precision == "bf16") return ElementType::bf16;
  if (precision == "fp16") return ElementType::f16;
  return ElementType::f32;
}

bool multiplies(std::string_view compute_capability, std::string_view precision) {
  constexpr std::uint64_t kAmpere = 8;
  const auto major = parse_whole(compute_capability.substr(0, compute_capability.find('.')));
  const bool is_of_ampere = precision == "bf16" || precision == "tf32";
  return !is_of_ampere || major.value_or(0) >= kAmpere;
}

std::string mixed_precision_of(std::string_view compute_capability) {
  return multiplies(compute_capability, "bf16") ? "bf16" : "fp16";
}

LossScaleSpec usual_loss_scale(std::string_view precision) {
  LossScaleSpec spec;
  if (precision == "fp16") spec.kind = LossScaling::dynamic;
  return spec;
}

}  // namespace ptbench
