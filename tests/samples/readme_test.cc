// Checks README.md and the guide: their programs and files are pieces of real ones, and their output is the programs'
// output.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// A fenced block and the comment above it, which names its source.
struct Block {
  std::string source;
  std::string language;
  std::string text;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  BOOST_REQUIRE_MESSAGE(file, path << " cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Block> blocks_of(const std::string& markdown) {
  std::vector<Block> blocks;
  std::istringstream lines(markdown);
  std::string source;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      if (!inside) blocks.push_back({source, line.substr(3), {}});
      inside = !inside;
      source.clear();
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("<!-- ")) {
      source = line.substr(5, line.find(" -->") - 5);
    }
  }
  return blocks;
}

/// Returns the output of a command that a user types in the root of the tree.
std::string output_of(const std::string& command) {
  const std::string line = "cd " TROUPE_SOURCE_DIR " && PATH=" TROUPE_PROGRAMS_DIR ":$PATH " + command + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), pclose);
  BOOST_REQUIRE(pipe);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), count);
  return output;
}

const std::string kRoot = TROUPE_SOURCE_DIR "/";
constexpr std::string_view kOutput = "output of ";

struct Checked {
  int pieces = 0;
  int outputs = 0;
};

/// Checks that every block of a page is found in its named source, and that every program is named.
Checked check_page(const std::string& page) {
  Checked checked;
  for (const Block& block : blocks_of(read(kRoot + page))) {
    if (block.source.starts_with(kOutput)) {
      BOOST_TEST(output_of(block.source.substr(kOutput.size())) == block.text,
                 page << ": not what " << block.source << " is");
      ++checked.outputs;
    } else if (block.language == "cpp" || block.language == "toml") {
      BOOST_REQUIRE_MESSAGE(!block.source.empty(), page << ": a block does not say where it comes from:\n"
                                                        << block.text);
      const bool found = read(kRoot + block.source).find(block.text) != std::string::npos;
      BOOST_TEST(found, page << ": " << block.source << " does not contain:\n" << block.text);
      ++checked.pieces;
    }
  }
  return checked;
}

std::vector<std::string> pages_of_the_guide() {
  std::vector<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "samples/guide")) {
    if (entry.path().extension() == ".md") pages.push_back("samples/guide/" + entry.path().filename().string());
  }
  return pages;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_readme_shows_pieces_of_real_programs_and_what_they_print) {
  const Checked checked = check_page("README.md");
  BOOST_TEST(checked.pieces >= 3);
  BOOST_TEST(checked.outputs >= 2);
}

BOOST_AUTO_TEST_CASE(each_page_of_the_guide_shows_pieces_of_a_real_program_and_what_it_prints) {
  const std::vector<std::string> pages = pages_of_the_guide();
  BOOST_TEST(pages.size() == 10U);
  for (const std::string& page : pages) {
    const Checked checked = check_page(page);
    BOOST_TEST(checked.pieces >= 2, page << " shows little of its program");
    BOOST_TEST(checked.outputs == 1, page << " does not show what its program prints");
  }
}

BOOST_AUTO_TEST_CASE(a_block_is_taken_with_the_comment_above_it) {
  const auto blocks = blocks_of("text\n<!-- a/b.cc -->\n```cpp\nint x;\n```\n```sh\nls\n```\n");
  BOOST_REQUIRE(blocks.size() == 2U);
  BOOST_TEST(blocks[0].source == "a/b.cc");
  BOOST_TEST(blocks[0].text == "int x;\n");
  BOOST_TEST(blocks[1].source.empty());
}
