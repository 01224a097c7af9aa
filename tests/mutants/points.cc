#include "tests/mutants/points.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace mutants {
namespace {

using Words = std::set<std::string_view>;

const Words kDeclaring{"const",  "constexpr", "auto",      "static",   "using",     "typedef",      "struct", "class",
                       "enum",   "template",  "namespace", "volatile", "unsigned",  "int",          "bool",   "double",
                       "friend", "char",      "public",    "private",  "protected", "static_assert"};
const Words kNoCalls{"if",     "while",   "for",      "switch",   "catch",   "return",
                     "sizeof", "alignas", "decltype", "noexcept", "requires"};
const Words kAfterParameters{"const", "noexcept", "override", "mutable"};
const Words kBeforeBlocks{")", "]", ";", "}", ":", "else", "do", "try"};
const std::map<std::string_view, std::string_view> kOtherRelation{{"<", "<="}, {"<=", "<"},  {">", ">="},
                                                                  {">=", ">"}, {"==", "!="}, {"!=", "=="}};
/// Tokens with lower precedence than a relation, a side of && or ||, or the condition of ?:.
const Words kAroundRelations{"&&", "||", "?",  ":",  ",",      ";",         "=",
                             "+=", "-=", "|=", "&=", "return", "co_return", "throw"};
const Words kAroundConditions{"?", ":", ",", ";", "=", "+=", "-=", "|=", "&=", "return", "co_return", "throw"};

class Finder {
 public:
  explicit Finder(const Source& source) : s_(source), is_statement_(source.size()) {}

  std::vector<Point> find() {
    for (std::size_t i = 0; i < s_.size(); ++i) {
      if (s_.is(i, "{") && is_block(i)) blocks_.insert(i);
    }
    for (const std::size_t block : blocks_) {
      for (std::size_t i = block + 1; i < s_.token(block).match;) i = statement(i);
    }
    for (std::size_t i = 0; i < s_.size(); ++i) {
      if (is_code(i)) expression(i);
    }
    for (std::size_t i = 0; i < s_.size(); ++i) {  // last, because changes by negated conditions are known by then
      if (is_code(i) && kOtherRelation.contains(s_.text(i)) && s_.is_spaced(i)) relation(i);
    }
    const auto place = [](const Point& point) {
      return std::tuple(point.range.begin, point.range.end, point.change, point.instead);
    };
    std::ranges::sort(found_, {}, place);
    return std::move(found_);
  }

 private:
  /// Returns whether statements follow the `{`, and not members, names of a namespace, or values.
  [[nodiscard]] bool is_block(std::size_t open) const {
    if (open == 0) return false;
    const std::size_t before = open - 1;
    if (s_.is(before, ")") && s_.is(s_.token(before).match - 1, "requires")) return false;
    if (s_.is(before, "{")) return is_block(before);
    if (kBeforeBlocks.contains(s_.text(before)) || kAfterParameters.contains(s_.text(before))) return true;
    for (std::size_t i = before; i > 0; --i) {  // -> std::optional<Error> {
      const std::string_view word = s_.text(i);
      if (word == "->") return s_.is(i - 1, ")") || kAfterParameters.contains(s_.text(i - 1));
      if (s_.token(i).kind != Token::Kind::word && word != "::" && word != "<" && word != ">" && word != "*" &&
          word != "&" && word != ",")
        return false;
    }
    return false;
  }

  /// Returns whether token `i` belongs to the body of a function.
  [[nodiscard]] bool is_code(std::size_t i) const {
    if (std::ranges::any_of(logs_, [i](const Range& log) { return log.contains({i, i + 1}); })) return false;
    bool in_block = false;
    for (std::size_t around = s_.token(i).parent; around != kNone; around = s_.token(around).parent) {
      in_block |= blocks_.contains(around);
      const std::string_view before = around > 0 ? s_.text(around - 1) : std::string_view();
      if (before == "constexpr" || before == "requires" || before == "static_assert") return false;
    }
    return in_block;
  }

  void add(Point point) {
    point.line = s_.token(point.range.begin).line;
    found_.push_back(std::move(point));
  }

  // --- statements ----------------------------------------------------------------------------------------------------

