#include "tests/tidy_text.h"

#include <algorithm>
#include <cctype>

namespace tidy {

bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cuh"); }
bool is_source(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".cu"); }
bool is_code(std::string_view path) { return is_header(path) || is_source(path); }

std::string folder_of(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash + 1);
}

std::string_view stem_of(std::string_view path) {
  path.remove_prefix(parent_of(path).size());
  return path.substr(0, path.rfind('.'));
}

bool take(std::string_view& line, std::string_view word) {
  const auto trim = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  trim();
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  trim();
  return true;
}

std::vector<Include> includes_of(const File& file) {
  std::vector<Include> includes;
  for_each_line(file, [&](int number, std::string_view line) {
    if (!take(line, "#") || !take(line, "include") || line.empty()) return;
    const bool quoted = line.front() == '"';
    const auto end = line.find(quoted ? '"' : '>', 1);
    if (end != std::string_view::npos) includes.push_back({number, std::string(line.substr(1, end - 1)), quoted});
  });
  return includes;
}

bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool says(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool begins = at == 0 || !is_word_part(text[at - 1]) || !is_word_part(word.front());
    const bool ends = end == text.size() || !is_word_part(text[end]) || !is_word_part(word.back());
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace tidy
