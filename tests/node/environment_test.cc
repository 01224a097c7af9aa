// The place of a process in its cluster, from the variables of `troupe up`, of torchrun, or without any.
#include "node/environment.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "node/file_descriptor.h"
#include "node/links/tcp_place.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(environment)

namespace {

const Variables kTroupe{{"TROUPE_CLUSTER", "mnist"},
                        {"TROUPE_CLUSTER_ID", "00ff"},
                        {"TROUPE_NODE", "trainer1"},
                        {"TROUPE_ROLE", "trainer"},
                        {"TROUPE_INDEX", "1"},
                        {"TROUPE_RANK", "2"},
                        {"TROUPE_WORLD", "ps,trainer0,trainer1"},
                        {"TROUPE_SEED", "ipc://@troupe-00ff-seed"},
                        {"TROUPE_ADDRESS", "ipc://@troupe-00ff-trainer1"},
                        {"TROUPE_SECRET_FD", "7"},
                        {"TROUPE_MATH_THREADS", "3"},
                        {"TROUPE_PROGRESS", "bars"},
                        {"TROUPE__NODE__LOG_LEVEL", "debug"}};

const Variables kTorchrun{
    {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"},           {"RANK", "1"},
    {"WORLD_SIZE", "2"},          {"TROUPE_SECRET_FILE", "/run/key"}, {"TROUPE_MATH_THREADS", "1"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

std::string error(const Variables& variables) {
  try {
    (void)read_environment(variables);
  } catch (const EnvironmentError& failure) {
    return failure.what();
  }
  return "no error";
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_said_is_a_world_of_one) {
  const NodeEnvironment place = read_environment({});
  BOOST_TEST(place.name == "node");
  BOOST_TEST(place.world_size == 1);
  BOOST_TEST(place.world.size() == 1u);
  BOOST_TEST(place.seed_address.empty());
  BOOST_CHECK(place.secret.kind == SecretSource::Kind::none);
  BOOST_TEST(place.math_threads == available_cores());
  BOOST_TEST(read_environment({{"TROUPE_NODE", "alice"}}).name == "alice");
}

BOOST_AUTO_TEST_CASE(variables_of_the_launcher_are_all_read) {
  const NodeEnvironment place = read_environment(kTroupe);
  BOOST_TEST(place.cluster == "mnist");
  BOOST_TEST(place.cluster_id == "00ff");
  BOOST_TEST(place.name == "trainer1");
  BOOST_TEST(place.role == "trainer");
  BOOST_TEST(place.index == 1);
  BOOST_TEST(place.rank == 2);
  BOOST_TEST(place.world_size == 3);
  BOOST_TEST(place.world == (std::vector<std::string>{"ps", "trainer0", "trainer1"}), boost::test_tools::per_element());
  BOOST_TEST(place.seed_address == "ipc://@troupe-00ff-seed");
  BOOST_TEST(place.bind_address == "ipc://@troupe-00ff-trainer1");
  BOOST_CHECK(place.secret.kind == SecretSource::Kind::descriptor);
  BOOST_TEST(place.secret.descriptor == 7);
  BOOST_TEST(place.math_threads == 3);
  BOOST_TEST(place.shows_bars);
  BOOST_TEST(place.settings.log_level == "debug");
}

/// As long as it lives standard output is a terminal.
class Terminal {
 public:
  Terminal() {
    BOOST_REQUIRE(::grantpt(far_end_.get()) == 0);
    BOOST_REQUIRE(::unlockpt(far_end_.get()) == 0);
    const detail::FileDescriptor near_end(::open(::ptsname(far_end_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    BOOST_REQUIRE(::dup2(near_end.get(), STDOUT_FILENO) == STDOUT_FILENO);
  }
  ~Terminal() { ::dup2(before_.get(), STDOUT_FILENO); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

 private:
  const detail::FileDescriptor far_end_{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  const detail::FileDescriptor before_{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)};
};

BOOST_AUTO_TEST_CASE(a_dumb_terminal_gets_lines) {
  bool of_a_terminal = false;
  bool of_a_dumb_one = true;
  {
    const Terminal terminal;
    of_a_terminal = read_environment(with(kTorchrun, "TERM", "xterm")).shows_bars;
    of_a_dumb_one = read_environment(with(kTorchrun, "TERM", "dumb")).shows_bars;
  }
  BOOST_TEST(of_a_terminal);
  BOOST_TEST(!of_a_dumb_one);
  BOOST_TEST(read_environment(with(kTroupe, "TERM", "dumb")).shows_bars);  // its launcher knows its own terminal
}

BOOST_AUTO_TEST_CASE(grants_of_calls_are_read) {
  BOOST_TEST(read_environment(kTroupe).call_grants.empty());
  const NodeEnvironment place = read_environment(with(kTroupe, "TROUPE_CALLS", "ps,trainer0=push,pull"));
  BOOST_TEST(place.call_grants.may_call("trainer0", "pull"));
  BOOST_TEST(!place.call_grants.may_call("trainer1", "pull"));
  BOOST_TEST(!read_environment(with(kTorchrun, "TROUPE_CALLS", "*=ping")).call_grants.may_call("rank0", "push"));
  BOOST_TEST(error(with(kTroupe, "TROUPE_CALLS", "push")) ==
             R"(TROUPE_CALLS="push": expected PEER,...=FUNCTION,..., found "push")");
}

BOOST_AUTO_TEST_CASE(torchrun_variables_place_a_node_by_rank) {
  const NodeEnvironment second = read_environment(kTorchrun);
  BOOST_TEST(second.name == "rank1");
  BOOST_TEST(second.rank == 1);
  BOOST_TEST(second.world_size == 2);
  BOOST_TEST(second.world.empty());
  BOOST_TEST(second.seed_address == "tcp://127.0.0.1:29500");
  BOOST_TEST(second.bind_address == "tcp://127.0.0.1:*");
  BOOST_CHECK(second.secret.kind == SecretSource::Kind::file);
  BOOST_TEST(second.secret.file == "/run/key");
  BOOST_TEST(second.cluster_id == "127.0.0.1:29500");
  const NodeEnvironment first = read_environment(with(with(kTorchrun, "RANK", "0"), "TROUPE_NODE", "ps"));
  BOOST_TEST(first.name == "ps");
  BOOST_TEST(first.bind_address == "tcp://127.0.0.1:29500");
}

BOOST_AUTO_TEST_CASE(torchrun_of_one_process_needs_no_secret) {
  const Variables alone = with(with(without(kTorchrun, "TROUPE_SECRET_FILE"), "WORLD_SIZE", "1"), "RANK", "0");
  BOOST_CHECK(read_environment(alone).secret.kind == SecretSource::Kind::none);
  BOOST_TEST(read_environment(alone).world_size == 1);
  BOOST_TEST(error(with(alone, "TROUPE__CLUSTER__GROWS", "true")).starts_with("TROUPE_SECRET_FILE is missing"));
}

// Torchrun's static rendezvous, its default: the agent of the first host has a store there.
BOOST_AUTO_TEST_CASE(rank_0_does_not_listen_where_torchrun_does) {
  const Variables occupied = with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True");
  const std::string hint =
      "TORCHELASTIC_USE_AGENT_STORE=True: torchrun itself listens at MASTER_PORT=29500: set TROUPE__CLUSTER__PORT to "
      "another port, the same for all nodes, at which rank 0 listens";
  BOOST_TEST(error(occupied) == hint);
  BOOST_TEST(error(with(occupied, "TROUPE__CLUSTER__PORT", "29500")) == hint);
  for (const Variables& variables : {occupied, kTorchrun}) {
    const Variables moved = with(variables, "TROUPE__CLUSTER__PORT", "29600");
    BOOST_TEST(read_environment(moved).seed_address == "tcp://127.0.0.1:29600");
    BOOST_TEST(read_environment(with(moved, "RANK", "0")).bind_address == "tcp://127.0.0.1:29600");
  }
  BOOST_TEST(read_environment(with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "False")).seed_address ==
             "tcp://127.0.0.1:29500");
}

BOOST_AUTO_TEST_CASE(math_threads_share_the_cores_unless_told) {
  BOOST_TEST(read_environment(without(kTorchrun, "TROUPE_MATH_THREADS")).math_threads ==
             std::max(1, available_cores() / 2));
  BOOST_TEST(read_environment({{"TROUPE__NODE__MATH_THREADS", "5"}}).math_threads == 5);
}

BOOST_AUTO_TEST_CASE(math_threads_share_the_cores_of_one_host_among_the_processes_of_that_host) {
  const Variables of_many = with(without(kTorchrun, "TROUPE_MATH_THREADS"), "WORLD_SIZE", "16");
  BOOST_TEST(read_environment(with(of_many, "LOCAL_WORLD_SIZE", "1")).math_threads == available_cores());
  BOOST_TEST(read_environment(of_many).math_threads == std::max(1, available_cores() / 16));
  BOOST_TEST(error(with(of_many, "LOCAL_WORLD_SIZE", "17")) ==
             R"(LOCAL_WORLD_SIZE="17": expected an integer in 1..16)");
}

BOOST_AUTO_TEST_CASE(errors_name_the_variable_and_its_value, *boost::unit_test::label("I-24")) {
  BOOST_TEST(error(with(kTorchrun, "RANK", "abc")) == R"(RANK="abc": expected an integer in 0..65535)");
  BOOST_TEST(error(with(kTorchrun, "RANK", "2")) == "RANK=2: must be less than WORLD_SIZE=2");
  BOOST_TEST(error(with(kTorchrun, "WORLD_SIZE", "0")) == R"(WORLD_SIZE="0": expected an integer in 1..65536)");
  BOOST_TEST(error(with(kTorchrun, "MASTER_PORT", "99999")) ==
             R"(MASTER_PORT="99999": expected an integer in 1..65535)");
  BOOST_TEST(error(without(kTorchrun, "MASTER_PORT")) ==
             "MASTER_PORT is missing: MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE go together");
  BOOST_TEST(error({{"RANK", "0"}}) ==
             "MASTER_ADDR is missing: MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE go together");
  BOOST_TEST(error(with(kTorchrun, "MASTER_ADDR", "10.0.0.5")) ==
             "MASTER_ADDR=\"10.0.0.5\": another machine, or a name for one: set TROUPE_KEY_FILE to a key of this node "
             "(troupe keys --help); or, if everybody on that network may read and change what nodes say, "
             "TROUPE__CLUSTER__NETWORK=trusted");
  BOOST_TEST(error(without(kTorchrun, "TROUPE_SECRET_FILE")) ==
             "TROUPE_SECRET_FILE is missing: name a file of 32 random bytes, mode 0600, the same for all nodes "
             "(head -c 32 /dev/urandom > FILE); or set TROUPE_KEY_FILE to a key of this node (troupe keys --help)");
  BOOST_TEST(error(without(kTroupe, "TROUPE_NODE")) == "TROUPE_NODE is missing although TROUPE_SEED is set");
  BOOST_TEST(error(with(kTroupe, "TROUPE_NODE", "ps")) ==
             R"(TROUPE_NODE="ps": TROUPE_WORLD="ps,trainer0,trainer1" has "trainer1" at rank 2)");
  BOOST_TEST(error(with(kTroupe, "TROUPE_RANK", "3")) ==
             R"(TROUPE_RANK=3: TROUPE_WORLD="ps,trainer0,trainer1" has no such place)");
  BOOST_TEST(error(with(kTroupe, "TROUPE_SECRET_FD", "x")) ==
             R"(TROUPE_SECRET_FD="x": expected an integer in 0..1048576)");
  BOOST_TEST(error(with(kTroupe, "TROUPE_MATH_THREADS", "0")) ==
             R"(TROUPE_MATH_THREADS="0": expected an integer in 1..1024)");
  BOOST_TEST(error({{"TROUPE_NODE", "a/b"}}) == R"(TROUPE_NODE="a/b": not a name: 1 to 64 of A-Z a-z 0-9 - _ : .)");
  BOOST_TEST(error({{"TROUPE_PROGRESS", "yes"}}) == R"(TROUPE_PROGRESS="yes": expected bars or lines)");
  BOOST_TEST(error({{"TROUPE__NODE__LOG_LEVLE", "info"}}) ==
             R"(environment TROUPE__NODE__LOG_LEVLE: node.log_levle: unknown key, did you mean "log_level"?)");
  BOOST_TEST(error({{"TROUPE__POOL__THREADS", "many"}}) ==
             R"(environment TROUPE__POOL__THREADS: pool.threads: expected an integer, found "many")");
}

BOOST_AUTO_TEST_CASE(another_machine_is_a_seed_on_a_trusted_network) {
  const Variables trusted = with(with(kTorchrun, "MASTER_ADDR", "10.0.0.5"), "TROUPE__CLUSTER__NETWORK", "trusted");
  const NodeEnvironment second = read_environment(trusted);
  BOOST_TEST(second.seed_address == "tcp://10.0.0.5:29500");
  BOOST_TEST(second.bind_address.empty());
  BOOST_TEST(second.settings.network == "trusted");
  BOOST_TEST(read_environment(with(trusted, "RANK", "0")).bind_address == "tcp://10.0.0.5:29500");
  BOOST_TEST(read_environment(with(trusted, "MASTER_ADDR", "fd77::1")).seed_address == "tcp://[fd77::1]:29500");
  BOOST_TEST(read_environment(with(trusted, "MASTER_ADDR", "node-1.example")).seed_address ==
             "tcp://node-1.example:29500");

  const Variables placed = with(trusted, "TROUPE__CLUSTER__ADDRESS", "eth0");
  BOOST_TEST(read_environment(placed).bind_address == "tcp://eth0:*");
  BOOST_TEST(read_environment(with(placed, "RANK", "0")).bind_address == "tcp://eth0:29500");
  BOOST_TEST(read_environment(with(placed, "RANK", "0")).seed_address == "tcp://10.0.0.5:29500");
}

BOOST_AUTO_TEST_CASE(keys_come_by_a_descriptor_and_make_another_machine_a_seed) {
  BOOST_CHECK(!read_environment(kTroupe).keys_descriptor);
  BOOST_TEST(read_environment(kTroupe).settings.network == "auto");
  BOOST_TEST(read_environment(with(kTroupe, "TROUPE_KEYS_FD", "9")).keys_descriptor.value() == 9);
  BOOST_TEST(error(with(kTroupe, "TROUPE_KEYS_FD", "-1")) ==
             R"(TROUPE_KEYS_FD="-1": expected an integer in 0..1048576)");
  const Variables keyed = with(with(kTorchrun, "MASTER_ADDR", "10.0.0.5"), "TROUPE_KEYS_FD", "9");
  BOOST_TEST(read_environment(keyed).seed_address == "tcp://10.0.0.5:29500");
  BOOST_TEST(error(with(keyed, "TROUPE__CLUSTER__NETWORK", "loopback")).starts_with("MASTER_ADDR=\"10.0.0.5\""));
}

BOOST_AUTO_TEST_CASE(keys_come_from_files_and_need_neither_secret_nor_address) {
  Variables filed = with(kTroupe, "TROUPE_KEY_FILE", "/keys/ps.key");
  filed.erase("TROUPE_SECRET_FD");
  filed.erase("TROUPE_ADDRESS");
  const NodeEnvironment read = read_environment(filed);
  BOOST_TEST(read.key_file == "/keys/ps.key");
  BOOST_TEST(read.members_file.empty());
  BOOST_TEST(read.bind_address.empty());
  BOOST_CHECK(read.secret.kind == SecretSource::Kind::none);
  BOOST_TEST(read_environment(with(filed, "TROUPE_MEMBERS_FILE", "/m")).members_file == "/m");
  BOOST_TEST(error(with(filed, "TROUPE_KEY_FILE", "")) == "TROUPE_KEY_FILE=\"\": expected the path of a key file");
  for (const char* other : {"TROUPE_SECRET_FD", "TROUPE_SECRET_FILE", "TROUPE_KEYS_FD"}) {
    BOOST_TEST(error(with(filed, other, "9")) == std::string("TROUPE_KEY_FILE and ") + other + " are both set");
  }
  Variables torchrun = with(with(kTorchrun, "MASTER_ADDR", "10.0.0.5"), "TROUPE_KEY_FILE", "/keys/rank1.key");
  torchrun.erase("TROUPE_SECRET_FILE");
  BOOST_TEST(read_environment(torchrun).seed_address == "tcp://10.0.0.5:29500");
  BOOST_TEST(read_environment(torchrun).key_file == "/keys/rank1.key");
}

BOOST_AUTO_TEST_CASE(part_of_a_place_is_no_world_of_one) {
  for (const std::string part : {"TROUPE_KEY_FILE", "TROUPE_SECRET_FILE", "TROUPE__CLUSTER__SEED"}) {
    BOOST_TEST(error({{part, "somewhere"}}) ==
               part +
                   " is set, but nothing gives this process a place in a cluster: set MASTER_ADDR, MASTER_PORT, RANK "
                   "and WORLD_SIZE, start it with `troupe node`, or unset it");
  }
  BOOST_TEST(read_environment({{"TROUPE__CLUSTER__PORT", "29500"}}).world_size == 1);  // an override for `troupe up`
  BOOST_TEST(error(with(kTorchrun, "TROUPE__CLUSTER__PORT", "29500")) == "no error");
}

BOOST_AUTO_TEST_CASE(what_is_said_of_roles_and_hosts_is_for_the_reader_of_a_file) {
  const Variables said{{"TROUPE__ROLE__TRAINER__COUNT", "4"}, {"TROUPE__HOST__ALPHA__SLOTS", "2"}};
  BOOST_TEST(read_environment(said).world_size == 1);
  Variables torchrun = kTorchrun;
  torchrun.insert(said.begin(), said.end());
  BOOST_TEST(read_environment(torchrun).world_size == 2);
  BOOST_TEST(error({{"TROUPE__ROLES__TRAINER__COUNT", "4"}}) ==
             "environment TROUPE__ROLES__TRAINER__COUNT: expected TROUPE__SECTION__KEY, TROUPE__ROLE__<NAME>__KEY or "
             "TROUPE__HOST__<NAME>__KEY");
}

BOOST_AUTO_TEST_CASE(times_that_nobody_set_are_left_to_the_network) {
  const Variables variables = as_variables(NodeSettings{});
  BOOST_TEST(!variables.contains("TROUPE__CLUSTER__HEARTBEAT"));
  BOOST_TEST(!variables.contains("TROUPE__CLUSTER__SUSPICION"));
  BOOST_TEST(read_environment(variables).settings.heartbeat.count() == 0);
  BOOST_TEST(read_environment(variables).settings.suspicion.count() == 0);
}

BOOST_AUTO_TEST_CASE(settings_survive_the_way_through_variables) {
  NodeSettings settings;
  settings.join_timeout = std::chrono::milliseconds(1500);
  settings.shutdown_timeout = std::chrono::seconds(3);
  settings.heartbeat = std::chrono::milliseconds(20);
  settings.suspicion = std::chrono::milliseconds(30);
  settings.lease = std::chrono::seconds(4);
  settings.debug = true;
  settings.stall_limit = std::chrono::seconds(7);
  settings.math_threads = 2;
  settings.shared_memory_max = 12345;
  settings.rings = false;
  settings.streams = false;
  settings.spin = false;
  settings.network = "trusted";
  settings.address = "eth0";
  settings.ports = "29500-29599";
  settings.stream_ports = "29600-29699";
  settings.join_port = 7001;
  settings.grows = true;
  settings.advertise = "node-1.example:80";
  settings.audit_log = "/var/log/troupe";
  settings.log_level = "error";
  settings.pool_threads = 6;
  settings.pool_threads_max = 7;
  settings.peer = {.waiting_calls_max = 11,
                   .waiting_bytes_max = (3 << 20) + 1,
                   .calls_max = 65,
                   .nested_calls_max = 17,
                   .bulk_bytes_max = 4 << 20,
                   .answer_bytes_max = 5 << 20,
                   .owners_max = 12,
                   .forks_max = 13,
                   .contexts_max = 14,
                   .shards_max = 15};
  const NodeSettings read = read_environment(as_variables(settings)).settings;
  BOOST_TEST(read.join_timeout.count() == 1500);
  BOOST_TEST(read.shutdown_timeout.count() == 3000);
  BOOST_TEST(read.heartbeat.count() == 20);
  BOOST_TEST(read.suspicion.count() == 30);
  BOOST_TEST(read.lease.count() == 4000);
  BOOST_TEST(read.debug);
  BOOST_TEST(read.stall_limit.count() == 7000);
  BOOST_TEST(read.math_threads == 2);
  BOOST_TEST(read.shared_memory_max == 12345U);
  BOOST_TEST(!read.rings);
  BOOST_TEST(!read.streams);
  BOOST_TEST(!read.spin);
  BOOST_TEST(read.network == "trusted");
  BOOST_TEST(read.address == "eth0");
  BOOST_TEST(read.ports == "29500-29599");
  BOOST_TEST(read.stream_ports == "29600-29699");
  BOOST_TEST(read.join_port == 7001);
  BOOST_TEST(read.grows);
  BOOST_TEST(read.advertise == "node-1.example:80");
  BOOST_TEST(read.audit_log == "/var/log/troupe");
  BOOST_TEST(read.log_level == "error");
  BOOST_TEST(read.pool_threads == 6);
  BOOST_TEST(read.pool_threads_max == 7);
  BOOST_CHECK(read.peer == settings.peer);
}

BOOST_AUTO_TEST_SUITE_END()
