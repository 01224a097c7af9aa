// Creation of mutants: the points found in a text, the generated text, and the point at fault if it does not compile.
#include "tests/mutants/points.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/mutants/command.h"
#include "tests/mutants/mutated.h"
#include "tests/mutants/reasons.h"
#include "tests/mutants/source.h"

namespace mutants {
BOOST_AUTO_TEST_SUITE(mutants_of_a_source)

namespace {

using Strings = std::vector<std::string>;

std::string in_function(const std::string& body) { return "void f() {\n" + body + "\n}\n"; }

/// Returns "change what" for each point.
Strings changes(const std::string& text) {
  Strings all;
  for (const Point& point : points_of(Source("actors/a.cc", text)))
    all.push_back(std::string(name_of(point.change)) + " " + point.what);
  return all;
}

std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

/// Returns the function's body with all its points. The first has number 1.
std::string mutated(const std::string& body) {
  const Source source("actors/a.cc", in_function(body));
  const std::vector<Point> points = points_of(source);
  std::vector<Switched> switched;
  for (const Point& point : points) switched.push_back({&point, static_cast<int>(switched.size()) + 1});
  std::string text = without_spaces(Mutated(source, switched).text());
  for (std::size_t at = 0; (at = text.find("::mutants::is_on(", at)) != std::string::npos;) text.replace(at, 17, "is(");
  const std::size_t begin = text.find("voidf(){") + 8;
  return text.substr(begin, text.size() - begin - 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(statements_are_deleted_and_declarations_are_not) {
  const auto per_element = boost::test_tools::per_element();
  BOOST_TEST(changes(in_function("a(); std::mutex lock(b); int c = 1 ; const d e{f}; *g = h; return;")) ==
                 (Strings{"deleted a();", "number 0 for 1", "number 2 for 1", "deleted *g = h;", "deleted return;"}),
             per_element);
  BOOST_TEST(changes("struct A { int a = 1; void f() const { g(); } };") == Strings{"deleted g();"}, per_element);
  BOOST_TEST(changes(in_function("spdlog::error(\"{} {}\", a, b);")).empty());
  BOOST_TEST(changes("template <class T> auto f() -> std::optional<T> { if constexpr (a && b) g(); }") ==
                 Strings{"deleted g();"},
             per_element);
}

BOOST_AUTO_TEST_CASE(conditions_and_their_sides_are_negated) {
  const auto per_element = boost::test_tools::per_element();
  BOOST_TEST(changes(in_function("if (a && b == 'c') {}")) ==
                 (Strings{"negated a", "negated a && b == 'c'", "negated b == 'c'"}),
             per_element);
  BOOST_TEST(changes(in_function("int d = e ? f : g;")) == Strings{"negated e"}, per_element);
  BOOST_TEST(changes(in_function("return a == b;")) == (Strings{"deleted return a == b;", "relation != in a == b"}),
             per_element);
  BOOST_TEST(changes(in_function("while (std::vector<int>::size() < n);")) ==
                 (Strings{"negated std::vector<int>::size() < n", "relation <= in std::vector<int>::size() < n"}),
             per_element);
}

BOOST_AUTO_TEST_CASE(arguments_beside_each_other_are_swapped) {
  const auto per_element = boost::test_tools::per_element();
  BOOST_TEST(changes(in_function("auto x = f<A, B>(a, b<C, D>(), a);")) ==
                 (Strings{"swapped a, b<C, D>()", "swapped b<C, D>(), a"}),
             per_element);
  BOOST_TEST(changes(in_function("auto x = A{.b = 0U, .c = d};")) == Strings{"number 1U for 0U"}, per_element);
}

BOOST_AUTO_TEST_CASE(a_copy_asks_at_each_point) {
  BOOST_TEST(mutated("if (a) b(); else c();") ==
             "if((is(1)!=static_cast<bool>(a)))if(is(2)){}elseb();elseif(is(3)){}elsec();");
  BOOST_TEST(mutated("if (auto* a = b()) {}") == "if(auto*a=b();is(1)!=static_cast<bool>(a)){}");
  BOOST_TEST(mutated("auto x = f(a, b);") == "autox=f((is(1)?b:a),(is(1)?a:b));");
  BOOST_TEST(mutated("auto x = a < 1;") == "autox=(is(1)?a<=(is(2)?0:(is(3)?2:1)):a<(is(2)?0:(is(3)?2:1)));");
  BOOST_TEST(mutated("auto x = f(g(a, b), c);") ==
             "autox=f((is(1)?c:g((is(2)?b:a),(is(2)?a:b))),(is(1)?g((is(2)?b:a),(is(2)?a:b)):c));");
}

BOOST_AUTO_TEST_CASE(the_innermost_point_is_to_blame_but_for_copies_of_it) {
  const Source source("actors/a.cc", in_function("f(g(a, b), c);"));
  const std::vector<Point> points = points_of(source);  // deleted, swapped g(a, b) and c, swapped a and b
  BOOST_TEST_REQUIRE(points.size() == 3U);
  const Mutated copy(source, {{&points[0], 1}, {&points[1], 2}, {&points[2], 3}});
  std::vector<int> blamed;
  const std::string& text = copy.text();
  const int lines = static_cast<int>(std::ranges::count(text, '\n'));
  for (int line = 1; line <= lines; ++line) blamed.push_back(copy.to_blame(line).value_or(0));
  // Before the point; the statement; the copy of c, and g(a, b) with the swap of a and b; c and the copy of g(a, b);
  // the end of the statement; after it.
  blamed.erase(std::ranges::unique(blamed).begin(), blamed.end());
  BOOST_TEST(blamed == (std::vector<int>{0, 1, 2, 3, 2, 1, 0}), boost::test_tools::per_element());
  BOOST_TEST(copy.to_blame_for_end(lines).value_or(0) == 1);
}

BOOST_AUTO_TEST_CASE(a_reason_is_found_by_file_line_and_change) {
  const auto reasons =
      reasons_of("# comment\n\nactors/a.cc: f(a, b);\n= swapped a, b :: they are equal\n- deleted f(a, b); :: rare\n");
  BOOST_TEST_REQUIRE(reasons.size() == 2U);
  const Reason* reason = find_reason(reasons, "actors/a.cc", "f(a, b);", "swapped a, b");
  BOOST_TEST_REQUIRE(reason != nullptr);
  BOOST_TEST(reason->is_equivalent);
  BOOST_TEST(reason->text == "they are equal");
  BOOST_TEST(!reasons[1].is_equivalent);
  BOOST_TEST(find_reason(reasons, "actors/b.cc", "f(a, b);", "swapped a, b") == nullptr);
  BOOST_CHECK_THROW(static_cast<void>(reasons_of("= swapped a, b :: of no line\n")), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(every_reason_is_for_a_change_that_can_be_made) {
  const std::string tree = TROUPE_SOURCE_DIR "/";
  const std::vector<Reason> reasons = reasons_of(contents_of(tree + "tests/mutants/reasons"));
  BOOST_TEST(!reasons.empty());
  for (const Reason& reason : reasons) {
    const Source source(reason.file, contents_of(tree + reason.file));
    const bool is_there = std::ranges::any_of(points_of(source), [&](const Point& point) {
      return std::string(name_of(point.change)) + " " + point.what == reason.change &&
             line_of(source, point.line) == reason.line;
    });
    BOOST_TEST(is_there, reason.file << ": " << reason.line << "\n" << reason.change);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace mutants
