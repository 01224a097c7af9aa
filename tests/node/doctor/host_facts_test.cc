// What this machine gives to processes.
#include "node/doctor/host_facts.h"

#include <sys/resource.h>
#include <boost/test/unit_test.hpp>

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(host_facts)

BOOST_AUTO_TEST_CASE(a_line_of_meminfo_is_found_by_its_whole_name) {
  const char* text = "MemTotalX:  1 kB\nMemTotal:       16318000 kB\nMemFree: many\nMemAvailable:   2 kB";
  BOOST_TEST(bytes_of_line(text, "MemTotal") == 16'709'632'000u);  // 16,318,000 * 1,024
  BOOST_TEST(bytes_of_line(text, "MemAvailable") == 2048u);
  BOOST_TEST(bytes_of_line(text, "MemFree") == 0u);
  BOOST_TEST(bytes_of_line(text, "Mem") == 0u);
  BOOST_TEST(bytes_of_line("", "MemTotal") == 0u);
  BOOST_TEST(bytes_of_line("MemTotal:", "MemTotal") == 0u);
}

BOOST_AUTO_TEST_CASE(this_machine_has_memory_limits_and_libraries) {
  const HostFacts facts = gather_facts();
  rlimit limit{};
  BOOST_TEST_REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  BOOST_TEST(facts.descriptors_max == limit.rlim_max);
  BOOST_TEST(facts.system.starts_with("Linux "));
  BOOST_TEST(facts.cores > 0u);
  BOOST_TEST(facts.memory > facts.memory_free);
  BOOST_TEST(facts.memory_free > 0u);
  BOOST_TEST(facts.zmq.starts_with("4."));
  BOOST_TEST(facts.zmq_curve);
  BOOST_TEST(facts.sodium.starts_with("1."));
}

BOOST_AUTO_TEST_SUITE_END()
