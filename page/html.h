#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptbench {

// What every part of the page is written with. All texts that come from records go through
// `html_text`, all data that scripts read through `script_json`, all images through `svg_url`.

/// `text` as the content of an element or of a quoted attribute: valid UTF-8 on one line, control
/// characters as \xNN, none of the letters that HTML reads.
[[nodiscard]] std::string html_text(std::string_view text);

/// JSON for a script element: ASCII, without letters that could end the element.
[[nodiscard]] std::string script_json(const nlohmann::ordered_json& value);

/// `svg` with one blank for each run of blanks, tabs and lines, and without groups that hold
/// nothing: drawings of gnuplot are a third shorter then, and show the same.
[[nodiscard]] std::string compact_svg(std::string_view svg);

/// `svg` as an address that holds all of it, for an attribute in double quotes.
[[nodiscard]] std::string svg_url(std::string_view svg);

/// The words of a command as a shell takes them.
[[nodiscard]] std::string shell_line(std::span<const std::string> words);

/// A cell of a table.
struct HtmlCell {
  std::string text;  ///< as records have it
  std::string sort;  ///< what it is sorted by, a number as text; empty: its text
  std::string note;  ///< small, below the text
  std::string mark;  ///< class of the cell: "bad", "doubt"
};

struct HtmlColumn {
  std::string heading;
  std::string meaning;     ///< a sentence on what it shows
  bool is_number = false;  ///< aligned to the right
  bool is_long = false;    ///< texts of many words
};

/// A tile: what is asked, what is known of it (empty: nothing), and what else to know.
struct HtmlFact {
  std::string question;
  std::string value;
  std::string note;
  bool is_doubtful = false;
};

/// Stands in a list of class "facts".
[[nodiscard]] std::string html_fact(const HtmlFact& fact);

struct HtmlTable {
  std::string caption;
  std::vector<HtmlColumn> columns;
  std::vector<std::vector<HtmlCell>> rows;  ///< as many cells in each as there are columns
  bool is_sortable = false;                 ///< by scripts, where they run
};

/// A table in a box of its own that scrolls where the screen is too narrow. The first cell of a row
/// is its heading.
[[nodiscard]] std::string html_table(const HtmlTable& table);

/// A part of the page: a heading, which names it, and what it holds. `id` is an identifier of HTML.
[[nodiscard]] std::string html_section(std::string_view id, std::string_view heading,
                                       std::string_view content);

}  // namespace ptbench
