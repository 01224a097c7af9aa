#include "tests/mutants/source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace mutants {
namespace {

constexpr std::array<std::string_view, 24> kSigns{"<<=", "...", "->*", "<=>", "::", "->", "++", "--",
                                                  "<<",  "<=",  ">=",  "==",  "!=", "&&", "||", "+=",
                                                  "-=",  "*=",  "/=",  "%=",  "&=", "|=", "^=", ".*"};

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

Source::Source(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
  read();
  match_brackets();
}

std::string_view Source::text(std::size_t i) const {
  if (i >= tokens_.size()) return {};
  return std::string_view(text_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
}

std::string_view Source::text(std::size_t begin, std::size_t end) const {
  if (begin >= end) return {};
  return std::string_view(text_).substr(tokens_[begin].begin, tokens_[end - 1].end - tokens_[begin].begin);
}

std::string Source::line_of_text(std::size_t begin, std::size_t end) const {
  std::string line;
  for (const char c : text(begin, end)) {
    if (!is_space(c)) {
      line += c;
    } else if (line.back() != ' ') {
      line += ' ';
    }
  }
  return line;
}

std::string_view Source::line(int number) const {
  std::string_view rest = text_;
  for (int i = 1; i < number; ++i) rest.remove_prefix(rest.find('\n') + 1);
  rest = rest.substr(0, rest.find('\n'));
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  while (!rest.empty() && is_space(rest.back())) rest.remove_suffix(1);
  return rest;
}

bool Source::is_spaced(std::size_t i) const {
  const Token& token = tokens_[i];
  return token.begin > 0 && is_space(text_[token.begin - 1]) && token.end < text_.size() && is_space(text_[token.end]);
}

std::size_t Source::end_of_arguments(std::size_t i) const {
  if (!is(i, "<") || is_spaced(i)) return kNone;
  int depth = 0;
  for (std::size_t at = i; at < size(); ++at) {
    if (is(at, "<")) ++depth;
    if (is(at, ">") && --depth == 0) return at + 1;
    if (is(at, ";") || is(at, ")") || is(at, "}")) return kNone;
    if (is(at, "(") || is(at, "{")) at = tokens_[at].match;
  }
  return kNone;
}

void Source::read() {
  int line = 1;
  bool line_begins = true;
  const auto step_to = [&](std::size_t& from, std::size_t to) {
    line += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(from),
                                        text_.begin() + static_cast<std::ptrdiff_t>(std::min(to, text_.size())), '\n'));
    from = std::min(to, text_.size());
  };
  const auto end_of = [&](std::string_view what, std::size_t from) {
    const std::size_t at = text_.find(what, from);
    return at == std::string::npos ? text_.size() : at + what.size();
  };
  for (std::size_t at = 0; at < text_.size();) {
    const char c = text_[at];
    const std::string_view rest = std::string_view(text_).substr(at);
    if (is_space(c)) {
      line_begins |= c == '\n';
      step_to(at, at + 1);
      continue;
    }
    if (rest.starts_with("//")) {
      step_to(at, text_.find('\n', at));
      continue;
    }
    if (rest.starts_with("/*")) {
      step_to(at, end_of("*/", at + 2));
      continue;
    }
    if (c == '#' && line_begins) {
      std::size_t end = text_.find('\n', at);
      while (end != std::string::npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
      step_to(at, end);
      continue;
    }
    line_begins = false;
    Token token{Token::Kind::sign, at, at + 1, line};
    if (rest.starts_with("R\"")) {
      token.kind = Token::Kind::text;
      const std::size_t open = text_.find('(', at);
      token.end = end_of(")" + text_.substr(at + 2, open - at - 2) + "\"", open);
    } else if (c == '"' || c == '\'') {
      token.kind = Token::Kind::text;
      while (token.end < text_.size() && text_[token.end] != c) token.end += text_[token.end] == '\\' ? 2 : 1;
      ++token.end;
    } else if (is_digit(c)) {
      token.kind = Token::Kind::number;
      while (token.end < text_.size() &&
             (is_word(text_[token.end]) || text_[token.end] == '.' || text_[token.end] == '\''))
        ++token.end;
    } else if (is_word(c)) {
      token.kind = Token::Kind::word;
      while (token.end < text_.size() && is_word(text_[token.end])) ++token.end;
    } else {
      const auto sign = std::ranges::find_if(kSigns, [&](std::string_view one) { return rest.starts_with(one); });
      if (sign != kSigns.end()) token.end = at + sign->size();
    }
    tokens_.push_back(token);
    step_to(at, token.end);
  }
}

void Source::match_brackets() {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view what = text(i);
    if (tokens_[i].kind == Token::Kind::sign && (what == ")" || what == "]" || what == "}")) {
      const std::string_view begin = what == ")" ? "(" : what == "]" ? "[" : "{";
      if (open.empty() || text(open.back()) != begin) {
        throw std::runtime_error(path_ + ":" + std::to_string(tokens_[i].line) + ": a bracket without its other one");
      }
      tokens_[i].match = open.back();
      tokens_[open.back()].match = i;
      open.pop_back();
    }
    if (!open.empty()) tokens_[i].parent = open.back();
    if (tokens_[i].kind == Token::Kind::sign && (what == "(" || what == "[" || what == "{")) open.push_back(i);
  }
  if (!open.empty()) throw std::runtime_error(path_ + ": a bracket is not closed");
}

}  // namespace mutants
