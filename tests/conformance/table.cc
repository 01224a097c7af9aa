#include "tests/conformance/table.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>
#include <utility>

namespace troupe::testing {
namespace {

const std::string kNeedsGpu = "needs_gpu";
constexpr std::array<std::string_view, 3> kLinks{"", "_ipc", "_tcp"};

/// The suite's program, and which of its runs it is.
struct Place {
  std::string program;
  std::size_t link = 0;  // index in kLinks
};

bool has_links(std::string_view suite) { return suite.starts_with("conformance"); }

Place place_of(const std::string& suite) {
  for (std::size_t link = 1; link < kLinks.size(); ++link) {
    if (has_links(suite) && suite.ends_with(kLinks[link])) {
      return {suite.substr(0, suite.size() - kLinks[link].size()), link};
    }
  }
  return {suite, 0};
}

Verdict verdict_of(const Coverage& coverage) {
  const auto any = [&](Outcome outcome) {
    return std::ranges::any_of(coverage.runs, [&](const auto& run) { return run.second == outcome; });
  };
  return any(Outcome::failed) || any(Outcome::not_run) || !any(Outcome::passed) ? Verdict::failed : Verdict::passed;
}

std::string_view text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed: return "ok";
    case Outcome::failed: return "FAIL";
    case Outcome::skipped: return "-";
    case Outcome::not_run: return "NONE";
  }
  return "";
}

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed: return "passed";
    case Verdict::failed: return "FAILED";
    case Verdict::not_applicable: return "n/a";
    case Verdict::missing: return "missing";
  }
  return "";
}

/// Returns pieces of at most `width` characters, cut after a space, '_' or '/' if possible.
std::vector<std::string> wrap(std::string text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    const auto cut = text.find_last_of(" _/", width - 1);
    const std::size_t size = cut == std::string::npos || cut == 0 ? width : cut + 1;
    lines.push_back(text.substr(0, size));
    text.erase(0, size);
  }
  lines.push_back(std::move(text));
  return lines;
}

using Lines = std::vector<std::string>;

// id, verdict, expected, test, local, ipc, tcp, other
constexpr std::array<std::size_t, 8> kWidths{4, 7, 42, 49, 5, 4, 4, 17};

void print_cells(std::ostream& out, const std::array<Lines, kWidths.size()>& cells) {
  std::size_t height = 0;
  for (const Lines& cell : cells) height = std::max(height, cell.size());
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    std::size_t begin = 0;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      text.resize(begin, ' ');
      if (line < cells[column].size()) text += cells[column][line];
      begin += kWidths[column] + 1;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
}

/// The last four columns: the three runs of a conformance suite, and other suites, named if they did not pass.
std::array<Lines, 4> runs_of(const Coverage& coverage) {
  std::array<Lines, 4> columns;
  for (const auto& [suite, outcome] : coverage.runs) {
    if (has_links(suite)) {
      columns[place_of(suite).link] = {std::string(text_of(outcome))};
    } else {
      columns[3].push_back(suite + ' ' + std::string(text_of(outcome)));
    }
  }
  return columns;
}

}  // namespace

std::vector<Entry> read_entries(std::string_view text) {
  std::vector<Entry> entries;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto space = std::min(line.find(' '), line.size());
    const auto rest = std::min(line.find_first_not_of(' ', space), line.size());
    entries.push_back({line.substr(0, space), line.substr(rest)});
  }
  return entries;
}

AcceptanceTable::AcceptanceTable(std::vector<Entry> rows, const std::vector<Entry>& not_applicable,
                                 const std::vector<Entry>& claimed)
    : rows_(std::move(rows)) {
  for (const Entry& entry : not_applicable) not_applicable_.emplace(entry.id, entry.text);
  for (const Entry& entry : claimed) claimed_.push_back(entry.id);
}

void AcceptanceTable::add(const std::string& suite, std::string_view results) {
  std::map<std::string, Lines> labels;  // of each test
  const auto set = [&](const std::string& test, Outcome outcome) {
    for (const std::string& label : labels[test]) tests_[label][test][suite] = outcome;
  };
  for (const auto& [word, rest] : read_entries(results)) {
    std::istringstream words{rest};
    std::string test;
    words >> test;
    if (word == "test") {
      for (std::string label; words >> label;) labels[test].push_back(label);
      set(test, Outcome::not_run);
    }
    if (word == "passed") set(test, Outcome::passed);
    if (word == "failed") set(test, Outcome::failed);
    if (word == "skipped") set(test, Outcome::skipped);
  }
}

