#include "actors/sessions/session_header.h"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(session_header)

/// Returns the row of a table of WIRE.md for the field at `offset`; the table is the first one after `heading`.
std::string documented(std::string_view heading, std::size_t offset) {
  std::ifstream file(TROUPE_SOURCE_DIR "/messages/WIRE.md");
  const std::string row = fmt::format("| {} | ", offset);
  bool is_there = false;
  for (std::string line; std::getline(file, line);) {
    is_there = is_there || line.find(heading) != std::string::npos;
    if (is_there && line.starts_with(row)) return line;
  }
  return {};
}

BOOST_AUTO_TEST_CASE(the_document_describes_this_version) {
  const auto of_header = [](std::size_t offset) {
    return documented(fmt::format("field of the session header, {} bytes", SessionHeader::kBytes), offset);
  };
  BOOST_TEST(of_header(4) == fmt::format("| 4 | 1 | version, {} |", SessionHeader::kVersion));
  BOOST_TEST(of_header(50).starts_with("| 50 | 1 | riders"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
