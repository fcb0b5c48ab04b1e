#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptbench::architecture {

/// A file of the tree; `path` from the tree's root, with slashes.
struct SourceFile {
  std::string path;
  std::string text;
};

/// C++ or CUDA.
[[nodiscard]] bool is_code(const SourceFile& file);

struct Finding {
  std::string path;
  int line = 0;  ///< from 1
  std::string what;
};

/// "src/base/size.h:3: what", one a line.
[[nodiscard]] std::string text_of(std::span<const Finding> findings);

/// A room of docs/architecture.md: a folder, and the names of the rooms that it may include.
struct Room {
  std::string_view name;
  std::string_view folder;
  std::vector<std::string_view> may_use;
};

/// The table of docs/architecture.md, with the benchmark programs and the tests behind it.
[[nodiscard]] const std::vector<Room>& rooms();

/// Arrows that run up: from a room of `src` to one that people extend, or from either to `app`; and
/// from a room to one behind it in the table, since such arrows could close a circle.
[[nodiscard]] std::vector<Finding> check_floor_plan(std::span<const Room> rooms);

/// The room that `path` belongs to ("base", "kernels", …); empty outside of all rooms.
[[nodiscard]] std::string_view room_of(std::string_view path);

/// #include lines that point at a room which the file's room may not use, at a library outside its
/// column, at a file without its path from the root, or at nothing known; conditions on engines
/// (`#ifdef …CUDA…`) outside of the engines' folders. C++ and CUDA files.
[[nodiscard]] std::vector<Finding> check_includes(const SourceFile& file);

/// oneDNN included by more than one file: its API is to be changed in one place.
[[nodiscard]] std::vector<Finding> check_one_dnn_file(std::span<const SourceFile> files);

/// Rooms that a `ptbench_room(…)` call in a CMakeLists.txt links although the table does not allow
/// it.
[[nodiscard]] std::vector<Finding> check_room_links(const SourceFile& file);

/// Words that mark unfinished work.
[[nodiscard]] std::vector<Finding> check_finished(const SourceFile& file);

}  // namespace ptbench::architecture
