#include "page/html.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/base/text.h"

namespace ptbench {
namespace {

bool is_plain_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,+@%-";
  return !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
}

std::string class_of(const HtmlColumn& column, const HtmlCell& cell) {
  std::string name = column.is_number ? "number" : column.is_long ? "long" : "";
  if (!cell.mark.empty()) name += (name.empty() ? "" : " ") + cell.mark;
  return name.empty() ? name : fmt::format(" class=\"{}\"", html_text(name));
}

std::string cell_html(const HtmlTable& table, std::size_t at, const HtmlCell& cell) {
  const std::string_view element = at == 0 ? "th" : "td";
  std::string html = fmt::format("<{}{}{}", element, at == 0 ? " scope=\"row\"" : "",
                                 class_of(table.columns[at], cell));
  if (table.is_sortable && !cell.sort.empty())
    html += fmt::format(" data-sort=\"{}\"", html_text(cell.sort));
  html += '>' + html_text(cell.text);
  if (!cell.note.empty()) html += fmt::format("<small>{}</small>", html_text(cell.note));
  return html + fmt::format("</{}>", element);
}

std::string head_html(const HtmlTable& table) {
  std::string html = "<thead><tr>";
  for (const HtmlColumn& column : table.columns) {
    html += fmt::format("<th scope=\"col\"{}", column.is_number ? " class=\"number\"" : "");
    if (!column.meaning.empty()) html += fmt::format(" title=\"{}\"", html_text(column.meaning));
    html += fmt::format(">{}</th>", html_text(column.heading));
  }
  return html + "</tr></thead>\n";
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string html;
  for (const char letter : single_line(text)) switch (letter) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      case '\'': html += "&#39;"; break;
      default: html += letter;
    }
  return html;
}

std::string script_json(const nlohmann::ordered_json& value) {
  std::string json;
  for (const char letter :
       value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace))
    switch (letter) {
      case '<': json += "\\u003c"; break;
      case '>': json += "\\u003e"; break;
      case '&': json += "\\u0026"; break;
      default: json += letter;
    }
  return json;
}

std::string compact_svg(std::string_view svg) {
  struct Group {
    std::size_t begin;  ///< of its first tag, in `compact`
    std::size_t end;
  };
  std::string compact;
  std::vector<Group> open;
  std::size_t tag = 0;  // where the last one begins
  for (const char letter : svg) {
    const bool is_blank = letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r';
    if (is_blank && (compact.empty() || compact.back() == ' ')) continue;
    compact += is_blank ? ' ' : letter;
    if (letter == '<') tag = compact.size() - 1;
    if (letter != '>') continue;
    const std::string_view last = std::string_view(compact).substr(tag);
    if ((last.starts_with("<g ") || last == "<g>") && !last.ends_with("/>")) {
      open.push_back({.begin = tag, .end = compact.size()});
    } else if (last == "</g>" && !open.empty()) {
      const Group group = open.back();
      open.pop_back();
      if (tag - group.end <= 1 && compact.find_first_not_of(' ', group.end) == tag)
        compact.resize(group.begin);
    }
  }
  return compact;
}

std::string svg_url(std::string_view svg) {
  std::string url = "data:image/svg+xml;charset=utf-8,";
  constexpr std::string_view kEscaped = "%#\"<>&\\^`{|}";
  for (const char letter : svg) {
    const auto code = static_cast<unsigned char>(letter);
    if (code <= 0x20 && letter != ' ')
      url += "%20";  // lines and tabs are blanks to XML
    else if (code >= 0x7F || kEscaped.find(letter) != std::string_view::npos)
      url += fmt::format("%{:02X}", code);
    else
      url += letter;
  }
  return url;
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (is_plain_word(word)) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char letter : word) {
      if (letter == '\'')
        line += "'\\''";
      else
        line += letter;
    }
    line += '\'';
  }
  return line;
}

std::string html_table(const HtmlTable& table) {
  std::string html = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n"
      "<table{1}><caption>{0}</caption>\n",
      html_text(table.caption), table.is_sortable ? " class=\"sortable\"" : "");
  html += head_html(table) + "<tbody>\n";
  for (const std::vector<HtmlCell>& row : table.rows) {
    html += "<tr>";
    for (std::size_t at = 0; at < row.size(); ++at) html += cell_html(table, at, row[at]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string html_fact(const HtmlFact& fact) {
  std::string html = fmt::format("<div class=\"fact{}\"><dt>{}</dt><dd><strong>{}</strong>",
                                 fact.is_doubtful ? " doubt" : "", html_text(fact.question),
                                 html_text(fact.value.empty() ? "not known" : fact.value));
  if (!fact.note.empty()) html += fmt::format("<small>{}</small>", html_text(fact.note));
  return html + "</dd></div>\n";
}

std::string html_section(std::string_view id, std::string_view heading, std::string_view content) {
  if (content.empty()) return {};
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\">{1}</h2>\n{2}"
      "</section>\n",
      id, html_text(heading), content);
}

}  // namespace ptbench