std::vector<Coverage> AcceptanceTable::coverage(const std::string& row) const {
  std::vector<Coverage> all;
  const auto tests = tests_.find(row);
  if (tests == tests_.end()) return all;
  for (const auto& [test, runs] : tests->second) {
    Coverage coverage{test, runs};
    for (const auto& [suite, outcome] : runs) {
      if (!has_links(suite)) continue;
      for (const std::string_view link : kLinks) {
        coverage.runs.try_emplace(place_of(suite).program + std::string(link), Outcome::not_run);
      }
    }
    all.push_back(std::move(coverage));
  }
  return all;
}

Verdict AcceptanceTable::verdict(const std::string& row) const {
  const std::vector<Coverage> tests = coverage(row);
  if (tests.empty()) return not_applicable_.contains(row) ? Verdict::not_applicable : Verdict::missing;
  if (std::ranges::all_of(tests, [this](const auto& test) { return lacks_gpu(test); })) return Verdict::not_applicable;
  const bool passed = std::ranges::all_of(tests, [](const auto& test) { return verdict_of(test) == Verdict::passed; });
  return passed ? Verdict::passed : Verdict::failed;
}

bool AcceptanceTable::lacks_gpu(const Coverage& coverage) const {
  const auto labelled = tests_.find(kNeedsGpu);
  return labelled != tests_.end() && labelled->second.contains(coverage.test) &&
         std::ranges::all_of(coverage.runs, [](const auto& run) { return run.second == Outcome::skipped; });
}

std::vector<std::string> AcceptanceTable::complaints() const {
  std::vector<std::string> complaints;
  const auto is_row = [this](std::string_view id) {
    return std::ranges::any_of(rows_, [&](const Entry& row) { return row.id == id; });
  };
  const auto is_family = [this](std::string_view label) {
    const auto family = label.substr(0, label.find('-') + 1);
    return !family.empty() && std::ranges::any_of(rows_, [&](const Entry& row) { return row.id.starts_with(family); });
  };
  for (const std::string& row : claimed_) {
    if (!is_row(row)) complaints.push_back("claimed, but no row: " + row);
    else if (verdict(row) != Verdict::passed &&
             !(verdict(row) == Verdict::not_applicable && !not_applicable_.contains(row)))
      complaints.push_back("claimed, but " + std::string(text_of(verdict(row))) + ": " + row);
  }
  for (const auto& [row, why] : not_applicable_) {
    if (!is_row(row)) complaints.push_back("not applicable, but no row: " + row);
  }
  for (const auto& [label, tests] : tests_) {
    if (is_family(label) && !is_row(label))
      complaints.push_back("no row, but a label of " + tests.begin()->first + ": " + label);
  }
  return complaints;
}

bool AcceptanceTable::holds() const { return count(Verdict::failed) == 0 && complaints().empty(); }

int AcceptanceTable::count(Verdict wanted) const {
  return static_cast<int>(std::ranges::count_if(rows_, [&](const Entry& row) { return verdict(row.id) == wanted; }));
}

void AcceptanceTable::print(std::ostream& out) const {
  print_cells(out, {{{"row"}, {"result"}, {"expected"}, {"test"}, {"local"}, {"ipc"}, {"tcp"}, {"elsewhere"}}});
  for (const Entry& row : rows_) {
    const Verdict verdict = this->verdict(row.id);
    Lines id{row.id};
    Lines result{std::string(text_of(verdict))};
    Lines expected = wrap(row.text, kWidths[2]);
    std::vector<Coverage> tests = coverage(row.id);
    if (tests.empty()) {
      const auto why = not_applicable_.find(row.id);
      print_cells(out, {id, result, expected, why == not_applicable_.end() ? Lines{} : wrap(why->second, kWidths[3])});
    }
    for (const Coverage& test : tests) {
      const auto [local, ipc, tcp, elsewhere] = runs_of(test);
      print_cells(out, {id, result, expected, wrap(test.test, kWidths[3]), local, ipc, tcp, elsewhere});
      id = result = expected = {};
    }
  }
  out << '\n';
  for (const std::string& complaint : complaints()) out << complaint << '\n';
  out << "conformance: " << rows_.size() << " rows, " << count(Verdict::passed) << " passed, "
      << count(Verdict::not_applicable) << " not applicable, " << count(Verdict::failed) << " failed, "
      << count(Verdict::missing) << " missing\n";
}

}  // namespace troupe::testing
