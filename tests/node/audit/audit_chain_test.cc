#include "node/audit/audit_chain.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/keys/word_lines.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

constexpr AuditMerge::WallTime kTime{1'700'000'000s + 250ms};  // 2023-11-14 22:13:20.250

AuditMerge::Counted refusals(std::string peer, std::uint64_t count = 1) {
  return {{.event = AuditEvent::refused, .reason = "auth_failed", .peer = std::move(peer)}, count, kTime};
}

/// Returns five lines, without newlines.
Lines five() {
  AuditChain chain("ps0");
  Lines lines;
  for (int i = 0; i < 5; ++i) {
    lines.push_back(chain.line_of(refusals(std::to_string(i))));
    chain.written(lines.back());
    lines.back().pop_back();
  }
  return lines;
}

/// Returns "" or "LINE: why", LINE counted from 1.
std::string broken(const Lines& lines) {
  AuditCheck check;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const std::string why = check.take(lines[i], true); !why.empty()) return fmt::format("{}: {}", i + 1, why);
  }
  const std::string why = check.end();
  return why.empty() ? "" : fmt::format("{}: {}", lines.size(), why);
}

BOOST_AUTO_TEST_SUITE(audit_chain)

BOOST_AUTO_TEST_CASE(a_line_says_all_that_is_known) {
  AuditChain chain("ps0");
  const std::string line = chain.line_of({{AuditEvent::refused, "auth_failed", "worker1", "10.0.0.7"}, 3, kTime});
  BOOST_TEST(line == R"({"time":"2023-11-14T22:13:20.250Z","node":"ps0","event":"refused","reason":"auth_failed",)"
                     R"("peer":"worker1","address":"10.0.0.7","count":3,"number":1,)"
                     R"("prev":"0000000000000000000000000000000000000000000000000000000000000000"})"
                     "\n");
  chain.written(line);
  const auto next = nlohmann::json::parse(chain.line_of({{.event = AuditEvent::closed}, 1, kTime}));
  BOOST_TEST(next["prev"] == detail::hex_of(audit_hash(std::string_view(line).substr(0, line.size() - 1))));
  BOOST_TEST(next["number"] == 2);
  BOOST_TEST(!next.contains("peer"));
}

BOOST_AUTO_TEST_CASE(the_hash_is_blake2b_of_32_bytes) {
  // b2sum -l 256 of "abc"
  BOOST_TEST(detail::hex_of(audit_hash("abc")) == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

BOOST_AUTO_TEST_CASE(no_text_of_a_peer_makes_a_line_or_commands_a_terminal,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  const std::vector<std::string> hostile{"a\nb",
                                         "a\r\nb",
                                         "\x1b[2J\x1b[1;1H",
                                         std::string("a\0b", 3),
                                         "\x7f",
                                         "\xc2\x9b"
                                         "31m",
                                         "\xff\xfe",
                                         "\xe2\x80\xae",
                                         "\",\"event\":\"joined",
                                         "\xc0\x8a",
                                         "\xe2\x80\xa8"};
  for (const std::string& name : hostile) {
    const AuditChain chain("ps0");
    const std::string line =
        chain.line_of({{.event = AuditEvent::refused, .reason = name, .peer = name, .address = name}, 1, kTime});
    BOOST_TEST(std::ranges::count(line, '\n') == 1);
    BOOST_TEST(std::ranges::all_of(line.substr(0, line.size() - 1), [](char c) { return c >= ' ' && c < 0x7f; }));
    const auto json = nlohmann::json::parse(line);
    BOOST_TEST(json["event"] == "refused");
    AuditCheck check;
    BOOST_TEST(check.take(std::string_view(line).substr(0, line.size() - 1), true) == "");
  }
}

BOOST_AUTO_TEST_CASE(a_whole_log_is_not_broken) { BOOST_TEST(broken(five()) == ""); }

BOOST_AUTO_TEST_CASE(a_changed_line_is_found_at_the_next,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  Lines lines = five();
  const auto at = lines[2].find("auth_failed");
  lines[2].replace(at, 4, "AUTH");
  BOOST_TEST(broken(lines) == "4: it does not follow the line before it");
}

BOOST_AUTO_TEST_CASE(a_line_that_was_taken_out_is_found,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  Lines lines = five();
  lines.erase(lines.begin() + 2);
  BOOST_TEST(broken(lines) == "3: it does not follow the line before it");
}

BOOST_AUTO_TEST_CASE(lines_that_changed_places_are_found,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  Lines lines = five();
  std::swap(lines[1], lines[2]);
  BOOST_TEST(broken(lines) == "2: it does not follow the line before it");
}

BOOST_AUTO_TEST_CASE(a_line_that_was_cut_off_is_found,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  Lines lines = five();
  lines[2].resize(40);
  BOOST_TEST(broken(lines) == "4: it does not follow the line before it");
  lines = five();
  lines[4].resize(40);
  BOOST_TEST(broken(lines) == "5: it is cut off, or not one of an audit log");
  AuditCheck check;
  BOOST_TEST(check.take(five()[0], false) == "");
  BOOST_TEST(check.end() == "it is cut off, or not one of an audit log");
}

BOOST_AUTO_TEST_CASE(a_line_that_was_put_in_is_found,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  Lines lines = five();
  lines.insert(lines.begin() + 1, "nothing happened");
  BOOST_TEST(broken(lines) == "3: it does not follow the line before it");
  lines = five();
  lines.insert(lines.begin() + 1, 2, "nothing happened");
  BOOST_TEST(broken(lines) == "3: it is not one of an audit log");
}

BOOST_AUTO_TEST_CASE(a_later_life_goes_on_behind_the_last_line) {
  Lines lines = five();
  AuditChain chain("ps0");
  chain.go_on_after(fmt::format("{}\n{}\n", lines[3], lines[4]));
  std::string line = chain.line_of({{.event = AuditEvent::opened}, 1, kTime});
  line.pop_back();
  lines.push_back(line);
  BOOST_TEST(broken(lines) == "");
  BOOST_TEST(nlohmann::json::parse(line)["number"] == 6);
}

BOOST_AUTO_TEST_CASE(a_later_life_goes_on_behind_a_line_that_a_crash_cut_off) {
  Lines lines = five();
  lines[4].resize(40);
  AuditChain chain("ps0");
  chain.go_on_after(fmt::format("{}\n{}", lines[3], lines[4]));
  AuditChain other = chain;
  lines.push_back(chain.line_of({{.event = AuditEvent::opened}, 1, kTime}));
  lines.back().pop_back();
  BOOST_TEST(broken(lines) == "");
  lines.back() = other.line_of(refusals("a"));  // only a start of the log may follow
  lines.back().pop_back();
  BOOST_TEST(broken(lines) == "6: the line before it is not one of an audit log");
}

BOOST_AUTO_TEST_CASE(the_first_of_all_lines_follows_nothing) {
  Lines lines = five();
  const auto at = lines[0].rfind("0\"}");
  lines[0].replace(at, 1, "1");
  BOOST_TEST(broken(lines) == "1: it is the first line and follows another");
  lines = five();
  lines.erase(lines.begin());  // an older file that was not given
  BOOST_TEST(broken(lines) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
