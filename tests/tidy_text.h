// How the rules of the house read a file: its kind, its lines, what it includes.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy_rules.h"

namespace tidy {

[[nodiscard]] bool is_header(std::string_view path);
[[nodiscard]] bool is_source(std::string_view path);
[[nodiscard]] bool is_code(std::string_view path);

/// The first folder of a path: "tensor" of "tensor/ops/sort.h".
[[nodiscard]] std::string folder_of(std::string_view path);

/// "tensor/ops/" of "tensor/ops/sort.h"; empty if there is no folder.
[[nodiscard]] std::string_view parent_of(std::string_view path);

/// "sort" of "tensor/ops/sort.h".
[[nodiscard]] std::string_view stem_of(std::string_view path);

/// Calls `visit(line number, line)` for each line.
template <class Visit>
void for_each_line(const File& file, Visit visit) {
  std::istringstream in(file.text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) visit(number, line);
}

/// One #include, `quoted` or in angle brackets. Lines count from 1.
struct Include {
  int line = 0;
  std::string name;
  bool quoted = false;
};
[[nodiscard]] std::vector<Include> includes_of(const File& file);

/// Whether `c` is a letter, a digit or an underscore.
[[nodiscard]] bool is_word_part(char c);

/// Whether `text` has `word` with no letter, digit or underscore before or after it.
[[nodiscard]] bool says(std::string_view text, std::string_view word);

/// Removes `word` and the spaces around it from the front of `line`, if it stands there.
bool take(std::string_view& line, std::string_view word);

}  // namespace tidy
