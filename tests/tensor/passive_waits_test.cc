// Of a program that links troupe::passive_waits. That libgomp reads the policy, too, is shown by
// sample_waits_passively.
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(passive_waits)

BOOST_AUTO_TEST_CASE(a_program_has_the_policy_and_all_variables_that_it_was_given) {
  std::vector<std::string> given;
  std::ifstream of_kernel("/proc/self/environ");
  for (std::string variable; std::getline(of_kernel, variable, '\0');) {
    if (!variable.starts_with("TROUPE_TEST_RESULTS=")) given.push_back(variable);  // main() takes it away
  }
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  given.emplace_back("OMP_WAIT_POLICY=passive");
  BOOST_TEST(variables == given, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
