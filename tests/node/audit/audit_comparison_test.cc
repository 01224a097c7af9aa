#include "node/audit/audit_comparison.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "node/keys/word_lines.h"

namespace troupe {
namespace {

AuditHash hash_of(std::uint64_t line) { return audit_hash(fmt::format("line {}", line)); }

ToldHead head(std::uint64_t line) { return {"a", line, detail::hex_of(hash_of(line))}; }

/// A log of "a" with lines 10 to 20.
struct Compared {
  Compared() {
    for (std::uint64_t line = 10; line <= 20; ++line)
      comparison.has("a", line, hash_of(line), detail::hex_of(hash_of(line - 1)));
  }
  AuditComparison comparison;
};

BOOST_AUTO_TEST_SUITE(audit_comparison)

BOOST_FIXTURE_TEST_CASE(lines_as_they_were_told_agree, Compared) {
  for (const std::uint64_t line : {10U, 20U, 15U}) comparison.told("b", head(line), "b.audit:1");
  comparison.told("c", head(12), "c.audit:1");
  comparison.told("c", head(9), "c.audit:2");  // the first line given says what the one before it was
  comparison.told("c", head(8), "c.audit:3");
  const auto verdict = comparison.verdict_on("a");
  BOOST_TEST(verdict.agreed == 20U);
  BOOST_TEST(verdict.witnesses == (std::set<std::string>{"b", "c"}), boost::test_tools::per_element());
  BOOST_TEST(verdict.not_given == 8U);
  BOOST_TEST(verdict.broken.empty());
}

BOOST_FIXTURE_TEST_CASE(a_line_that_is_another_one_is_named, Compared, *boost::unit_test::label("S14")) {
  comparison.told("b", {"a", 12, detail::hex_of(hash_of(13))}, "b.audit:7");
  comparison.told("b", {"a", 11, "no hash at all"}, "b.audit:6");
  comparison.told("b", {"a", 9, detail::hex_of(hash_of(10))}, "b.audit:5");
  const auto verdict = comparison.verdict_on("a");
  BOOST_TEST_REQUIRE(verdict.broken.size() == 3U);
  BOOST_TEST(verdict.broken[0].starts_with("b.audit:5: line 9 of a is not the one that b was told of"));
  BOOST_TEST(verdict.broken[1].starts_with("b.audit:6: line 11 of a is not the one that b was told of"));
  BOOST_TEST(verdict.broken[2].starts_with("b.audit:7: line 12 of a is not the one that b was told of"));
  BOOST_TEST(verdict.agreed == 0U);
}

BOOST_FIXTURE_TEST_CASE(lines_that_are_missing_at_the_end_are_found, Compared, *boost::unit_test::label("S14")) {
  comparison.told("b", head(21), "b.audit:7");
  comparison.told("b", head(std::numeric_limits<std::uint64_t>::max()), "b.audit:8");
  const auto verdict = comparison.verdict_on("a");
  BOOST_TEST_REQUIRE(verdict.broken.size() == 2U);
  BOOST_TEST(verdict.broken[0] == "b.audit:7: b was told of line 21 of a, whose log ends with line 20");
}

BOOST_FIXTURE_TEST_CASE(a_log_is_no_witness_of_itself, Compared) {
  comparison.told("a", head(12), "a.audit:7");
  BOOST_TEST(comparison.verdict_on("a").agreed == 0U);
}

BOOST_FIXTURE_TEST_CASE(nodes_without_a_log_are_named, Compared) {
  comparison.told("b", {"d", 1, {}}, "b.audit:7");
  comparison.told("b", head(9), "b.audit:8");
  BOOST_TEST(comparison.not_given() == (std::vector<std::string>{"d"}), boost::test_tools::per_element());
  for (const char* node : {"b", "d"}) {
    const auto verdict = comparison.verdict_on(node);
    BOOST_TEST(verdict.agreed + verdict.not_given + verdict.broken.size() == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
