#pragma once

#include <string_view>

/// The words of model files that are read and written.
namespace ptbench::model_file {

inline constexpr std::string_view kSchema = "ptbench.model/1";
inline constexpr std::string_view kInput = "input";  // the data's name among the layers

}  // namespace ptbench::model_file
