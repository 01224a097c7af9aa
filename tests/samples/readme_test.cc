// README.md shows what is so: its programs and files are pieces of real ones, its output is what the program prints.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// A fenced block and the comment above it, which says what it shows.
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

std::string output_of(const std::string& program) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((program + " 2>/dev/null").c_str(), "r"), pclose);
  BOOST_REQUIRE(pipe);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) output.append(buffer.data(), count);
  return output;
}

const std::string kRoot = TROUPE_SOURCE_DIR "/";
constexpr std::string_view kOutput = "output of ";

}  // namespace

BOOST_AUTO_TEST_CASE(every_program_and_file_in_the_readme_is_a_piece_of_a_real_one) {
  int checked = 0;
  for (const Block& block : blocks_of(read(kRoot + "README.md"))) {
    if (block.language != "cpp" && block.language != "toml") continue;
    BOOST_REQUIRE_MESSAGE(!block.source.empty(), "a block of the README does not say where it comes from:\n" << block.text);
    const bool found = read(kRoot + block.source).find(block.text) != std::string::npos;
    BOOST_TEST(found, block.source << " does not contain:\n" << block.text);
    ++checked;
  }
  BOOST_TEST(checked >= 3);
}

BOOST_AUTO_TEST_CASE(every_output_in_the_readme_is_what_the_program_prints) {
  int checked = 0;
  for (const Block& block : blocks_of(read(kRoot + "README.md"))) {
    if (!block.source.starts_with(kOutput)) continue;
    BOOST_TEST(output_of(TROUPE_PROGRAMS_DIR "/" + block.source.substr(kOutput.size())) == block.text);
    ++checked;
  }
  BOOST_TEST(checked >= 2);
}

BOOST_AUTO_TEST_CASE(a_block_is_taken_with_the_comment_above_it) {
  const auto blocks = blocks_of("text\n<!-- a/b.cc -->\n```cpp\nint x;\n```\n```sh\nls\n```\n");
  BOOST_REQUIRE(blocks.size() == 2U);
  BOOST_TEST(blocks[0].source == "a/b.cc");
  BOOST_TEST(blocks[0].text == "int x;\n");
  BOOST_TEST(blocks[1].source.empty());
}
