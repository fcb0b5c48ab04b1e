#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "workloads/json_fields.h"
#include "workloads/layer.h"

namespace ptbench {

/// A key of a layer in model files, besides name, type and inputs.
struct LayerKey {
  std::string_view name;
  std::string_view values;    ///< what it may be
  std::string_view fallback;  ///< what it is when it is left out; empty: it must be given
};

/// A row of the table of layer types. To add one: a struct in layer.h with its traits, and where it
/// has keys, these in layers.cpp; model files and docs/models.md have it from there (a test keeps
/// the document's table equal).
struct LayerType {
  std::string_view name;  ///< "conv2d"
  std::string_view summary;
  std::size_t inputs = 1;
  std::vector<LayerKey> keys;
  /// The layer that the fields describe; name, type and inputs are the caller's.
  Layer (*read)(const JsonFields& fields) = nullptr;
};

[[nodiscard]] const std::vector<LayerType>& layer_types();

/// Adds the keys of `layer` that are not at their defaults; returns the name of its type.
std::string_view write_layer(const Layer& layer, nlohmann::ordered_json& fields);

}  // namespace ptbench
