#include "tests/conformance/table.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

namespace troupe::testing {

static std::ostream& operator<<(std::ostream& out, Verdict verdict) { return out << static_cast<int>(verdict); }

BOOST_AUTO_TEST_SUITE(acceptance_table)

namespace {

const std::vector<Entry> kRows{{"R-01", "the exact sum"}, {"R-02", "any name"}, {"I-12", "an error"}};

AcceptanceTable table_of(const std::vector<std::string>& claimed = {}) {
  std::vector<Entry> entries;
  for (const std::string& row : claimed) entries.push_back({row, ""});
  return {kRows, {{"I-12", "no such thing"}}, entries};
}

std::string last_line_of(const AcceptanceTable& table) {
  std::ostringstream out;
  table.print(out);
  const std::string text = out.str();
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(entries_are_lines_without_comments) {
  const std::vector<Entry> expected{{"R-01", "the exact  sum"}, {"R-02", ""}};
  BOOST_CHECK(read_entries("# rows\n\nR-01   the exact  sum\nR-02\n") == expected);
}

BOOST_AUTO_TEST_CASE(row_passes_when_all_its_tests_passed) {
  AcceptanceTable table = table_of();
  table.add("process", "program x\ntest a R-01\ntest b R-01 R-02\npassed a\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);  // b did not run
  table.add("process", "program x\ntest a R-01\ntest b R-01 R-02\npassed a\npassed b\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::passed);
  BOOST_TEST(table.verdict("R-02") == Verdict::passed);
  table.add("scenarios", "test c R-02\nfailed c\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::passed);
  BOOST_TEST(table.verdict("R-02") == Verdict::failed);
}

BOOST_AUTO_TEST_CASE(row_without_a_test_is_missing_or_not_applicable) {
  const AcceptanceTable table = table_of();
  BOOST_TEST(table.verdict("R-01") == Verdict::missing);
  BOOST_TEST(table.verdict("I-12") == Verdict::not_applicable);
  BOOST_TEST(table.holds());  // the row is not claimed
}

BOOST_AUTO_TEST_CASE(conformance_test_passes_over_all_three_links) {
  AcceptanceTable table = table_of();
  const char* passed = "test a R-01\npassed a\n";
  table.add("conformance", passed);
  table.add("conformance_ipc", passed);
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);
  table.add("conformance_tcp", passed);
  BOOST_TEST(table.verdict("R-01") == Verdict::passed);
  table.add("conformance_tcp", "test a R-01\nfailed a\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);
}

BOOST_AUTO_TEST_CASE(test_may_skip_a_link_but_not_all) {
  AcceptanceTable table = table_of();
  const char* skipped = "test a R-01\nskipped a\n";
  for (const char* suite : {"conformance", "conformance_ipc", "conformance_tcp"}) table.add(suite, skipped);
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);
  table.add("conformance_ipc", "test a R-01\npassed a\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::passed);
}

BOOST_AUTO_TEST_CASE(row_that_needs_a_gpu_is_not_applicable_where_there_is_none_and_may_be_claimed) {
  AcceptanceTable table = table_of({"R-01"});
  table.add("process", "test a R-01 needs_gpu\nskipped a\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::not_applicable);
  BOOST_TEST(table.holds());
  table.add("process", "test a R-01 needs_gpu\nfailed a\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);
  table.add("process", "test a R-01 needs_gpu\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);  // the test was not even skipped
  table.add("process", "test a R-01 needs_gpu\nskipped a\ntest b R-01\nskipped b\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);  // b could have run
  table.add("process", "test a R-01 needs_gpu\npassed a\n");
  BOOST_TEST(table.verdict("R-01") == Verdict::failed);  // the earlier result of b
}

BOOST_AUTO_TEST_CASE(claim_without_a_passed_test_does_not_hold) {
  AcceptanceTable table = table_of({"R-01", "R-99"});
  const std::vector<std::string> expected{"claimed, but missing: R-01", "claimed, but no row: R-99"};
  BOOST_TEST(table.complaints() == expected, boost::test_tools::per_element());
  BOOST_TEST(!table.holds());
}

BOOST_AUTO_TEST_CASE(label_that_names_no_row_is_told) {
  AcceptanceTable table = table_of();
  table.add("process", "test a R-77 fault-F12 B-09\npassed a\n");  // labels of other families name no row here
  const std::vector<std::string> expected{"no row, but a label of a: R-77"};
  BOOST_TEST(table.complaints() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(last_line_counts_all_rows) {
  AcceptanceTable table = table_of();
  table.add("process", "test a R-01\nfailed a\n");
  BOOST_TEST(last_line_of(table) == "conformance: 3 rows, 0 passed, 1 not applicable, 1 failed, 1 missing\n");
  BOOST_TEST(!table.holds());
}

BOOST_AUTO_TEST_CASE(expected_result_and_test_stand_side_by_side) {
  AcceptanceTable table = table_of();
  table.add("process", "test calls/sync_call_returns_the_result R-01\npassed calls/sync_call_returns_the_result\n");
  std::ostringstream out;
  table.print(out);
  std::istringstream lines(out.str());
  std::string line;
  bool found = false;
  while (std::getline(lines, line)) {
    BOOST_TEST(line.size() <= 140U);
    found = found ||
            (line.starts_with("R-01 passed  the exact sum ") &&
             line.find(" calls/sync_call_returns_the_result ") != std::string::npos && line.ends_with("process ok"));
  }
  BOOST_TEST(found, out.str());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
