#include "node/engines/key_file_node.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "node/engines/engine_network.h"
#include "node/keys/key_directory.h"
#include "tests/support/has_landlock.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;
using troupe::testing::TemporaryDirectory;
using troupe::testing::TroupeRun;

constexpr const char* kSays =
    "echo $TROUPE_RANK $TROUPE_NODE $TROUPE_WORLD $TROUPE_SEED ${TROUPE_ADDRESS:-none} $TROUPE__CLUSTER__NETWORK "
    "$TROUPE_KEY_FILE $TROUPE_MEMBERS_FILE ${TROUPE_SECRET_FD:-none}";

/// A cluster file with a ps and two trainers, and their keys.
struct Files {
  explicit Files(const std::string& cluster = "seed = \"192.0.2.7\"\nport = 29600\n", const std::string& more = "")
      : keys(KeyDirectory::make((directory.path() / "keys").string())) {
    const auto role = [](const std::string& name, int count) {
      return fmt::format("[[role]]\nname = \"{}\"\ncount = {}\ncommand = [\"sh\", \"-c\", '''{}''']\n", name, count,
                         kSays);
    };
    std::ofstream(file()) << "[cluster]\n" << cluster << role("ps", 1) << role("trainer", 2) << more;
    keys.add({"ps", "trainer0", "trainer1"}, std::nullopt);
  }

  [[nodiscard]] std::string file() const { return (directory.path() / "c.toml").string(); }
  [[nodiscard]] ClusterConfig config() const { return load_config(file(), {}, {}); }
  [[nodiscard]] std::string nodes() const { return (directory.path() / "keys" / "nodes").string(); }

  [[nodiscard]] std::string refusal(const KeyFileOptions& options) const {
    ClusterConfig read = config();
    try {
      (void)key_file_node(read, options);
    } catch (const std::exception& error) {
      std::string text = error.what();
      for (std::size_t at = text.find(directory.path().string()); at != std::string::npos;
           at = text.find(directory.path().string())) {
        text.replace(at, directory.path().string().size(), "DIR");
      }
      return text;
    }
    return {};
  }

  TemporaryDirectory directory;
  KeyDirectory keys;
};

BOOST_AUTO_TEST_SUITE(key_file_node_suite)

BOOST_AUTO_TEST_CASE(nodes_have_places_by_rank_by_name_and_by_pod) {
  const Files files;
  const ClusterConfig config = files.config();
  for (const auto& [rank, name, pod] : std::vector<std::tuple<std::size_t, std::string, std::string>>{
           {0, "ps", "ps-0"}, {1, "trainer0", "trainer-0"}, {2, "trainer1", "trainer-1"}}) {
    for (const NodePlace& place :
         {place_of_rank(config, rank), place_of_name(config, name), place_of_pod(config, pod)}) {
      BOOST_TEST(place.rank == rank);
      BOOST_TEST(node_name(*place.role, place.index) == name);
    }
  }
  BOOST_CHECK_THROW((void)place_of_rank(config, 3), std::logic_error);
}

BOOST_AUTO_TEST_CASE(the_first_node_listens_at_its_number_and_the_others_toward_it) {
  const Files files;
  ClusterConfig config = files.config();
  const KeyFileNode ps =
      key_file_node(config, {.keys = files.keys.key_path("ps"), .members = "", .name = "", .pod = ""});
  BOOST_TEST(ps.place.rank == 0U);
  BOOST_TEST(ps.seed == "tcp://192.0.2.7:29600");
  BOOST_TEST(ps.address == "tcp://192.0.2.7:29600");
  BOOST_TEST(ps.key_file == files.keys.key_path("ps"));
  BOOST_TEST(ps.members_file == files.keys.list_path());
  BOOST_TEST(ps.cluster_id == files.keys.list().cluster_id);
  BOOST_CHECK(config.transport == Transport::tcp);
  BOOST_TEST(config.node.network == "keys");
  const KeyFileNode trainer =
      key_file_node(config, {.keys = files.nodes(), .members = "", .name = "", .pod = "trainer-1"});
  BOOST_TEST(trainer.place.rank == 2U);
  BOOST_TEST(trainer.key_file == files.keys.key_path("trainer1"));
  BOOST_TEST(trainer.seed == ps.seed);
  BOOST_TEST(trainer.address.empty());
}

BOOST_AUTO_TEST_CASE(an_address_of_the_file_is_where_all_listen) {
  const Files files("seed = \"[fd77::1]\"\nport = 29600\naddress = \"eth7\"\n");
  ClusterConfig config = files.config();
  const KeyFileNode ps = key_file_node(config, {.keys = files.nodes(), .members = "", .name = "ps", .pod = ""});
  BOOST_TEST(ps.seed == "tcp://[fd77::1]:29600");
  BOOST_TEST(ps.address == "tcp://eth7:29600");
  BOOST_TEST(key_file_node(config, {.keys = files.nodes(), .members = "", .name = "trainer0", .pod = ""}).address ==
             "tcp://eth7:*");
}

