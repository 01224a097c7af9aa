// acceptance_table <folder of rows, not_applicable, claimed> <folder of results>
// Prints the acceptance table of the suites' last results. The exit status is 0 if no row failed and all claimed rows
// passed.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/conformance/table.h"

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

enum class Age { current, older_than_its_program, of_no_program };

/// Results count only for the present program, whose path is their first line.
Age age_of(const fs::path& results, const std::string& text) {
  const std::string program = text.substr(0, text.find('\n')).substr(sizeof "program");
  if (!fs::exists(program)) return Age::of_no_program;
  return fs::last_write_time(results) < fs::last_write_time(program) ? Age::older_than_its_program : Age::current;
}

/// Returns the listed tests without their ends, as if none had run.
std::string without_ends(const std::string& results) {
  std::istringstream in(results);
  std::string listed;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("test ")) listed += line + '\n';
  }
  return listed;
}

int run(const fs::path& data, const fs::path& results) {
  const auto entries = [&](const char* file) { return troupe::testing::read_entries(text_of(data / file)); };
  troupe::testing::AcceptanceTable table(entries("rows"), entries("not_applicable"), entries("claimed"));
  for (const fs::directory_entry& file : fs::directory_iterator(results)) {
    const std::string text = text_of(file);
    const std::string suite = file.path().filename().string();
    if (!text.starts_with("program ")) throw std::runtime_error(file.path().string() + " holds no results");
    switch (age_of(file, text)) {
      case Age::current: table.add(suite, text); break;
      case Age::older_than_its_program:
        std::cerr << "changed since it ran, so nothing of it counts: " << suite << '\n';
        table.add(suite, without_ends(text));
        break;
      case Age::of_no_program: break;  // a suite that no longer exists
    }
  }
  table.print(std::cout);
  return table.holds() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: acceptance_table <folder of rows, not_applicable, claimed> <folder of results>\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "acceptance_table: " << error.what() << '\n';
    return 2;
  }
}
