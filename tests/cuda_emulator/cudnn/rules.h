#pragma once

#include <cudnn_graph.h>

#include <cstdint>

#include "tests/cuda_emulator/cudnn/descriptor.h"

// Which attributes the emulated descriptors have.

namespace ptbench::emulator {

enum class Use : std::uint8_t {
  required,  ///< set before the descriptor is finalized
  optional,
  result,  ///< only got
  either,  ///< set, or got from the others
};

/// An attribute. Each belongs to one kind of descriptor.
struct Rule {
  Descriptor::Name name;
  const char* text;                  ///< the name
  cudnnBackendAttributeType_t type;  ///< CUDNN_TYPE_DOUBLE: or CUDNN_TYPE_FLOAT
  std::int64_t least;                ///< elements
  std::int64_t most;
  Use use;
};

/// "CUDNN_BACKEND_TENSOR_DESCRIPTOR"; null where the emulation does not have it.
[[nodiscard]] const char* name_of(Descriptor::Type type);
/// Throws Refusal where the descriptor has no such attribute (BAD_PARAM), or one that is not
/// emulated (NOT_SUPPORTED), or has it of another type (BAD_PARAM).
[[nodiscard]] const Rule& find_rule(Descriptor::Type descriptor, Descriptor::Name name,
                                    cudnnBackendAttributeType_t type);
/// Throws Refusal where an attribute is lacking that is required.
void check_required(const Descriptor& descriptor);

}  // namespace ptbench::emulator
