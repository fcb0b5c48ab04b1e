#include "tests/support/svg.h"

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>

namespace ptbench::testing {
namespace {

using boost::property_tree::ptree;

void collect(const ptree& node, bool is_text, std::string& texts) {
  if (is_text && !node.data().empty()) texts += node.data() + '\n';
  for (const auto& [name, child] : node)
    if (name != "<xmlattr>" && name != "<xmlcomment>")
      collect(child, is_text || name == "text" || name == "title", texts);
}

}  // namespace

std::string texts_of_svg(const std::string& svg) {
  std::istringstream stream(svg);
  ptree document;
  boost::property_tree::read_xml(stream, document);
  std::string texts;
  collect(document.get_child("svg"), false, texts);
  return texts;
}

}  // namespace ptbench::testing
