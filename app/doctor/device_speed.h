#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/doctor/doctor.h"
#include "kernels/site.h"

namespace ptbench {

/// What the device of a site reaches: operations a second on products of each of `precisions`, as
/// --precision has them, and bytes a second of copies within its memory (read and written, as both
/// load it), from page-locked memory of the host and to it. Takes about a second. Values have no
/// unit prefix. Copies are `most_copied` long at the most: by default several times what a GPU's
/// caches hold. On an emulated device all of it runs, on little data, and has no value.
///
/// What fails is a finding that says so; work of the device is done when this returns.
[[nodiscard]] std::vector<Finding> examine_speed(const Site& site,
                                                 const std::vector<std::string>& precisions,
                                                 Bytes most_copied = Bytes{256} << 20U);

/// What copies between the memory of two devices reach, by a queue of the first: bytes a second
/// from it to the other. `way` says for people how they go. As of examine_speed.
[[nodiscard]] Finding examine_copies_between(const Site& from, const Site& to, std::string_view way,
                                             Bytes most_copied = Bytes{256} << 20U);

}  // namespace ptbench
