// Checks that actors/PYTORCH.md and autograd/PYTORCH.md cover PyTorch's names, and that their code compiles.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/table.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(pytorch_names)

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(TROUPE_SOURCE_DIR "/" + path);
  BOOST_REQUIRE_MESSAGE(in, path << " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the texts between backticks.
std::vector<std::string> code_of(std::string_view text) {
  std::vector<std::string> spans;
  for (auto begin = text.find('`'); begin != std::string_view::npos;) {
    const auto end = text.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    spans.emplace_back(text.substr(begin + 1, end - begin - 1));
    begin = text.find('`', end + 1);
  }
  return spans;
}

/// One line of a table: a PyTorch name, its counterpart in Troupe, an example or the reason.
struct Line {
  std::string name;
  std::string ours;
  std::string example;
};

std::vector<Line> lines_of(const std::string& markdown) {
  std::vector<Line> lines;
  for (const Entry& entry : read_entries(markdown)) {
    if (entry.id != "|" || !entry.text.starts_with('`')) continue;
    const auto first = entry.text.find(" | ");
    const auto second = entry.text.find(" | ", first + 3);
    BOOST_REQUIRE_MESSAGE(second != std::string::npos, "not three columns: " << entry.text);
    lines.push_back({code_of(entry.text.substr(0, first)).at(0), entry.text.substr(first + 3, second - first - 3),
                     entry.text.substr(second + 3)});
  }
  return lines;
}

/// Returns the line without the comment after the code and without double spaces, for comparisons.
std::string bare(std::string_view line) {
  std::string out;
  for (const char c : line) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  const auto comment = out.find("; //");
  return comment == std::string::npos ? out : out.substr(0, comment + 1);
}

/// A page of names, the names that it must contain, and the source that compiles its examples.
struct Page {
  const char* path;
  const char* names;
  const char* examples;
};
constexpr Page kPages[]{
    {"actors/PYTORCH.md", "tests/conformance/pytorch_names", "tests/conformance/pytorch_examples.cc"},
    {"autograd/PYTORCH.md", "tests/conformance/pytorch_training_names",
     "tests/conformance/pytorch_training_examples.cc"}};

std::set<std::string> compiled_lines(const std::string& path) {
  std::set<std::string> lines;
  const std::string text = text_of(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.insert(bare(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_name_of_pytorch_has_its_line) {
  for (const Page& page : kPages) {
    std::set<std::string> named;
    for (const Line& line : lines_of(text_of(page.path))) {
      BOOST_TEST(named.insert(line.name).second, line.name << " has two lines");
      BOOST_TEST(!line.ours.empty(), line.name << " has no counterpart and no word why");
    }
    const std::vector<Entry> names = read_entries(text_of(page.names));
    BOOST_TEST_REQUIRE(names.size() > 50U);
    for (const Entry& name : names) BOOST_TEST(named.contains(name.id), name.id << " is not in " << page.path);
  }
}

BOOST_AUTO_TEST_CASE(name_without_a_counterpart_has_a_reason) {
  for (const Page& page : kPages) {
    for (const Line& line : lines_of(text_of(page.path))) {
      if (line.ours == "none") BOOST_TEST(line.example.size() > 5U, line.name << ": why not?");
    }
  }
}

BOOST_AUTO_TEST_CASE(every_example_is_code_that_compiles) {
  for (const Page& page : kPages) {
    const std::set<std::string> compiled = compiled_lines(page.examples);
    int examples = 0;
    for (const Line& line : lines_of(text_of(page.path))) {
      for (const std::string& code : code_of(line.example)) {
        if (!code.ends_with(';') && !code.ends_with('}')) continue;
        ++examples;
        BOOST_TEST(compiled.contains(bare(code)), line.name << ": not in " << page.examples << ": " << code);
      }
    }
    BOOST_TEST(examples > 25);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
