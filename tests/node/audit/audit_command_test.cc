#include "node/audit/audit_command.h"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "node/audit/audit_chain.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

BOOST_AUTO_TEST_SUITE(audit_command)

BOOST_AUTO_TEST_CASE(whole_logs_pass_and_broken_ones_do_not) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "ps0.audit";
  AuditChain chain("ps0");
  std::string text;
  for (int i = 0; i < 3; ++i) {
    const std::string line = chain.line_of({{.event = AuditEvent::opened}, 1, {}});
    chain.written(line);
    text += line;
  }
  std::ofstream(path) << text;
  BOOST_TEST(verify_audit({path}) == 0);
  std::ofstream(path) << text.substr(0, text.size() - 1);  // without the last newline
  BOOST_TEST(verify_audit({path}) == 1);
  std::ofstream(path) << text << text;
  BOOST_TEST(verify_audit({path}) == 1);
  std::ofstream(path) << text << std::string(1 << 20, '{');
  BOOST_TEST(verify_audit({path}) == 1);
  BOOST_TEST(verify_audit({path + ".1"}) == 1);  // no such file
  BOOST_TEST(verify_audit({directory.path().string()}) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
