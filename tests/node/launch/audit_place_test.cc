// Where nodes keep their audit logs that are given a directory for what they print.
#include "node/launch/audit_place.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(audit_place_of_a_run, *boost::unit_test::label("S14"))

HostConfig host(const std::string& name, std::vector<std::string> agent) {
  HostConfig result;
  result.name = name;
  result.agent = std::move(agent);
  return result;
}

const std::vector<std::string> kLocal{std::string(kThisProgram), "agent"};
const std::vector<std::string> kBySsh{"ssh", "beta", "troupe", "agent"};

ClusterConfig with_hosts(const std::vector<HostConfig>& hosts) {
  ClusterConfig config;
  config.transport = Transport::tcp;
  config.hosts = hosts;
  return config;
}

BOOST_AUTO_TEST_CASE(without_hosts_it_is_beside_the_output_of_nodes_with_keys) {
  ClusterConfig config = with_hosts({});
  BOOST_CHECK(audit_place(config, StartOf::cluster) == AuditPlace::as_configured);
  config.node.network = "keys";
  BOOST_CHECK(audit_place(config, StartOf::cluster) == AuditPlace::beside_output);
  config.node.audit_log = "/audit";
  BOOST_CHECK(audit_place(config, StartOf::cluster) == AuditPlace::as_configured);
}

BOOST_AUTO_TEST_CASE(hosts_that_are_this_machine_have_it_beside_the_output_too) {
  ClusterConfig config = with_hosts({host("a", kLocal), host("b", kLocal)});
  BOOST_CHECK(audit_place(config, StartOf::cluster) == AuditPlace::beside_output);
  config.node.network = "trusted";
  BOOST_CHECK(audit_place(config, StartOf::cluster) == AuditPlace::as_configured);
}

BOOST_AUTO_TEST_CASE(a_host_that_may_be_another_machine_needs_a_place_of_its_own) {
  for (const auto& agent : {kBySsh, std::vector<std::string>{"docker", "exec", "beta", "troupe", "agent"}}) {
    ClusterConfig config = with_hosts({host("a", kLocal), host("b", agent)});
    BOOST_CHECK(audit_place(config, StartOf::cluster) == AuditPlace::on_other_hosts);
    config.node.audit_log = "/audit";
    BOOST_CHECK(audit_place(config, StartOf::cluster) == AuditPlace::as_configured);
  }
}

BOOST_AUTO_TEST_CASE(the_part_of_one_host_has_it_beside_the_output) {
  const ClusterConfig config = with_hosts({host("a", kBySsh), host("b", kBySsh)});
  BOOST_CHECK(audit_place(config, StartOf::host_part) == AuditPlace::beside_output);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
