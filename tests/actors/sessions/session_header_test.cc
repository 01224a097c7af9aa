#include "actors/sessions/session_header.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

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
  BOOST_TEST(of_header(51).starts_with("| 51 | 5 | of a whole message outside lane 0: its part of the grant"));
}

BOOST_AUTO_TEST_CASE(header_has_the_documented_bytes) {
  const Frame encoded = encode({.kind = SessionKind::data,
                                .lane = SessionLane::words,
                                .part = Part::middle,
                                .from = {.high = 0x0102030405060708, .low = 0x1112131415161718},
                                .to = {.high = 0x2122232425262728, .low = 0x3132333435363738},
                                .number = 0x41,
                                .acked_lane = SessionLane::answers,
                                .ack = 0x42,
                                .ahead = 0x8000000000000001,
                                .bytes_granted = 0x43,
                                .calls_granted = 0x44,
                                .nested_granted = 0x45,
                                .charge = Charge::nested,
                                .remaining_us = 0x46,
                                .after = 0x47,
                                .riders = 0x49,
                                .bytes_used = 0x50515253,
                                .hash = 0x48});
  const std::vector<unsigned char> expected{
      'T',  'R',  'P',  'S',  4,    1,    4,    2,                                                     //
      0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  //
      0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,  //
      0x41, 0,    0,    0,    0,    0,    0,    0,    3,    2,    0x49, 0x53, 0x52, 0x51, 0x50, 0,     //
      0x42, 0,    0,    0,    0,    0,    0,    0,    1,    0,    0,    0,    0,    0,    0,    0x80,  //
      0x43, 0,    0,    0,    0,    0,    0,    0,    0x44, 0,    0,    0,    0,    0,    0,    0,     //
      0x45, 0,    0,    0,    0,    0,    0,    0,    0x46, 0,    0,    0,    0,    0,    0,    0,     //
      0x47, 0,    0,    0,    0,    0,    0,    0,    0x48, 0,    0,    0,    0,    0,    0,    0};
  BOOST_REQUIRE_EQUAL(encoded.bytes.size(), SessionHeader::kBytes);
  BOOST_TEST(std::memcmp(encoded.bytes.data(), expected.data(), expected.size()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
