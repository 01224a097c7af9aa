// The acceptance table: the tests that cover each row and their outcomes, from the labels and results that the suites
// wrote (tests/result_log.cc). Only the rows and their expected results are maintained by hand.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

/// One line of a data file: its first word, and the rest.
struct Entry {
  std::string id;
  std::string text;

  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Returns the lines of a data file, without empty lines and those that begin with '#'.
[[nodiscard]] std::vector<Entry> read_entries(std::string_view text);

enum class Outcome { passed, failed, skipped, not_run };
enum class Verdict { passed, failed, not_applicable, missing };

/// A test and its outcome in each suite that has it, by the suite's name.
struct Coverage {
  std::string test;
  std::map<std::string, Outcome> runs;
};

class AcceptanceTable {
 public:
  /// `rows`: id and expected result. `not_applicable`: id and reason. `claimed`: ids that must have passed.
  AcceptanceTable(std::vector<Entry> rows, const std::vector<Entry>& not_applicable, const std::vector<Entry>& claimed);

  /// Adds the output of one suite. A labelled test without an end did not run. If the name begins with "conformance",
  /// the suites "<name>", "<name>_ipc" and "<name>_tcp" are runs of one program over three links.
  void add(const std::string& suite, std::string_view results);

  /// Not applicable: all tests of the row are labelled "needs_gpu" and were skipped everywhere.
  /// Passed: every test of the row passed wherever it ran, and each ran somewhere. If one of the three runs of a
  /// conformance suite lacks a test, the test did not run there.
  [[nodiscard]] Verdict verdict(const std::string& row) const;

  /// Returns the errors of the table itself: a claimed row that did not pass, a claim or label that names no row.
  [[nodiscard]] std::vector<std::string> complaints() const;

  /// Returns true if no row failed and complaints() is empty.
  [[nodiscard]] bool holds() const;

  /// Prints the table at 140 columns, the complaints, and as the last line the counts.
  void print(std::ostream& out) const;

 private:
  [[nodiscard]] int count(Verdict verdict) const;
  [[nodiscard]] std::vector<Coverage> coverage(const std::string& row) const;
  [[nodiscard]] bool lacks_gpu(const Coverage& coverage) const;

  std::vector<Entry> rows_;
  std::map<std::string, std::string> not_applicable_;
  std::vector<std::string> claimed_;
  std::map<std::string, std::map<std::string, std::map<std::string, Outcome>>> tests_;  // by label, test, suite
};

}  // namespace troupe::testing