// The name of a pod may have no address yet, since its node decides when it is ready.
BOOST_AUTO_TEST_CASE(a_seed_with_a_name_listens_on_the_only_interface) {
  const Files files("seed = \"ps-0.demo\"\nport = 29600\n");
  ClusterConfig config = files.config();
  const std::string only = only_address();
  BOOST_TEST(key_file_node(config, {.keys = files.nodes(), .members = "", .name = "", .pod = "ps-0"}).address ==
             fmt::format("tcp://{}:29600", only.empty() ? "ps-0.demo" : only));
}

BOOST_AUTO_TEST_CASE(the_program_of_the_role_gets_what_it_needs) {
  const Files files;
  const auto run = TroupeRun(files.directory.path(), {"node", "c.toml", "--keys", "keys/nodes/trainer0.key"}).finish();
  BOOST_TEST(run.status == 0);
  BOOST_TEST(run.last() == fmt::format("1 trainer0 ps,trainer0,trainer1 tcp://192.0.2.7:29600 none keys {} {} none",
                                       files.keys.key_path("trainer0"), files.keys.list_path()));
}

BOOST_AUTO_TEST_CASE(the_program_of_a_confined_node_reaches_no_memory_of_others_from_its_start,
                     *boost::unit_test::precondition(troupe::testing::has_landlock) *
                         boost::unit_test::label("attack") * boost::unit_test::label("S16")) {
  const Files files;
  std::ofstream(files.file()) << "[cluster]\nseed = \"192.0.2.7\"\nport = 29600\n[node]\nconfined = true\n[[role]]\n"
                                 "name = \"ps\"\ncommand = [\"sh\", \"-c\", "
                                 "'(exec 3<>/proc/$PPID/mem) 2>/dev/null && echo open || echo shut']\n";
  const auto run = TroupeRun(files.directory.path(), {"node", "c.toml", "--keys", "keys/nodes/ps.key"}).finish();
  BOOST_TEST(run.status == 0);
  BOOST_TEST(run.last() == "shut");
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_contradicts_itself_is_named) {
  const Files files;
  BOOST_TEST(files.refusal({.keys = "", .members = "", .name = "ps", .pod = ""}) ==
             "--keys is missing: this node's key file, or a directory that has it");
  BOOST_TEST(files.refusal({.keys = files.nodes(), .members = "", .name = "", .pod = ""}) ==
             "--keys DIR/keys/nodes is a directory: --name or --pod says which node this is");
  BOOST_TEST(files.refusal({.keys = files.nodes(), .members = "", .name = "ps", .pod = "ps-0"}) ==
             "--name and --pod both say which node this is");
  BOOST_TEST(files.refusal({.keys = files.nodes(), .members = "", .name = "sp", .pod = ""}) ==
             "DIR/c.toml has no node \"sp\"; it has ps, trainer0, trainer1");
  BOOST_TEST(files.refusal({.keys = files.nodes(), .members = "", .name = "", .pod = "trainer-2"}) ==
             "DIR/c.toml has no pod \"trainer-2\"; it has ps-0, trainer-0, trainer-1");
  BOOST_TEST(files.refusal({.keys = files.keys.key_path("ps"), .members = "", .name = "trainer0", .pod = ""}) ==
             "DIR/keys/nodes/ps.key is the key of ps, and this node is trainer0");
}

BOOST_AUTO_TEST_CASE(a_file_for_another_kind_of_start_is_refused) {
  const KeyFileOptions by_name{.keys = "keys", .members = "", .name = "ps", .pod = ""};
  BOOST_TEST(Files("").refusal(by_name) ==
             "DIR/c.toml: cluster.seed is missing: the host of ps, as all others reach it\n"
             "DIR/c.toml: cluster.port is missing: the port of ps, the same for all");
  BOOST_TEST(Files("seed = \"a\"\nport = 1\ntransport = \"ipc\"\nnetwork = \"trusted\"\n").refusal(by_name) ==
             "DIR/c.toml:4: cluster.transport: nodes with key files reach each other by \"tcp\" only\n"
             "DIR/c.toml:5: cluster.network: \"trusted\" does not use keys");
}

BOOST_AUTO_TEST_CASE(a_node_without_a_key_is_named_before_anything_starts) {
  Files files;
  files.keys.revoke({"trainer1"});
  BOOST_TEST(files.refusal({.keys = files.nodes(), .members = "", .name = "ps", .pod = ""}) ==
             "DIR/keys/nodes/cluster.members has no key of trainer1: if it was revoked, take it out of DIR/c.toml, "
             "else `troupe keys new-node trainer1` makes one");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
