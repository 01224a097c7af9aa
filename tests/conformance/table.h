// The acceptance table: which test covers which row and what became of it, from the labels and results that the suites
// themselves wrote (tests/result_log.cc). Nothing in it is kept by hand but the rows and their expected results.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

/// One line of a data file: the word that it begins with, and the rest.
struct Entry {
  std::string id;
  std::string text;

  friend bool operator==(const Entry&, const Entry&) = default;
};

/// The lines of a data file, without empty ones and those that begin with '#'.
[[nodiscard]] std::vector<Entry> read_entries(std::string_view text);

enum class Outcome { passed, failed, skipped, not_run };
enum class Verdict { passed, failed, not_applicable, missing };

/// A test and what became of it in each suite that has it, by the suite's name.
struct Coverage {
  std::string test;
  std::map<std::string, Outcome> runs;
};

class AcceptanceTable {
 public:
  /// `rows`: id and expected result. `not_applicable`: id and why. `claimed`: ids that must have passed.
  AcceptanceTable(std::vector<Entry> rows, const std::vector<Entry>& not_applicable, const std::vector<Entry>& claimed);

  /// What one suite wrote. A labelled test without an end did not run. The suites "<name>", "<name>_ipc" and
  /// "<name>_tcp" run the same program over three links, if the name begins with "conformance".
  void add(const std::string& suite, std::string_view results);

  /// Not applicable here: all its tests are labelled "needs_gpu" and were skipped everywhere.
  /// Passed: every test of the row passed wherever it ran, and each ran somewhere. A test of a conformance suite that
  /// one of its three runs does not have did not run there.
  [[nodiscard]] Verdict verdict(const std::string& row) const;

  /// What is wrong with the table itself: a claimed row that did not pass, a claim or label that names no row.
  [[nodiscard]] std::vector<std::string> complaints() const;

  /// No row failed, and nothing is wrong with the table.
  [[nodiscard]] bool holds() const;

  /// The table at 140 columns, the complaints, and as the last line the counts.
  void print(std::ostream& out) const;

 private:
  [[nodiscard]] int count(Verdict verdict) const;
  [[nodiscard]] std::vector<Coverage> coverage(const std::string& row) const;
  [[nodiscard]] bool lacks_gpu(const Coverage& coverage) const;

  std::vector<Entry> rows_;
  std::map<std::string, std::string> not_applicable_;
  std::vector<std::string> claimed_;
  std::map<std::string, std::map<std::string, std::map<std::string, Outcome>>> tests_;  // label, test, suite
};

}  // namespace troupe::testing