  /// Finds the points of the statement at `i`, without its expressions. Returns the beginning of the next statement.
  std::size_t statement(std::size_t i) {
    is_statement_[i] = true;
    const std::string_view word = s_.text(i);
    if (word == "{") return s_.token(i).match + 1;
    if (word == ";") return i + 1;
    if (word == "case" || word == "default") {
      while (!s_.is(i, ":")) ++i;
      return i + 1;
    }
    if (word == "do") {
      const std::size_t loop = statement(i + 1);
      condition({loop + 2, s_.token(loop + 1).match});
      return s_.token(loop + 1).match + 2;
    }
    if (word == "try") {
      std::size_t next = statement(i + 1);
      while (s_.is(next, "catch")) next = statement(s_.token(next + 1).match + 1);
      return next;
    }
    if (word == "if" || word == "while" || word == "for" || word == "switch") return controlled(i);
    const std::size_t end = find_end(i);
    if (s_.is(i, "spdlog")) {
      logs_.push_back({i, end});
      return end + 1;
    }
    if (!declares(i)) add({.change = Change::deleted, .range = {i, end + 1}, .what = s_.line_of_text(i, end + 1)});
    if (word == "return" && s_.is(i + 1, "!") && find(i + 1, end, {"&&", "||", "?"}) == kNone) condition({i + 1, end});
    return end + 1;
  }

  std::size_t controlled(std::size_t i) {
    const bool is_constant = s_.is(i + 1, "constexpr");
    const std::size_t open = is_constant ? i + 2 : i + 1;
    const std::size_t close = s_.token(open).match;
    if (s_.is(i, "for")) {
      const std::size_t first = find(open + 1, close, {";"});
      const std::size_t second = first == kNone ? kNone : find(first + 1, close, {";"});
      if (second != kNone && second > first + 1) condition({first + 1, second});
    } else if (!s_.is(i, "switch") && !is_constant) {
      const std::size_t init = find(open + 1, close, {";"});
      condition({init == kNone ? open + 1 : init + 1, close});
    }
    std::size_t next = statement(close + 1);
    if (s_.is(i, "if") && s_.is(next, "else")) next = statement(next + 1);
    return next;
  }

