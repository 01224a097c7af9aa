// Mistakes that other systems find at run time, and the compiler finds here.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "tests/support/temporary_directory.h"

BOOST_AUTO_TEST_SUITE(refused_programs)

namespace {

using boost::unit_test::label;
using troupe::testing::TemporaryDirectory;

struct Verdict {
  bool compiles = false;
  std::string text;
};

Verdict run_compiler(const std::string& arguments) {
  const std::string command = fmt::format("{} -std=c++20 {} 2>&1", TROUPE_COMPILER, arguments);
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no compiler: " + command);
  Verdict verdict;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe))
    verdict.text.append(buffer.data(), size);
  verdict.compiles = pclose(pipe) == 0;
  return verdict;
}

/// The headers of all programs, precompiled in a directory that comes before the tree's own.
class PrecompiledHeaders {
 public:
  PrecompiledHeaders() {
    const std::filesystem::path header = "tests/conformance/refused/refused_programs.h";
    std::filesystem::create_directories((directory_.path() / header).parent_path());
    const Verdict made = run_compiler(fmt::format("-x c++-header -I{0} {0}/{1} -o {2}/{1}.gch", TROUPE_SOURCE_DIR,
                                                  header.string(), directory_.path().string()));
    if (!made.compiles) throw std::runtime_error("the headers do not compile: " + made.text);
  }

  [[nodiscard]] std::string path() const { return directory_.path().string(); }

 private:
  TemporaryDirectory directory_;
};

Verdict compile(int program) {
  static const PrecompiledHeaders headers;
  return run_compiler(
      fmt::format("-fsyntax-only -fmax-errors=20 -Winvalid-pch -I{0} -I{1} -DPROGRAM={2} "
                  "{1}/tests/conformance/refused/refused_programs.cc",
                  headers.path(), TROUPE_SOURCE_DIR, program));
}

/// Refused for that reason, which a reader finds in the first 12 lines: what follows the first note repeats it.
void check_refused(int program, const std::string& reason) {
  const Verdict verdict = compile(program);
  BOOST_TEST(!verdict.compiles);
  BOOST_TEST_INFO_SCOPE("program " << program << ", the compiler says:\n" << verdict.text.substr(0, 4000));
  const std::string beginning = verdict.text.substr(0, verdict.text.find(": note: "));
  BOOST_TEST(beginning.find(reason) != std::string::npos, "the reason should be: " << reason);
  BOOST_TEST(std::count(beginning.begin(), beginning.end(), '\n') <= 12);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_right_program_compiles) {
  const Verdict verdict = compile(0);
  BOOST_TEST(verdict.compiles, verdict.text);
}

BOOST_AUTO_TEST_CASE(a_destination_that_is_no_name_and_no_whole_number, *label("R-03")) {
  check_refused(1, "no matching");
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_the_function, *label("R-28")) {
  check_refused(2, "wrong number of arguments for this callable");
  check_refused(3,
                "does not convert to the callable's parameter type without narrowing: write a number for an unsigned "
                "parameter as 1U");
  check_refused(12, "no form of this operation takes these arguments");
  check_refused(16, "wrong number of arguments for this callable");
  check_refused(17, "does not convert to the callable's parameter type without narrowing");
  check_refused(18, "does not convert to the callable's parameter type without narrowing");
}

BOOST_AUTO_TEST_CASE(the_compiler_names_the_argument_and_complains_once) {
  const std::string text = compile(3).text;
  BOOST_TEST(text.find("ArgumentCheck<1, int, double>") != std::string::npos, text);
  const auto first = text.find("error: ");
  BOOST_TEST_REQUIRE(first != std::string::npos);
  BOOST_TEST(text.find("error: ", first + 1) == std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(functions_whose_parameters_cannot_travel, *label("fault-F34")) {
  check_refused(4, "a served function's parameters travel by value");
  check_refused(5, "a served function's parameters travel by value");
}

BOOST_AUTO_TEST_CASE(futures_and_move_only_values_as_arguments, *label("F-10") * label("fault-F34")) {
  check_refused(6, "a parameter of this callable cannot travel: give its type a default constructor and a serialize");
  check_refused(7, "a parameter of this callable cannot travel");
  check_refused(24, "a parameter of this callable cannot travel: give its type a default constructor and a serialize");
}

BOOST_AUTO_TEST_CASE(callables_that_are_none_or_capture, *label("R-27")) {
  check_refused(8, "a lambda that captures cannot be called by name on another node");
  check_refused(13, "not a function: calls take functions");
}

BOOST_AUTO_TEST_CASE(names_of_several_functions) {
  for (const int program : {25, 26, 27}) {
    check_refused(program, "this name stands for several functions: choose one by its type, overload<int(double)>(&f)");
  }
}

BOOST_AUTO_TEST_CASE(callbacks_that_do_not_take_the_value, *label("F-02")) {
  check_refused(9, "a callback of a future takes its value, or a Result of it");
}

BOOST_AUTO_TEST_CASE(callbacks_that_are_null, *label("F-07")) {
  check_refused(10, "a callback of a future takes its value, or a Result of it");
}

BOOST_AUTO_TEST_CASE(deadlines_that_are_no_duration, *label("I-19")) { check_refused(11, "CallOptions"); }

BOOST_AUTO_TEST_CASE(classes_that_are_no_modules, *label("M-01")) {
  check_refused(19, "not a class of modules: derive it from nn::Module or nn::Layer");
  check_refused(20, "not a class of modules: derive it from nn::Module or nn::Layer");
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_a_module) {
  check_refused(21, "does not convert to the callable's parameter type without narrowing");
  check_refused(22, "wrong number of arguments for this callable");
}

BOOST_AUTO_TEST_CASE(functions_of_a_module_that_its_handle_lacks, *label("M-06")) {
  check_refused(23, "has no member named");
}

BOOST_AUTO_TEST_CASE(member_functions_of_another_class_or_without_an_object) {
  check_refused(14, "the member function is not one of the value's class");
  check_refused(15, "a member function is called on an RRef");
}

BOOST_AUTO_TEST_SUITE_END()
