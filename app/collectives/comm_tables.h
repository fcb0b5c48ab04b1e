#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/collectives/comm_bench.h"
#include "reports/table.h"

namespace ptbench {

/// Keys and raw numbers as scripts rely on them.
[[nodiscard]] Table comm_json_table(const std::vector<CommMeasurement>& rows);

/// The columns of nccl-tests, in their units, which stand in the first row: bytes, µs, 10^9 bytes
/// per second. As there, "none" and -1 say that there is no redop and no root. Of several
/// communicators the first column is their name.
[[nodiscard]] Table comm_text_table(const std::vector<CommMeasurement>& measured);

/// What its columns mean: lines that begin with '#', as what nccl-tests says besides its rows,
/// after an empty one.
[[nodiscard]] std::string_view comm_columns_text();

/// For the process that started the ranks: a line for each row, exact.
[[nodiscard]] std::string comm_lines(const std::vector<CommMeasurement>& rows);

/// Throws a defect for other text.
[[nodiscard]] std::vector<CommMeasurement> read_comm_lines(const std::string& text);

}  // namespace ptbench