  /// Returns the first of `what` from `begin` outside brackets; kNone if there is none before `end`.
  [[nodiscard]] std::size_t find(std::size_t begin, std::size_t end, const Words& what) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (what.contains(s_.text(i))) return i;
      if (s_.is(i, "(") || s_.is(i, "[") || s_.is(i, "{")) i = s_.token(i).match;
    }
    return kNone;
  }

  [[nodiscard]] std::size_t find_end(std::size_t begin) const { return find(begin, s_.size(), {";"}); }

  /// Returns whether the statement at `i` begins with a type and a name.
  [[nodiscard]] bool declares(std::size_t i) const {
    if (kDeclaring.contains(s_.text(i))) return true;
    if (s_.is(i, "return") || s_.is(i, "throw") || s_.is(i, "co_return") || s_.is(i, "co_await") ||
        s_.is(i, "co_yield"))
      return false;
    if (s_.is(i, "::")) ++i;
    for (;;) {
      if (s_.token(i).kind != Token::Kind::word) return false;
      ++i;
      if (const std::size_t end = s_.end_of_arguments(i); end != kNone) i = end;
      if (!s_.is(i, "::")) break;
      ++i;
    }
    while (s_.is(i, "&") || s_.is(i, "*") || s_.is(i, "&&") || s_.is(i, "const")) ++i;
    return s_.token(i).kind == Token::Kind::word;
  }

  /// Adds points for a condition of if, while, for or ?:, or a part of one.
  void condition(Range range) {
    if (!negated_.insert(range).second) return;
    Point point{.change = Change::negated, .range = range, .what = s_.line_of_text(range.begin, range.end)};
    if (const std::size_t equals = find(range.begin, range.end, {"="}); equals != kNone) point.name = equals - 1;
    add(std::move(point));
  }

  // --- expressions ---------------------------------------------------------------------------------------------------

  void expression(std::size_t i) {
    const std::string_view word = s_.text(i);
    const Token& token = s_.token(i);
    if (token.kind == Token::Kind::number) return number(i);
    if (token.kind != Token::Kind::sign) return;
    if (word == "?") return condition({left(i, kAroundConditions), i});
    if ((word == "&&" || word == "||") && s_.is_spaced(i)) {
      condition({left(i, kAroundRelations), i});
      condition({i + 1, right(i, kAroundRelations)});
    } else if (word == "(" || (word == "{" && !blocks_.contains(i))) {
      arguments(i);
    }
  }

  /// Returns the beginning of the operand that ends before `i`.
  [[nodiscard]] std::size_t left(std::size_t i, const Words& around) const {
    while (i > 0) {
      if (is_statement_[i]) return i;
      const std::size_t before = i - 1;
      if (s_.token(i).parent == before || around.contains(s_.text(before))) return i;
      i = s_.is(before, ")") || s_.is(before, "]") || s_.is(before, "}") ? s_.token(before).match : before;
    }
    return i;
  }

  /// Returns the end of the operand that begins after `i`.
  [[nodiscard]] std::size_t right(std::size_t i, const Words& around) const {
    for (++i; i < s_.size(); ++i) {
      if (around.contains(s_.text(i)) || s_.is(i, ")") || s_.is(i, "]") || s_.is(i, "}")) return i;
      if (s_.is(i, "(") || s_.is(i, "[") || s_.is(i, "{")) i = s_.token(i).match;
    }
    return i;
  }

  void relation(std::size_t i) {
    const std::string_view word = s_.text(i);
    const Range range{left(i, kAroundRelations), right(i, kAroundRelations)};
    const bool is_equality = word == "==" || word == "!=";
    if (is_equality && negated_.contains(range)) return;  // the same change
    const std::string_view other = kOtherRelation.at(word);
    add({.change = Change::relation,
         .range = range,
         .first = {range.begin, i},
         .second = {i + 1, range.end},
         .instead = std::string(other),
         .what = std::string(other) + " in " + s_.line_of_text(range.begin, range.end)});
  }

  void number(std::size_t i) {
    const std::string_view digits = s_.text(i);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const std::string_view suffix = digits.substr(static_cast<std::size_t>(end - digits.data()));
    if (error != std::errc() || suffix.find_first_not_of("uUlL") != std::string_view::npos) return;
    for (const std::int64_t other : {value + 1, value - 1}) {
      if (other < 0) continue;
      const std::string instead = std::to_string(other) + std::string(suffix);
      add({.change = Change::number,
           .range = {i, i + 1},
           .instead = instead,
           .what = instead + " for " + std::string(digits)});
    }
  }

  /// Adds points for the arguments of a call or of a constructed value.
  void arguments(std::size_t open) {
    if (s_.is(open, "(")) {
      const Token::Kind before = s_.token(open - 1).kind;
      if ((before != Token::Kind::word && !s_.is(open - 1, ">")) || kNoCalls.contains(s_.text(open - 1))) return;
    }
    std::vector<Range> arguments;
    std::size_t begin = open + 1;
    const std::size_t close = s_.token(open).match;
    for (std::size_t i = begin; i <= close; ++i) {
      if (s_.is(i, ",") || i == close) {
        arguments.push_back({begin, i});
        begin = i + 1;
      } else if (s_.is(i, "(") || s_.is(i, "[") || s_.is(i, "{")) {
        i = s_.token(i).match;
      } else if (const std::size_t end = s_.end_of_arguments(i); end != kNone) {
        i = end - 1;
      }
    }
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
      const std::string first = s_.line_of_text(arguments[i].begin, arguments[i].end);
      const std::string second = s_.line_of_text(arguments[i + 1].begin, arguments[i + 1].end);
      if (first.empty() || second.empty() || first == second || first.starts_with('.')) continue;
      if (first.starts_with('{') || second.starts_with('{')) continue;  // such arguments have no type of their own
      add({.change = Change::swapped,
           .range = {arguments[i].begin, arguments[i + 1].end},
           .first = arguments[i],
           .second = arguments[i + 1],
           .what = first + ", " + second});
    }
  }

  const Source& s_;
  std::vector<bool> is_statement_;  // whether a statement begins at the token
  std::set<std::size_t> blocks_;
  std::vector<Range> logs_;
  std::set<Range> negated_;
  std::vector<Point> found_;
};

}  // namespace

std::string_view name_of(Change change) {
  switch (change) {
    case Change::deleted: return "deleted";
    case Change::negated: return "negated";
    case Change::swapped: return "swapped";
    case Change::relation: return "relation";
    case Change::number: return "number";
  }
  return {};
}

std::vector<Point> points_of(const Source& source) { return Finder(source).find(); }

}  // namespace mutants
