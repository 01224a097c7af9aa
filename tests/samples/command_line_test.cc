#include "samples/command_line.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::testing {
namespace {

struct LineOfProgram {
  LineOfProgram() : options("Trains.") {
    options.add("--epochs", epochs, "passes over the data", {1, 100});
    options.add("--counts", counts, "in how many parts", {1, 8});
    options.add_positive("--rate", rate, "of a step");
    options.add("--data", data, "where the data is");
    options.add("--requests", requests, "so many", {0, 10});
    options.add_flag("--check", check, "compare");
  }

  std::optional<int> parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "program");
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    return options.parse(static_cast<int>(pointers.size()), pointers.data());
  }
  bool refuses(const std::vector<std::string>& arguments) { return parse(arguments) == 2; }

  std::int64_t epochs = 3;
  std::vector<std::uint64_t> counts{1, 2};
  double rate = 0.5;
  std::string data;
  std::optional<int> requests;
  bool check = false;
  samples::CommandLine options;
};

BOOST_FIXTURE_TEST_SUITE(command_line, LineOfProgram)

BOOST_AUTO_TEST_CASE(defaults_stay_where_nothing_is_given) {
  BOOST_TEST(!parse({}));
  BOOST_TEST(epochs == 3);
  BOOST_TEST(counts == (std::vector<std::uint64_t>{1, 2}));
  BOOST_TEST(!requests);
  BOOST_TEST(!check);
}

BOOST_AUTO_TEST_CASE(values_of_every_kind_are_read) {
  BOOST_TEST(
      !parse({"--epochs", "100", "--counts", "4,8", "--rate", "1e-3", "--data=a b", "--requests", "0", "--check"}));
  BOOST_TEST(epochs == 100);
  BOOST_TEST(counts == (std::vector<std::uint64_t>{4, 8}));
  BOOST_TEST(rate == 1e-3);
  BOOST_TEST(data == "a b");
  BOOST_TEST((requests == 0));
  BOOST_TEST(check);
}

BOOST_AUTO_TEST_CASE(values_beyond_their_bounds_are_refused) {
  BOOST_TEST(refuses({"--epochs", "0"}));
  BOOST_TEST(refuses({"--epochs", "101"}));
  BOOST_TEST(refuses({"--epochs", "2.5"}));
  BOOST_TEST(refuses({"--counts", "1,9"}));
  for (const char* rate_of_none : {"0", "-1", "nan", "-nan", "inf", "1e999", "fast"})
    BOOST_TEST(refuses({"--rate", rate_of_none}), rate_of_none);
  BOOST_TEST(refuses({"--requests", "-1"}));
  BOOST_TEST(refuses({"--unknown"}));
}

BOOST_AUTO_TEST_CASE(options_that_need_or_exclude_each_other) {
  options.needs("--check", "--data");
  options.excludes("--rate", "--counts");
  BOOST_TEST(refuses({"--check"}));
  BOOST_TEST(refuses({"--rate", "1", "--counts", "1"}));
  BOOST_TEST(!refuses({"--check", "--data", "a", "--rate", "1"}));
}

BOOST_AUTO_TEST_CASE(help_ends_the_program_without_failure) { BOOST_TEST((parse({"--help"}) == 0)); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
